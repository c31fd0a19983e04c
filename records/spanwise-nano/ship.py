"""Put the trained Korean folders into the package, in bf16 and with a card that says where they come from.

python ship.py OUT PACKAGE_WEIGHTS     the second is src/spanwise/weights; what lies there is replaced
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from spanwise.interop.convert import convert
from spanwise.interop.json_files import write_json
from spanwise.interop.record import RECORD
from spanwise.runtime.files import MANIFEST_NAME, sha256_of
from spanwise.weights.learned_from import HEADING, LEARNED_FROM, Learned, as_record, learned_lines

SOURCES = {"nano-ko": "pretraining/final", "nano-ko-qa": "qa/final"}
QUESTIONS = ", then 90 seconds on 1,010 questions made by\nrule from the same text"
LEARNED = (
    Learned(
        file="Korean Wikipedia",
        what="text",
        source="WikiExtractor text of 97danielj/WordEmbedding (folder text/, commit 2e427337521c)",
        licence="CC BY-SA 3.0 and GFDL 1.3 or later",
        count=20_516_781,
        unit="characters",
    ),
    Learned(
        file="ko/qa-train.json.xz",
        what="qa",
        source="made by rule from sentences of the bundled Korean Wikipedia text",
        licence="CC BY-SA 3.0",
        count=1_010,
        unit="questions",
    ),
)
NOTE = """
## Where it comes from

`{name}` was made from random weights by `records/spanwise-nano/run.sh DATA OUT ko` of the spanwise repository:
25 minutes of pre-training on two CPU cores, on Korean Wikipedia text{questions}.
It is a small demonstration, not a model to rely on; the record says how well it does. Licence: CC BY-SA 3.0, that of
the text; sources and authors are named in `LICENSES.md` of the folder above.
"""


def ship(
    source: Path, target: Path, *, language: str, note: str, start: str, learned: Sequence[Learned]
) -> dict[str, str]:
    """Write `source` into the package as `target`, and return the SHA-256 of its weight files by name.

    `note` ends the card, with {name} for the name of the weights; `start` names what was fine-tuned, and `learned` what
    the weights learned from, by names that others know.
    """
    name = f"spanwise-{target.name}"
    if target.exists():
        shutil.rmtree(target)
    convert(source, target, dtype="bf16")
    card = target / "README.md"
    text = card.read_text(encoding="utf-8").partition(HEADING)[0].rstrip()
    for way in ("spanwise.load", "model="):
        text = text.replace(f'{way}("path/to/this/folder"', f'{way}("{name}"')
    text = text.replace('"path/to/this/folder"', f'shipped_folder("{name}")')
    text = text.replace(
        "from transformers import", "from spanwise.weights import shipped_folder\nfrom transformers import"
    )
    text = text.replace("---\n", f"---\nlicense: cc-by-sa-3.0\nlanguage: {language}\n", 1)
    say_what_is_known(target / RECORD, start, learned)
    lines = "\n".join([HEADING, "", *learned_lines({LEARNED_FROM: as_record(learned)}), ""])
    card.write_text(f"{text}\n\n{lines}{note.replace('{name}', name)}", encoding="utf-8")
    (target / MANIFEST_NAME).unlink(missing_ok=True)  # the card has changed; the weights have hashes of their own
    print(target, sum(path.stat().st_size for path in target.iterdir()) // 1000, "kB")
    return {path.name: sha256_of(path) for path in sorted(target.glob("*.safetensors"))}


def say_what_is_known(file: Path, start: str, learned: Sequence[Learned]) -> None:
    """Put names in place of this machine's paths into the record of a folder, and what it learned from."""
    record = json.loads(file.read_text(encoding="utf-8"))
    made = record.get("finetuned")
    if made:
        train, dev = made["train"], Path(made["dev"]).name
        names = [Path(file).name for file in train] if isinstance(train, list) else Path(train).name
        made.update(train=names, dev=dev, model=start)
        made.pop("not_from", None)
    record[LEARNED_FROM] = as_record(learned)
    write_json(file, record)


def main() -> None:
    out, weights, hashes = Path(sys.argv[1]), Path(sys.argv[2]), {}
    for target, source in SOURCES.items():
        has_questions = target.endswith("-qa")
        hashes[f"spanwise-{target}"] = ship(
            out / source,
            weights / target,
            language="ko",
            note=NOTE.replace("{questions}", QUESTIONS if has_questions else ""),
            start="spanwise-nano-ko",
            learned=LEARNED if has_questions else LEARNED[:1],
        )
    write_json(Path(__file__).with_name("shipped.json"), hashes)


if __name__ == "__main__":
    main()
