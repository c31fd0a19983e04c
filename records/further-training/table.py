"""Print mean scores over seeds with a 95 % interval of the change; OUT/result.json gets each score: table.py OUT"""

from __future__ import annotations

import json
import statistics
import sys
from pathlib import Path

from spanwise.runtime.files import write_text_atomic

T = {2: 12.706, 3: 4.303}  # Student's t at 97.5 %, by number of runs
ROWS = [
    ("names, web text", "start", "uner", "uner-dev", "wikiann-dev"),
    ("names, comments with products and works", "start", "wnut", "wnut-dev", "wikiann-dev"),
    ("coreference, sentences of two people", "coref-start", "winobias", "winobias-dev", "ontogum-dev"),
]


def main() -> None:
    out = Path(sys.argv[1])
    for title, first, name, new, old in ROWS:
        for way in ("plain", "replay"):
            seeds = [seed for seed in range(3) if (out / f"{name}-{way}-{seed}.{old}.json").exists()]
            seeds = [s for s in seeds if all(score(out, f"{name}-{way}-{s}", f) is not None for f in (new, old))]
            cells = [told(out, first, f"{name}-{way}", seeds, file) for file in (new, old)] if seeds else ["-", "-"]
            print(f"| {title} | {way} | {len(seeds)} | {cells[0]} | {cells[1]} |")
    names = [path.name.removesuffix(".json").rsplit(".", 1) for path in sorted(out.glob("*.*-dev.json"))]
    found = {f"{name} on {file}": score(out, name, file) for name, file in names}
    write_text_atomic(out / "result.json", json.dumps(found, indent=1) + "\n")


def score(out: Path, name: str, file: str) -> float | None:
    path = out / f"{name}.{file}.json"
    if not path.exists() or not path.read_text():
        return None
    scores = json.loads(path.read_text())
    return float(scores["conll_f1"] if "conll_f1" in scores else scores["f1"])


def told(out: Path, first: str, name: str, seeds: list[int], file: str) -> str:
    before = [score(out, first, file) or 0.0] * len(seeds)
    after = [score(out, f"{name}-{seed}", file) or 0.0 for seed in seeds]
    changes = [b - a for a, b in zip(before, after, strict=True)]
    half = T[len(seeds)] * statistics.stdev(changes) / len(seeds) ** 0.5 if len(seeds) > 1 else None
    shown = "" if half is None else f" ± {half:.1f}"
    return f"{statistics.mean(before):.1f} → {statistics.mean(after):.1f} ({statistics.mean(changes):+.1f}{shown})"


if __name__ == "__main__":
    main()
