"""Settle what only the folder that ships can tell: when it says "no answer", and its scores on the dev files.

    python settle.py OUT FOLDER LANGUAGE     minutes; ship.py ends with it

OUT holds the dev files that the tasks were taught beside. FOLDER is the combined folder, whose factors score otherwise
than the folders that they were made of. The threshold of "no answer" in English is the one of the best F1 on two kinds
of text of the same weight, new Wikipedia articles and stories, with one question in ten without answer. Chosen on
Wikipedia alone with one in four, it refused 63 % of the questions that invented text answers.
"""

from __future__ import annotations

import dataclasses
import json
import math
import sys
from collections.abc import Collection, Sequence
from importlib.resources import files
from itertools import pairwise
from pathlib import Path

import numpy as np

from spanwise.interop.json_files import write_json
from spanwise.interop.record import RECORD
from spanwise.runtime.files import MANIFEST_NAME
from spanwise.tasks.checkpoint import load_task_model
from spanwise.tasks.evaluate import evaluate
from spanwise.tasks.qa.calibration import Reported, fit_temperature
from spanwise.tasks.qa.data import SquadData
from spanwise.tasks.qa.ranking import Predictions
from spanwise.tasks.qa.reader import read_questions
from spanwise.tasks.qa.score import raw_scores

UNANSWERED_SHARE = 0.1  # a person asks a text what it is about, and rarely what it lacks
BEFORE = -0.88  # the threshold until 2026-11-28, which is told beside the one that is chosen
TWO_KINDS = ("dev.json", "dev-stories.json")
BUNDLED_KOREAN = Path(str(files("spanwise.quickstart") / "corpus" / "ko" / "qa-dev.json.xz"))
DEV = {
    "en": {"qa": Path("dev.json"), "tagging": Path("names-dev.conll"), "coref": Path("coref-dev.conll")},
    "ko": {"qa": BUNDLED_KOREAN},  # it was taught no question without answer, so it has no threshold
}


def main() -> None:
    settle(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3])


def check(out: Path, language: str, tasks: Collection[str]) -> None:
    """Raises: SystemExit where a file that `settle` reads is missing, before anything is replaced."""
    names = {name for task, name in DEV[language].items() if task in tasks}
    if "qa" in tasks and language == "en":
        names |= set(map(Path, TWO_KINDS))
    missing = sorted(str(out / name) for name in names if not (out / name).exists())
    if missing:
        script = {"en": "english.sh", "ko": "korean.sh"}[language]
        raise SystemExit(f"missing: {', '.join(missing)}. Run {script} with this OUT again, then this.")


def settle(out: Path, folder: Path, language: str, only: Sequence[str] = ()) -> None:
    """Write threshold, temperature and dev scores into the records of a combined folder's tasks (`only`: of these)."""
    (folder / MANIFEST_NAME).unlink(missing_ok=True)
    for task, name in DEV[language].items():
        if only and task not in only:
            continue
        file = folder / "tasks" / task / RECORD
        record = json.loads(file.read_text(encoding="utf-8"))
        if task == "qa" and language == "en":
            record["task"] |= no_answer(folder, [out / kind for kind in TWO_KINDS])
            write_json(file, record)
        record["dev_scores"] = evaluate(task, model=folder, data=out / name, precision="fp32").scores
        record["finetuned"]["dev"] = name.name
        write_json(file, record)
        print(f"{task}: {json.dumps(record['dev_scores'])[:300]}", flush=True)


def no_answer(folder: Path, kinds: Sequence[Path]) -> dict[str, object]:
    """Return the threshold of the best F1, the mean over kinds of text, and the temperature of its answers there."""
    reader = load_task_model(folder, "qa", precision="fp32")
    asked = []
    for file in kinds:
        data = read_questions(file)
        features = reader.task.featurize(data, reader.tokenizer, reader.model.encoder.config, training=False)
        asked.append((data, reader.task.decode(data, features, reader.model.outputs(features))))
    places = sorted({odds for _, predictions in asked for odds in predictions.null_odds.values()})
    middles = [(one + following) / 2 for one, following in pairwise(places)]
    curves = [expected(data, predictions, middles) for data, predictions in asked]
    threshold = middles[int(np.argmax(np.mean(curves, axis=0)))]
    for file, (data, predictions) in zip(kinds, asked, strict=True):
        for at in (BEFORE, threshold, math.inf):
            found = ", ".join(f"{100 * share[0]:.1f}" for share in shares(data, predictions, [at]))
            print(f"{file.name} at {at:.2f}, % answered, F1 of these questions, % of the others refused: {found}")
    task = dataclasses.replace(reader.task, null_threshold=threshold)
    told = [task.reported(data, predictions) for data, predictions in asked]
    together = Reported(
        margins=[margins for one in told for margins in one.margins],
        is_right_Q=np.concatenate([one.is_right_Q for one in told]),
    )
    return {"null_threshold": threshold, "temperature": fit_temperature(together)}


def expected(data: SquadData, predictions: Predictions, thresholds: Sequence[float]) -> np.ndarray:
    """Return the F1 at each threshold where `UNANSWERED_SHARE` of the questions have no answer."""
    _, f1, refused = shares(data, predictions, thresholds)
    return (1 - UNANSWERED_SHARE) * f1 + UNANSWERED_SHARE * refused


def shares(
    data: SquadData, predictions: Predictions, thresholds: Sequence[float]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return at each threshold the share of the answerable questions that get an answer, the F1 of all of them, and the
    share of the others that are refused (0 to 1)."""
    f1 = raw_scores(data, predictions.best()).f1
    answerable, others = ([one.id for one in data.questions if bool(one.answers) == is_one] for is_one in (True, False))
    told = np.array(thresholds)[:, None] >= [predictions.null_odds[key] for key in answerable]
    refused = np.array(thresholds)[:, None] < [predictions.null_odds[key] for key in others]
    return told.mean(1), (told * [f1[key] for key in answerable]).mean(1), refused.mean(1)


if __name__ == "__main__":
    main()
