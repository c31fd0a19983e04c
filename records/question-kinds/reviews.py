"""Write the questions with Amazon's and the ones to score on, or score both readers: reviews.py DATA OUT write|score

Reviews are SQuADShifts amazon. OUT holds mixed.json of ../shipped-weights/training_questions.py. `write` gives
with-reviews.json (mixed.json and two thirds of the reviews' articles; no paragraph that is learned shares eight words
in a row with one of SQuAD 1.1 dev) and reviews-held-out.json (the other third). `score` reads the readers that
reviews.sh taught and gives result-reviews.json: the best span of every question, errors and intervals over paragraphs.
"""

from __future__ import annotations

import sys
from importlib.resources import files
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "shipped-weights"))
from measure import answered, mean
from training_questions import articles, clean, copied, save

from spanwise.interop.json_files import write_json
from spanwise.tasks.checkpoint import load_task_model
from spanwise.tasks.qa.data import SquadData
from spanwise.tasks.qa.forbidden import paragraph_runs
from spanwise.tasks.qa.reader import read_questions
from spanwise.training.statistics import paired_difference

READERS = ("mixed", "with-reviews")
HELD_OUT = 2  # of every three articles the last


def main() -> None:
    data, out, what = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
    squad = data / "qa/squad/dev-v1.1.json.xz"
    if what == "write":
        write(data / "qa/squadshifts/amazon_reviews_v1.0.json.xz", squad, out)
        return
    bundled = Path(str(files("spanwise.quickstart") / "corpus/qa-dev.json.xz"))
    texts = {"SQuAD 1.1 dev": squad, "new Wikipedia": bundled, "reviews": out / "reviews-held-out.json"}
    found = {name: scores(read_questions(path), out) for name, path in texts.items()}
    write_json(out / "result-reviews.json", found)
    for name, one in found.items():
        print(name, *(f"{key}: {value}" for key, value in one.items()), sep="\n  ")


def write(reviews: Path, squad: Path, out: Path) -> None:
    found = [copied(article, "") for article in articles(reviews)]
    learned = [article for place, article in enumerate(found) if place % 3 != HELD_OUT]
    mixed = articles(out / "mixed.json")
    save(out / "with-reviews.json", [*mixed, *clean(learned, paragraph_runs([squad]))])
    save(out / "reviews-held-out.json", found[HELD_OUT::3])


def scores(data: SquadData, out: Path) -> dict[str, object]:
    """Return the means of both readers, and what the reviews win with their interval, in percent."""
    found = {name: answered(load_task_model(out / "runs" / f"reader-{name}" / "final", "qa"), data) for name in READERS}
    paragraphs = np.array([question.paragraph for question in data.questions])
    told: dict[str, object] = {name: mean(data, one) for name, one in found.items()}
    for place, name in enumerate(("exact", "f1")):
        without, beside = (np.array([100 * found[arm][one.id][place] for one in data.questions]) for arm in READERS)
        won = paired_difference(beside, without, paragraphs)
        told[f"{name} won by reviews"] = [won.value, won.low, won.high]
    return told


if __name__ == "__main__":
    main()
