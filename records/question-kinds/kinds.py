"""Write the parts of the training questions and the files to score on, or print the table: kinds.py DATA OUT cut|table

Questions of people, from what `training_questions.py` of ../shipped-weights wrote into OUT: wiki.json (SQuADShifts
new-wiki) and qamr.json; answered.json and mixed.json are there. To score on: squad.json (2,000 questions of SQuAD 1.1
dev), wiki-dev.json (the 1,103 bundled held-out questions) and reviews.json (1,000 of SQuADShifts amazon).
"""

from __future__ import annotations

import json
import sys
from importlib.resources import files
from pathlib import Path

from spanwise.runtime.files import write_text_atomic
from spanwise.studies.probes.cuts import cut_questions
from spanwise.tasks.files.text import read_json

COPIES = ("-0", "-1", "-2", "-3")  # what training_questions.py puts behind the ids of new Wikipedia articles
TEXTS = ("squad", "wiki-dev", "reviews")
ARMS = ("wiki", "qamr", "answered", "mixed", "wh", "filtered", "own", "cloze", "recurring")


def main() -> None:
    data, out, what = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
    if what == "cut":
        cut(data, out)
        return
    found = results(out)
    write_text_atomic(out / "result.json", json.dumps(found, indent=1) + "\n")
    print(table(found))


def cut(data: Path, out: Path) -> None:
    """Write the two kinds of answered.json, and the files to score on."""
    kinds: dict[str, list[object]] = {"wiki": [], "qamr": []}
    for article in read_json(out / "answered.json")["data"]:
        first = article["paragraphs"][0]["qas"][0]["id"]
        kinds["wiki" if first.endswith(COPIES) else "qamr"].append(article)
    for kind, number, path in (
        ("squad", 2_000, data / "qa/squad/dev-v1.1.json.xz"),
        ("wiki-dev", 1_103, Path(str(files("spanwise.quickstart") / "corpus/qa-dev.json.xz"))),
        ("reviews", 1_000, data / "qa/squadshifts/amazon_reviews_v1.0.json.xz"),
    ):
        kinds[kind] = read_json(cut_questions(path, number, out))["data"]
    for kind, found in reversed(kinds.items()):  # wiki.json last: run.sh takes it for all of them
        told = json.dumps({"version": "1.1", "data": found}, ensure_ascii=False)
        write_text_atomic(out / f"{kind}.json", told + "\n")


def results(out: Path) -> dict[str, dict[str, object]]:
    """Return, for every arm that is scored, how many questions it had and exact match and F1 on each text."""
    found: dict[str, dict[str, object]] = {}
    for arm in ARMS:
        paths = {text: out / "runs" / f"{arm}-{text}.json" for text in TEXTS}
        if all(path.exists() for path in paths.values()):
            articles = read_json(out / f"{arm}.json")["data"]
            number = sum(len(paragraph["qas"]) for article in articles for paragraph in article["paragraphs"])
            scores = {text: json.loads(path.read_text(encoding="utf-8")) for text, path in paths.items()}
            found[arm] = {"questions": number, **{text: [one["exact"], one["f1"]] for text, one in scores.items()}}
    return found


def table(found: dict[str, dict[str, object]]) -> str:
    """Return one line per arm, exact match and F1 of each text."""
    lines = [f"| learned | questions | {' | '.join(f'{text}: exact, F1' for text in TEXTS)} |", "|---|---|---|---|---|"]
    for arm, one in found.items():
        scores = [one[text] for text in TEXTS]
        told = " | ".join(f"{exact:.1f}, {f1:.1f}" for exact, f1 in scores)
        lines.append(f"| {arm} | {one['questions']:,} | {told} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
