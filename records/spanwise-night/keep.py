"""Keep the trained folders in the repository: bf16, with a card that says where they come from, and their hashes.

python keep.py OUT      what lies in weights/ beside this file is replaced
"""

from __future__ import annotations

import runpy
import shutil
import sys
from pathlib import Path

from spanwise.interop.convert import convert
from spanwise.interop.json_files import write_json
from spanwise.interop.record import RECORD
from spanwise.runtime.files import MANIFEST_NAME, sha256_of

HERE = Path(__file__).parent
SOURCES = {"base": "pretraining/final", "qa": "qa-hidden_dropout=0.0/final"}  # taught without dropout: README.md
forget_places = runpy.run_path(str(HERE.parent / "spanwise-nano" / "ship.py"))["forget_places"]
NOTE = """
## Where it comes from

Made from random weights by `records/spanwise-night/run.sh DATA OUT` of the spanwise repository: 95 minutes of
pre-training on two CPU cores, on 265 million characters of the English Wikipedia{questions}.
It is a small demonstration, not a model to rely on; the record says how well it does. Licence: CC BY-SA 3.0, that of
the text; sources and authors are named in `src/spanwise/weights/LICENSES.md`.
"""
QUESTIONS = """,
then 6,835 questions of SQuADShifts (new Wikipedia; Miller, Krauth,
Recht and Schmidt 2020, CC BY 4.0)"""


def main() -> None:
    out, hashes = Path(sys.argv[1]), {}
    for kind, source in SOURCES.items():
        target = HERE / "weights" / kind
        if target.exists():
            shutil.rmtree(target)
        convert(out / source, target, dtype="bf16")
        card = target / "README.md"
        text = card.read_text(encoding="utf-8").replace("path/to/this/folder", f"records/spanwise-night/weights/{kind}")
        text = text.replace("---\n", "---\nlicense: cc-by-sa-3.0\nlanguage: en\n", 1)
        card.write_text(text + NOTE.format(questions=QUESTIONS if kind == "qa" else ""), encoding="utf-8")
        forget_places(target / RECORD, "spanwise-night")
        (target / MANIFEST_NAME).unlink(missing_ok=True)  # the card has changed; the weights have hashes of their own
        hashes[kind] = {path.name: sha256_of(path) for path in sorted(target.glob("*.safetensors"))}
        print(target, sum(path.stat().st_size for path in target.iterdir()) // 1000, "kB")
    write_json(HERE / "weights" / "hashes.json", hashes)


if __name__ == "__main__":
    main()
