"""draw.py FILE NUMBER SEED OUT writes so many questions, small draws inside large ones; draw.py table OUT prints F1.

The table also writes every model's F1 to OUT/result.json, and has the draws of which all models are scored.
"""

from __future__ import annotations

import json
import random
import statistics
import sys
from pathlib import Path

from scipy.special import stdtrit

from spanwise.quickstart.questions import squad_json
from spanwise.runtime.files import write_text_atomic
from spanwise.tasks.qa.reader import read_questions

SEEDS, NUMBERS, WAYS = (0, 1, 2), (16, 128, 1024), ("unmarked", "marked")


def draw(file: Path, number: int, seed: int, out: Path) -> None:
    data = read_questions(file)
    order = list(range(len(data.questions)))
    random.Random(seed).shuffle(order)
    chosen = tuple(data.questions[index] for index in sorted(order[:number]))
    write_text_atomic(out, squad_json(type(data)(**{**vars(data), "questions": chosen})))


def table(out: Path) -> None:
    found: dict[str, dict[str, float]] = {}
    for number in NUMBERS:
        seeds = [seed for seed in SEEDS if all((out / f"{way}-{number}-{seed}.json").exists() for way in WAYS)]
        rows = {way: [score(out / f"{way}-{number}-{seed}.json") for seed in seeds] for way in WAYS}
        for way, scores in rows.items():
            found |= {f"{number} questions, {way}": dict(zip(map("draw {}".format, seeds), scores, strict=True))}
        if len(seeds) < 2:
            print(f"| {number:,} | {len(seeds)} of {len(SEEDS)} draws are scored: an interval needs two | | |")
            continue
        gains = [marked - without for without, marked in zip(rows["unmarked"], rows["marked"], strict=True)]
        half = float(stdtrit(len(gains) - 1, 0.975)) * statistics.stdev(gains) / len(gains) ** 0.5
        cells = [f"{statistics.mean(rows[way]):.1f} ({min(rows[way]):.1f} to {max(rows[way]):.1f})" for way in WAYS]
        print(f"| {number:,} | {' | '.join(cells)} | {statistics.mean(gains):+.1f} ± {half:.1f} |")
    write_text_atomic(out / "result.json", json.dumps(found, indent=1) + "\n")


def score(file: Path) -> float:
    return float(json.loads(file.read_text(encoding="utf-8"))["f1"])


if __name__ == "__main__":
    if sys.argv[1] == "table":
        table(Path(sys.argv[2]))
    else:
        draw(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4]))
