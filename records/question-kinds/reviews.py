"""Write mixed.json with two thirds of the reviews' articles, and the other third to score on: reviews.py DATA OUT

Reviews are SQuADShifts amazon. OUT holds mixed.json of ../shipped-weights/training_questions.py. Written are
with-reviews.json, reviews-held-out.json and squad-whole.json (SQuAD 1.1 dev). No paragraph that is learned shares eight
words in a row with one of SQuAD 1.1 dev.
"""

from __future__ import annotations

import json
import sys
from importlib.resources import files
from pathlib import Path
from typing import Any

from spanwise.runtime.files import write_text_atomic
from spanwise.tasks.files.text import read_json
from spanwise.tasks.qa.forbidden import paragraph_runs

HELD_OUT = 2  # of every three articles the last


def main() -> None:
    data, out = Path(sys.argv[1]), Path(sys.argv[2])
    squad = data / "qa/squad/dev-v1.1.json.xz"
    runs = paragraph_runs([squad])
    reviews = read_json(data / "qa/squadshifts/amazon_reviews_v1.0.json.xz")["data"]
    learned = [article for place, article in enumerate(reviews) if place % 3 != HELD_OUT]
    for article in learned:
        article["paragraphs"] = [one for one in article["paragraphs"] if not runs.shared(one["context"])]
    bundled = Path(str(files("spanwise.quickstart") / "corpus/qa-dev.json.xz"))
    save(out / "with-reviews.json", [*read_json(out / "mixed.json")["data"], *learned])
    save(out / "reviews-held-out.json", reviews[HELD_OUT::3])
    save(out / "squad-whole.json", read_json(squad)["data"])
    save(out / "wiki-dev.json", read_json(bundled)["data"])


def save(path: Path, articles: list[dict[str, Any]]) -> None:
    number = sum(len(paragraph["qas"]) for article in articles for paragraph in article["paragraphs"])
    write_text_atomic(path, json.dumps({"version": "v2.0", "data": articles}, ensure_ascii=False))
    print(f"{path}: {number:,} questions")


if __name__ == "__main__":
    main()
