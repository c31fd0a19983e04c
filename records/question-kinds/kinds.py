"""Cut answered.json into its two kinds, or print the table of all arms: kinds.py OUT [table]"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from spanwise.runtime.files import write_text_atomic

COPIES = ("-0", "-1", "-2", "-3")  # what training_questions.py puts behind the ids of new Wikipedia articles


def main() -> None:
    out = Path(sys.argv[1])
    if sys.argv[2:] == ["table"]:
        print(table(out / "kinds"))
        return
    articles = json.loads((out / "answered.json").read_text(encoding="utf-8"))["data"]
    kinds: dict[str, list[object]] = {"wiki": [], "qamr": []}
    for article in articles:
        first = article["paragraphs"][0]["qas"][0]["id"]
        kinds["wiki" if first.endswith(COPIES) else "qamr"].append(article)
    for kind, found in kinds.items():
        text = json.dumps({"version": "1.1", "data": found}, ensure_ascii=False)
        write_text_atomic(out / "kinds" / f"learned-{kind}.json", text)


def table(folder: Path) -> str:
    """Return exact match and F1 of every arm, on the held-out questions of new articles and on reviews."""
    lines = ["| questions | new Wikipedia articles: exact, F1 | reviews: exact, F1 |", "|---|---|---|"]
    for path in sorted(folder.glob("*-reviews.json")):
        arm = path.name.removesuffix("-reviews.json")
        scores = [json.loads((folder / name).read_text(encoding="utf-8")) for name in (f"{arm}.json", path.name)]
        lines.append(f"| {arm} | " + " | ".join(f"{one['exact']:.1f}, {one['f1']:.1f}" for one in scores) + " |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
