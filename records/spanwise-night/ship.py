"""Put the trained folders into the package, in bf16 and with a card that says where they come from.

python ship.py OUT PACKAGE_WEIGHTS     the second is src/spanwise/weights; what lies there is replaced
"""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

from spanwise.interop.json_files import write_json
from spanwise.weights.learned_from import Learned

SOURCES = {"mini": "pretraining/final", "mini-qa": "qa-hidden_dropout=0.0/final"}  # taught without dropout: README.md
ship = runpy.run_path(str(Path(__file__).parents[1] / "spanwise-nano" / "ship.py"))["ship"]
LEARNED = (
    Learned(
        file="English Wikipedia, dump of spring 2015",
        what="text",
        source="WikiExtractor text of jason-feng/wikiVisual (folder text/, commit 1c0fac92f29f)",
        licence="CC BY-SA 3.0 and GFDL 1.3 or later",
        count=264_677_460,
        unit="characters",
    ),
    Learned(
        file="qa-train.json.xz",
        what="qa",
        source="SQuADShifts (new Wikipedia), Miller, Krauth, Recht and Schmidt 2020; bundled",
        licence="CC BY 4.0; paragraphs CC BY-SA 3.0",
        count=6_835,
        unit="questions",
    ),
)
QUESTIONS = """,
then 6,835 questions of SQuADShifts (new Wikipedia; Miller, Krauth,
Recht and Schmidt 2020, CC BY 4.0)"""
NOTE = """
## Where it comes from

`{name}` was made from random weights by `records/spanwise-night/run.sh DATA OUT` of the spanwise repository:
95 minutes of pre-training on two CPU cores, on 265 million characters of the English Wikipedia{questions}.
It is a small demonstration, not a model to rely on; the record says how well it does. Licence: CC BY-SA 3.0, that of
the text; sources and authors are named in `LICENSES.md` of the folder above.
"""


def main() -> None:
    out, weights, hashes = Path(sys.argv[1]), Path(sys.argv[2]), {}
    for target, source in SOURCES.items():
        has_questions = target.endswith("-qa")
        hashes[f"spanwise-{target}"] = ship(
            out / source,
            weights / target,
            language="en",
            note=NOTE.replace("{questions}", QUESTIONS if has_questions else ""),
            start="spanwise-mini",
            learned=LEARNED if has_questions else LEARNED[:1],
        )
    write_json(Path(__file__).with_name("shipped.json"), hashes)


if __name__ == "__main__":
    main()
