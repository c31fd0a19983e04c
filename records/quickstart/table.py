"""Print the tables of README.md from the runs of run.sh, and keep every measure in OUT/runs.json: table.py OUT"""

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
    out, runs = Path(sys.argv[1]), {}
    for path in sorted(out.glob("*/result.json")):
        result, run = json.loads(path.read_text(encoding="utf-8")), path.parent.name
        found = {measure["key"]: measure for measure in result["measures"]}
        questions = result["questions"] if "adaptation" in result else result["qa"]
        asked = {measure["key"]: measure for measure in questions["measures"]}
        kept = ("measures", "machine", "total_seconds", "stages")
        runs[run] = {key: result[key] for key in kept} | {"questions": questions}
        if "adaptation" not in result:  # from scratch, which is told below
            continue
        runs[run]["adaptation"] = result["adaptation"]
        for key, name in MEASURES:
            print(row(f"{run}, {name}", found[key], "bigram"))
        for key, name in ANSWERS:
            print(row(f"{run}, {name}", asked[key], "lexical"))
        print(f"| {run}, seconds of 480 | | | | {result['total_seconds']:.0f} | | |")
    (out / "runs.json").write_text(json.dumps(runs, indent=1) + "\n", encoding="utf-8")
    for run in (run for run in runs if "adaptation" not in runs[run]):
        for measure in [*runs[run]["measures"], *runs[run]["questions"]["measures"]]:
            values = ", ".join(
                f"{name} {one['value']:.2f} ± {one['se']:.2f}" for name, one in measure["values"].items()
            )
            print(f"{run}, {measure['key']}: {values}")


if __name__ == "__main__":
    main()
