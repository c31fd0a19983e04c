"""Prepare a corpus on many machines: the same store, bit for bit, as `spanwise prepare` makes on one.

    python prepare.py TEXT... --tokenizer FOLDER --out STORE --executor slurm --workers 100 --partition cpu
    python prepare.py TEXT... --tokenizer FOLDER --out STORE --executor local --workers 8 --clean --minhash

The same command again goes on where it stopped. Tokenizer, store and work folder lie where all machines see them. Needs
pip install 'spanwise[cluster]' on each, or 'spanwise[ray]' for --executor ray, which joins the cluster of RAY_ADDRESS
or makes one of this machine. This is a file to copy: change what is cleaned, and what your cluster asks for.
"""

import argparse
import os
import sys
from pathlib import Path

os.environ.setdefault("RAYON_NUM_THREADS", "1")  # a worker is one process of many; read when the library starts

from datatrove.executor import RayPipelineExecutor, SlurmPipelineExecutor
from datatrove.executor.base import PipelineExecutor
from datatrove.pipeline.filters import GopherQualityFilter, GopherRepetitionFilter

from spanwise.errors import SpanwiseError
from spanwise.integrations.datatrove import KeepLanguage, Stage, WatchedLocalExecutor, prepare_stages
from spanwise.integrations.datatrove.stages import usual_minhash
from spanwise.integrations.languages import installed_model
from spanwise.text.corpus import CorpusOptions


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("texts", nargs="+", help="files, folders or globs, as for spanwise prepare")
    parser.add_argument("--tokenizer", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--work", type=Path, help="parts and logs; default: OUT-work; may be removed at the end")
    parser.add_argument("--executor", choices=["local", "slurm", "ray"], default="local")
    parser.add_argument("--workers", type=int, default=os.cpu_count(), help="tasks that run at once")
    parser.add_argument("--part-mb", type=float, default=256, help="files are put together up to this size")
    parser.add_argument("--language", default="en", help="of the text, for splitting sentences and filters")
    parser.add_argument(
        "--errors", choices=["strict", "replace"], default="strict", help="for bytes that are not UTF-8"
    )
    parser.add_argument("--language-filter", action="store_true", help="keep what fastText takes for that language")
    parser.add_argument("--language-model", type=Path, help="fastText file to filter with; default: lid.176.ftz")
    parser.add_argument("--clean", action="store_true", help="Gopher's rules against repetition and bad quality")
    parser.add_argument("--minhash", action="store_true", help="keep one of each group of near duplicates")
    parser.add_argument("--partition", default="cpu", help="of Slurm")
    parser.add_argument("--time", default="24:00:00", help="of a Slurm task")
    given = parser.parse_args()
    if given.workers < 1:
        parser.error(f"--workers {given.workers}: at least 1 is needed.")
    if not 1e-6 <= given.part_mb <= 1e9:
        parser.error(f"--part-mb {given.part_mb}: expected 0.000001 to 1000000000.")
    return given


def stages_of(given: argparse.Namespace) -> list[Stage]:
    filters = []
    if given.language_filter or given.language_model:
        filters.append(KeepLanguage(given.language, given.language_model or installed_model()))
    if given.clean:
        filters += [GopherRepetitionFilter(language=given.language), GopherQualityFilter(language=given.language)]
    return prepare_stages(
        given.texts,
        given.tokenizer,
        given.out,
        given.work or given.out.with_name(f"{given.out.name}-work"),
        options=CorpusOptions(language=given.language, errors=given.errors),
        filters=filters,
        minhash=usual_minhash() if given.minhash else None,
        part_bytes=int(given.part_mb * 1e6),
    )


def executor_of(stage: Stage, given: argparse.Namespace, before: PipelineExecutor | None) -> PipelineExecutor:
    shared = {"tasks": stage.tasks, "workers": min(given.workers, stage.tasks), "logging_dir": stage.logs}
    match given.executor:
        case "local":
            return WatchedLocalExecutor(stage.steps, **shared)
        case "ray":
            variables = {"RAYON_NUM_THREADS": os.environ["RAYON_NUM_THREADS"]}
            return RayPipelineExecutor(
                stage.steps, **shared, ray_remote_kwargs={"runtime_env": {"env_vars": variables}}
            )
    slurm = {"job_name": f"spanwise-{stage.name}", "partition": given.partition, "time": given.time}
    return SlurmPipelineExecutor(stage.steps, depends=before, **shared, **slurm)


def main() -> None:
    given = parse()
    last = None
    for stage in stages_of(given):
        last = executor_of(stage, given, last)
        if given.executor == "slurm":
            continue  # the last one submits those before it, each of which waits for the one before
        last.run()  # one by one: with `depends`, datatrove waits for ever for a stage of which a task has failed
        if failed := len(last.get_incomplete_ranks(skip_completed=True)):
            sys.exit(
                f"{failed} of {stage.tasks} tasks of the stage {stage.name!r} failed; {stage.logs}/logs says why. "
                "The same command again does them alone."
            )
    if given.executor == "slurm":
        last.run()


if __name__ == "__main__":
    try:
        main()
    except SpanwiseError as error:
        print(error, file=sys.stderr)
        sys.exit(error.exit_status)
