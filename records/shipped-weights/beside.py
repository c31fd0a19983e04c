"""Names from the labels that ship, taught to another encoder by transformers: beside.py START TRAIN DEV

START is a model folder; TRAIN, such as names-first.conll of names.py, is read three times in steps of 16 sentences by
the plain loop of ../adaptation/table.py. Prints the F1 on DEV (names-dev.conll, UNER EWT).
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "adaptation"))
from table import BATCH, Cell, theirs

from spanwise.interop.huggingface import read_folder
from spanwise.studies.probes.finetuned import usual_rate
from spanwise.tasks.registry import task_recipe

EPOCHS = 3


def main() -> None:
    start, train, dev = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    sentences = len(task_recipe("tagging").task.read(train, purpose="train"))
    steps = EPOCHS * sentences // BATCH
    cell = Cell(task="tagging", arm="examples", labels=0, rate=0, seed=0)
    rate = usual_rate(read_folder(start).config.hidden_size)
    with tempfile.TemporaryDirectory() as work:
        found = theirs(cell, start, train, {"dev": dev}, steps, rate, Path(work) / "work")
    print({"sentences": sentences, "steps": steps, "learning_rate": rate, **found})


if __name__ == "__main__":
    main()
