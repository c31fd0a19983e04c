"""Transformers' own run_ner.py and run_mlm.py on a row of names that table.py has begun in OUT; call again to go on.

    python records/adaptation/scripts.py SCRIPTS OUT --task web-names --labels 100

SCRIPTS holds both scripts, unchanged, from examples/pytorch of a transformers that is no newer than the one installed;
they need the packages datasets, evaluate and accelerate. Labels, steps, rates, seeds and metric are those of the table,
so the row says whether theirs.py, the arms `examples` and `run_mlm`, does what the scripts do.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import theirs
from domains import DOMAINS, sentences_of, write_sentences
from table import RATE_FACTORS, Cell, Settings, chosen_rate, difference, labelled, left_of_row, test_scores
from transformers import AutoTokenizer

from spanwise.interop.huggingface import read_folder
from spanwise.runtime.files import write_text_atomic
from spanwise.studies.probes.finetuned import usual_rate
from spanwise.tasks.registry import task_recipe

# run_ner.py loads its metric from the hub; here the predictions are scored by the table's metric instead.
NO_METRIC = """import datasets
import evaluate


class NoMetric(evaluate.Metric):
    def _info(self):
        words = datasets.Sequence(datasets.Value("string"))
        features = datasets.Features({"predictions": words, "references": words})
        return evaluate.MetricInfo(description="", citation="", features=features)

    def _compute(self, predictions, references):
        return dict.fromkeys(("overall_precision", "overall_recall", "overall_f1", "overall_accuracy"), float("nan"))
"""
SHARED = {"per_device_train_batch_size": theirs.BATCH, "save_strategy": "no", "report_to": "none"}  # by both scripts


def call(script: Path, work: Path, options: dict[str, object]) -> None:
    """Run a script of transformers in a folder of its own."""
    write_text_atomic(work / "seqeval" / "seqeval.py", NO_METRIC)
    words = [word for name, value in (SHARED | options).items() for word in (f"--{name}", str(value))]
    command = [sys.executable, str(script.resolve()), *words]
    done = subprocess.run(command, cwd=work, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        raise SystemExit(f"{script.name} ended with {done.returncode}:\n{done.stdout[-2_000:]}")


def after_text(scripts: Path, start: Path, task: str, steps: int, out: Path) -> Path:
    """Return the start after so many steps of run_mlm.py on the domain's text; made where it is not there yet."""
    target, text = (out / "models" / f"{task}-after-{steps}-steps").resolve(), (out / "data" / f"{task}.txt").resolve()
    if (target / "train_results.json").exists():  # what the script writes last
        return target
    options = {
        "model_name_or_path": start,
        "train_file": text,
        "validation_file": text,  # none is measured: otherwise a twentieth of the text would not be learned
        "do_train": True,
        "max_seq_length": theirs.MLM_LENGTH,
        "learning_rate": theirs.MLM_RATE,
        "max_steps": steps,
        "seed": 0,
        "output_dir": target,
    }
    with tempfile.TemporaryDirectory(dir=out, prefix="work-") as work:
        call(scripts / "run_mlm.py", Path(work), options)
    return target


def run_ner(cell: Cell, scripts: Path, start: Path, steps: int, out: Path) -> None:
    """Learn a cell's labels by run_ner.py, score its predictions by the table's metric, and keep the scores."""
    rate = usual_rate(read_folder(start).config.hidden_size) * RATE_FACTORS[cell.rate]
    began = time.monotonic()
    with tempfile.TemporaryDirectory(dir=out, prefix="work-") as work:
        scores = dev_and_test(cell, scripts, start, steps, rate, out, Path(work).resolve())
    record = {**asdict(cell), "learning_rate": rate, "steps": steps, **scores, "seconds": time.monotonic() - began}
    write_text_atomic(cell.path(out), json.dumps(record, indent=1) + "\n")
    print(f"{cell.path(out).relative_to(out)}: dev {scores['dev']:.1f}, test {scores['test']:.1f}", flush=True)


