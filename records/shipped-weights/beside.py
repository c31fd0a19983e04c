"""Names from the labels that ship, taught to another encoder by transformers: beside.py START TRAIN DEV...

START is a model folder; TRAIN, such as names-first.conll of names.py, is read three times in steps of 16 sentences by
the plain loop of ../adaptation/theirs.py. Prints the F1 on each DEV (names-dev.conll, names-comments.conll).
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "adaptation"))
from theirs import BATCH, learn

from spanwise.interop.huggingface import read_folder
from spanwise.studies.probes.finetuned import usual_rate
from spanwise.tasks.base import number_in
from spanwise.tasks.registry import task_recipe

EPOCHS = 3


def main() -> None:
    start, train = sys.argv[1], Path(sys.argv[2])
    devs = {path.stem: path for path in map(Path, sys.argv[3:])}
    sentences = len(task_recipe("tagging").task.read(train, purpose="train"))
    steps = EPOCHS * sentences // BATCH
    rate = usual_rate(read_folder(start).config.hidden_size)
    told = learn("tagging", start, train, devs, steps, rate, seed=0)
    scores = {name: f1(dev, told[name]) for name, dev in devs.items()}
    print({"sentences": sentences, "steps": steps, "learning_rate": rate, **scores})


def f1(dev: Path, told: str) -> float:
    """Return the F1 of tags as written."""
    with tempfile.TemporaryDirectory() as folder:
        predictions = Path(folder) / "predictions.conll"
        predictions.write_text(told, encoding="utf-8")
        scores = task_recipe("tagging").task.score_files(dev, predictions, {}).scores
    return number_in(scores, "f1")


if __name__ == "__main__":
    main()
