"""Teach questions to spanwise-nano and to random weights alike, and ask both what neither has seen.

    python questions.py DATA OUT [en or ko] [PATH=VALUE ...]

OUT is what run.sh filled. Both learn the 6,835 bundled training
questions (SQuADShifts, new Wikipedia, CC BY 4.0) and are asked the 1,103 bundled ones on other articles and, where
DATA has it, all of SQuAD 1.1 dev; in Korean the 1,010 that were made by rule, and the 54 written by hand. Errors
cluster by paragraph. PATH=VALUE changes how both are taught (hidden_dropout=0.0), in folders named after it.
"""

from __future__ import annotations

import json
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

import spanwise
from spanwise.pretraining.comparison import compare_columns
from spanwise.quickstart.bundle import open_bundle
from spanwise.runtime.files import write_text_atomic
from spanwise.runtime.progress import RunLog
from spanwise.studies.probes.finetuned import usual_rate
from spanwise.tasks.checkpoint import load_task_model
from spanwise.tasks.qa.reader import read_questions
from spanwise.tasks.qa.score import raw_scores

EPOCHS, WIDTH = 5, 256
COLUMNS = {"trained": ("qa", False), "control": ("qa-random", True)}  # folder, and whether weights are random


def learn(start: Path, train: Path, dev: Path, out: Path, is_random: bool, changes: list[str]) -> Path:
    """Fine-tune one column; a run that was cut off goes on."""
    if not (out / "final").exists():
        overrides = [
            "task.max_length=256", "task.doc_stride=128", "batch_size=16", "hidden_dropout=0.1",
            f"training.num_epochs={EPOCHS}", f"training.learning_rate={usual_rate(WIDTH)}",
            "training.threads=1", "training.log_every=100", *changes,
        ]  # fmt: skip
        spanwise.finetune(
            "qa",
            model=start,
            train=train,
            dev=dev,
            out=out,
            overrides=overrides,
            reset_weights=is_random,
            resume=True,
            log=RunLog(out),
        )
    return out / "final"


def asked(folders: dict[str, Path], file: Path) -> list[dict[str, Any]]:
    """Exact match and F1 of all columns, with the paired gain over the control."""
    data = read_questions(file)
    ids = [question.id for question in data.questions]
    columns: dict[str, dict[str, np.ndarray]] = {"exact": {}, "f1": {}}
    for name, folder in folders.items():
        loaded = load_task_model(folder, "qa")
        features = loaded.task.featurize(data, loaded.tokenizer, loaded.model.encoder.config, training=False)
        best = loaded.task.decode(data, features, loaded.model.outputs(features)).best()
        scores = raw_scores(data, best)
        columns["exact"][name] = 100.0 * np.array([scores.exact[key] for key in ids])
        columns["f1"][name] = 100.0 * np.array([scores.f1[key] for key in ids])
    clusters = np.array([question.paragraph for question in data.questions])
    everything = np.ones(len(ids), dtype=bool)
    return [compare_columns(key, values, clusters, everything, "higher") for key, values in columns.items()]


def main() -> None:
    data, out, language = Path(sys.argv[1]), Path(sys.argv[2]), (sys.argv[3:] or ["en"])[0]
    changes = sys.argv[4:]
    end = "".join(f"-{change}" for change in changes)
    with open_bundle(language) as bundle, ProcessPoolExecutor(2, mp_context=get_context("spawn")) as two_at_a_time:
        start, train, dev = out / "pretraining" / "final", bundle.qa_train, bundle.qa_dev
        runs = {
            name: two_at_a_time.submit(learn, start, train, dev, out / (run + end), is_random, changes)
            for name, (run, is_random) in COLUMNS.items()
        }
        folders = {name: run.result() for name, run in runs.items()}
        files = {"bundled": bundle.qa_dev}
        if language == "en":
            files["squad-1.1"] = data / "qa" / "squad" / "dev-v1.1.json.xz"
        found = {name: asked(folders, file) for name, file in files.items() if file.exists()}
    text = json.dumps(found, indent=1)
    write_text_atomic(out / f"questions{end}.json", text + "\n")
    print(text)


if __name__ == "__main__":
    main()