def dev_and_test(
    cell: Cell, scripts: Path, start: Path, steps: int, rate: float, out: Path, work: Path
) -> dict[str, float]:
    """Run the script once, and return the F1 on both files."""
    files = {name: out / "data" / f"{cell.task}-{name}.conll" for name in ("dev", "test")}
    rows = {name: sentences_of(file.read_text(encoding="utf-8")) for name, file in files.items()}
    write_sentences(work / "both.conll", [*rows["dev"], *rows["test"]])  # it predicts one file
    side = theirs.Tags(AutoTokenizer.from_pretrained(start))
    tags = as_json(labelled(cell, out), work / "train.json")
    as_json(work / "both.conll", work / "both.json", tags)
    options = {
        "model_name_or_path": start,
        "train_file": work / "train.json",
        "test_file": work / "both.json",
        "do_train": True,
        "do_predict": True,
        "max_seq_length": side.length,
        "per_device_eval_batch_size": theirs.BATCH,
        "learning_rate": rate,
        "max_steps": steps,
        "seed": cell.seed,
        "output_dir": work / "ner",
    }
    call(scripts / "run_ner.py", work, options)
    told = tags_of_words(side, work / "both.conll", work / "ner" / "predictions.txt")
    scores = {}
    for name, sentences in rows.items():
        part, told = told[: len(sentences)], told[len(sentences) :]
        write_text_atomic(work / "told.conll", "\n".join(part))
        scores[name] = float(task_recipe("tagging").task.score_files(files[name], work / "told.conll", {}).scores["f1"])
    return scores


def as_json(file: Path, target: Path, known: set[str] | None = None) -> set[str]:
    """Write words and tags as run_ner.py reads them, a sentence per line; return the tags.

    The script stops at a tag that its labels lack, even where it only predicts: one not `known` is written as O.
    """
    rows = [[line.split("\t") for line in one] for one in sentences_of(file.read_text(encoding="utf-8"))]
    tags = [[line[-1] if known is None or line[-1] in known else "O" for line in row] for row in rows]
    both = zip(rows, tags, strict=True)
    lines = [json.dumps({"tokens": [word for word, *_ in row], "ner_tags": kinds}) for row, kinds in both]
    write_text_atomic(target, "\n".join(lines) + "\n")
    return {tag for kinds in tags for tag in kinds}


def tags_of_words(side: theirs.Tags, file: Path, predictions: Path) -> list[str]:
    """Return each sentence with the tags that run_ner.py wrote; words that its tokenizer read nothing of are O."""
    sentences, found = side.read(file)
    told = []
    lines = predictions.read_text(encoding="utf-8").removesuffix("\n").split("\n")
    for row, (sentence, line) in enumerate(zip(sentences, lines, strict=True)):
        words = [word for word in side.first_pieces(found, row) if word is not None]
        tags = ["O"] * len(sentence)
        for word, tag in zip(words, line.split(), strict=True):
            tags[word] = tag
        told.append("".join(f"{word[0]}\t{tag}\n" for word, tag in zip(sentence, tags, strict=True)))
    return told


def main(arguments: Sequence[str] | None = None) -> None:
    """Run what is left of the row, and print it beside the arm of table.py."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scripts", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--task", default="web-names", choices=[k for k, v in DOMAINS.items() if v.task == "tagging"])
    parser.add_argument("--labels", type=int, default=100, help="of the table; 0: all there are")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument(
        "--mlm-steps", type=int, help="of run_mlm.py first; without it run_ner.py learns from the start"
    )
    given = parser.parse_args(arguments)
    settings = Settings(**{**json.loads((given.out / "settings.json").read_text()), "seeds": given.seeds})
    if given.labels not in settings.labels:
        parser.error(f"the table in {given.out} has no row of {given.labels} labels, but of {settings.labels}")
    steps = settings.steps[settings.labels.index(given.labels)]
    start, arm, peer = read_folder(settings.start).folder.resolve(), "scripts", "examples"
    if given.mlm_steps:
        start = after_text(given.scripts, start, given.task, given.mlm_steps, given.out)
        arm, peer = f"scripts-after-{given.mlm_steps}-steps", "run_mlm"
    row = (given.task, given.labels, arm)
    for cell in left_of_row(*row, given.seeds, given.out):
        run_ner(cell, given.scripts, start, steps, given.out)
    rate = chosen_rate(*row, given.seeds, given.out)
    own, other = (test_scores(given.task, given.labels, one, settings, given.out) for one in (arm, peer))
    print(f"{arm}: {statistics.fmean(own):.1f} ({', '.join(f'{score:.1f}' for score in own)}), rate {rate}")
    print(f"{arm} - {peer}: {difference(own, other)}")


if __name__ == "__main__":
    main()
