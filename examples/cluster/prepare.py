"""Prepare a corpus on many machines: the same store, bit for bit, as `spanwise prepare` makes on one.

    python prepare.py TEXT... --tokenizer FOLDER --out STORE --executor slurm --workers 100 --partition cpu
    python prepare.py TEXT... --tokenizer FOLDER --out STORE --executor local --workers 8 --clean --minhash

The same command again goes on where it stopped. Tokenizer, store and work folder lie where all machines see them. Needs
pip install 'spanwise[cluster]'; --executor ray also pip install ray, and --language-filter also
pip install fasttext-numpy2-wheel fasteners and the network, as datatrove fetches the model that tells languages.
This is a file to copy: change what is cleaned, and what your cluster asks for.
"""

import argparse
import os
from pathlib import Path

os.environ.setdefault("RAYON_NUM_THREADS", "1")  # a worker is one process of many; read when the library starts

from datatrove.executor import LocalPipelineExecutor, RayPipelineExecutor, SlurmPipelineExecutor
from datatrove.pipeline.filters import GopherQualityFilter, GopherRepetitionFilter, LanguageFilter

from spanwise.integrations.datatrove.stages import Stage, prepare_stages, usual_minhash
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
    parser.add_argument("--language-filter", action="store_true", help="keep what fastText takes for that language")
    parser.add_argument("--clean", action="store_true", help="Gopher's rules against repetition and bad quality")
    parser.add_argument("--minhash", action="store_true", help="keep one of each group of near duplicates")
    parser.add_argument("--partition", default="cpu", help="of Slurm")
    parser.add_argument("--time", default="24:00:00", help="of a Slurm task")
    return parser.parse_args()


def stages_of(given: argparse.Namespace) -> list[Stage]:
    filters = []
    if given.language_filter:
        filters.append(LanguageFilter(given.language))
    if given.clean:
        filters += [GopherRepetitionFilter(language=given.language), GopherQualityFilter(language=given.language)]
    return prepare_stages(
        given.texts,
        given.tokenizer,
        given.out,
        given.work or given.out.with_name(f"{given.out.name}-work"),
        options=CorpusOptions(language=given.language),
        filters=filters,
        minhash=usual_minhash() if given.minhash else None,
        part_bytes=int(given.part_mb * 1e6),
    )


def main() -> None:
    given = parse()
    before = None
    for stage in stages_of(given):
        shared = {"tasks": stage.tasks, "workers": min(given.workers, stage.tasks), "logging_dir": stage.logs}
        match given.executor:
            case "local":
                before = LocalPipelineExecutor(stage.steps, depends=before, **shared)
            case "ray":
                before = RayPipelineExecutor(stage.steps, depends=before, **shared)
            case "slurm":
                slurm = {"job_name": f"spanwise-{stage.name}", "partition": given.partition, "time": given.time}
                before = SlurmPipelineExecutor(stage.steps, depends=before, **shared, **slurm)
    before.run()


if __name__ == "__main__":
    main()
