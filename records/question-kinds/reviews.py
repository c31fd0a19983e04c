"""Write the questions with Amazon's and those to score on, or score the readers that learned with some seeds:

    reviews.py DATA OUT write
    reviews.py DATA OUT score SEED...

Reviews are SQuADShifts amazon. OUT holds mixed.json of ../shipped-weights/training_questions.py. `write` gives
with-reviews.json (mixed.json and two thirds of the reviews' articles; no paragraph that is learned shares eight words
in a row with one of SQuAD 1.1 dev) and reviews-held-out.json (the other third). `score` reads the readers that
reviews.sh taught and gives result-reviews.json: the best span of every question, means over the seeds, and what the
reviews won, with intervals over paragraphs (of those means) and over seeds.
"""

from __future__ import annotations

import json
import sys
from importlib.resources import files
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "shipped-weights"))
from measure import answered
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
    data, out, what, *seeds = Path(sys.argv[1]), Path(sys.argv[2]), *sys.argv[3:]
    squad = data / "qa/squad/dev-v1.1.json.xz"
    if what == "write":
        write(data / "qa/squadshifts/amazon_reviews_v1.0.json.xz", squad, out)
        return
    if not seeds:
        sys.exit("Name the seeds whose readers are to be scored: reviews.py DATA OUT score 2 3")
    bundled = Path(str(files("spanwise.quickstart") / "corpus/qa-dev.json.xz"))
    texts = {"SQuAD 1.1 dev": squad, "new Wikipedia": bundled, "reviews": out / "reviews-held-out.json"}
    found = {name: compared(name, path, out, seeds) for name, path in texts.items()}
    write_json(out / "result-reviews.json", found)
    for name, one in found.items():
        print(name, *(f"{key}: {value}" for key, value in one.items()), sep="\n  ")


def write(reviews: Path, squad: Path, out: Path) -> None:
    found = [copied(article, "") for article in articles(reviews)]
    learned = [article for place, article in enumerate(found) if place % 3 != HELD_OUT]
    mixed = articles(out / "mixed.json")
    save(out / "with-reviews.json", [*mixed, *clean(learned, paragraph_runs([squad]))])
    save(out / "reviews-held-out.json", found[HELD_OUT::3])


def compared(text: str, path: Path, out: Path, seeds: list[str]) -> dict[str, object]:
    """Return both readers' means over seeds, and what the reviews won, in percent."""
    data = read_questions(path)
    # [readers, seeds, questions, (exact, f1)]
    found = 100 * np.array([[scores(f"reader-{name}-{seed}", text, data, out) for seed in seeds] for name in READERS])
    paragraphs = np.array([question.paragraph for question in data.questions])
    told: dict[str, object] = {"questions": len(data.questions), "seeds": [int(seed) for seed in seeds]}
    for place, name in enumerate(("exact", "f1")):
        without, beside = found[..., place]
        won = beside - without
        told[name] = {"mixed": float(without.mean()), "with-reviews": float(beside.mean())}
        told[f"{name} won by reviews"] = {
            "of each seed": won.mean(1).tolist(),
            "interval over paragraphs": interval(won.mean(0), paragraphs),
            "interval over seeds": interval(won.mean(1), np.arange(len(seeds))) if len(seeds) > 1 else None,
        }
    return told


def interval(won: np.ndarray, clusters: np.ndarray) -> list[float]:
    """Return the mean and its interval."""
    found = paired_difference(won, np.zeros_like(won), clusters)
    return [found.value, found.low, found.high]


def scores(reader: str, text: str, data: SquadData, out: Path) -> list[tuple[float, float]]:
    """Return exact match and F1 of each question, kept beside the reader."""
    kept = out / "runs" / reader / f"scores of {text}.json"
    if not kept.exists():
        found = answered(load_task_model(out / "runs" / reader / "final", "qa"), data)
        write_json(kept, [found[question.id] for question in data.questions])
    return json.loads(kept.read_text())


if __name__ == "__main__":
    main()
