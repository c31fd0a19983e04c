"""The answers of all runs of a language together: together.py OUT, which prints them and writes OUT/together.json

Each run's adapted model, kept in OUT, and the start answer all bundled questions of the language again. A question
counts by its mean score over the runs, so chance is left to the choice of questions; intervals are over passages. The
file has the scores of every question, before adapting and after each run.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

from spanwise.quickstart.adapting.asking import METRIC
from spanwise.quickstart.bundle import open_bundle
from spanwise.quickstart.questions import answer
from spanwise.runtime.files import write_text_atomic
from spanwise.tasks.checkpoint import load_task_model
from spanwise.tasks.qa.data import SquadData
from spanwise.tasks.qa.reader import read_questions
from spanwise.tasks.qa.score import raw_scores
from spanwise.training.statistics import paired_difference
from spanwise.weights import SHIPPED_FOR, shipped_folder


def scores(folder: Path, data: SquadData, language: str) -> dict[str, np.ndarray]:
    """Return exact match and F1 of each question, per cent."""
    found = raw_scores(data, answer(load_task_model(folder, "qa"), data).best(), METRIC[language])
    ids = [question.id for question in data.questions]
    return {key: 100.0 * np.array([getattr(found, key)[one] for one in ids]) for key in ("f1", "exact")}


def main() -> None:
    out = Path(sys.argv[1])
    told = {}
    for language, name in SHIPPED_FOR.items():
        runs = sorted(out.glob(f"{language}-*/adaptation/final"))
        with open_bundle(language) as bundle:
            data = read_questions(bundle.own_questions)
        passages = np.array([question.paragraph for question in data.questions])
        before = scores(shipped_folder(name), data, language)
        after = [scores(run, data, language) for run in runs]
        told[language] = {"ids": [question.id for question in data.questions], "passages": passages.tolist()}
        for key in before:
            mean = np.mean([one[key] for one in after], axis=0)
            gain = paired_difference(mean, before[key], passages)
            interval = f"{gain.value:+.2f} ({gain.low:+.2f} to {gain.high:+.2f})"
            told[language][key] = {
                "before": before[key].round(2).tolist(),
                **{run.parents[1].name: one[key].round(2).tolist() for run, one in zip(runs, after, strict=True)},
                "gain": gain.value,
                "low": gain.low,
                "high": gain.high,
            }
            print(f"{language}, {len(runs)} runs, {key}: {before[key].mean():.2f} to {mean.mean():.2f}, {interval}")
    write_text_atomic(out / "together.json", json.dumps(told) + "\n")


if __name__ == "__main__":
    main()
