"""Print the table of README.md from the runs of run.sh: table.py OUT"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

MEASURES = (("mlm_loss", "MLM loss, nats"), ("sbo_loss", "SBO loss, nats"), ("mlm_spans", "whole spans right, %"))
ANSWERS = (("f1", "answers, F1"), ("exact", "answers, exact"))


def row(name: str, measure: dict[str, Any], word_count: str) -> str:
    values, gains = measure["values"], measure["gains"]
    shown = [f"{values[column]['value']:.2f}" for column in (word_count, "control", "init")]
    shown.append(f"**{values['trained']['value']:.2f}** ± {values['trained']['se']:.2f}")
    shown += [
        f"{gain['value']:+.2f} ({gain['low']:+.2f} to {gain['high']:+.2f})"
        for gain in (gains["init"], gains[word_count])
    ]
    return f"| {name} | {' | '.join(shown)} |"


def main() -> None:
    columns = ("language, seed, measure", "counted words", "random weights", "start", "adapted")
    print(f"| {' | '.join(columns)} | gain over the start, 95 % | gain over counted words, 95 % |")
    print("|---" * 7 + "|")
    for folder in sorted(Path(sys.argv[1]).iterdir()):
        if not (folder / "result.json").is_file():
            continue
        result = json.loads((folder / "result.json").read_text(encoding="utf-8"))
        found = {measure["key"]: measure for measure in result["measures"]}
        asked = {measure["key"]: measure for measure in result["questions"]["measures"]}
        for key, name in MEASURES:
            print(row(f"{folder.name}, {name}", found[key], "bigram"))
        for key, name in ANSWERS:
            print(row(f"{folder.name}, {name}", asked[key], "lexical"))
        print(f"| {folder.name}, seconds of 480 | | | | {result['total_seconds']:.0f} | | |")


if __name__ == "__main__":
    main()
