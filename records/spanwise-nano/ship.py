"""Put the trained folders into the package, in bf16 and with a card that says where they come from.

python ship.py OUT PACKAGE_WEIGHTS [ko]     the second is src/spanwise/weights; what lies there is replaced
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

from spanwise.interop.convert import convert
from spanwise.interop.json_files import write_json
from spanwise.interop.record import RECORD
from spanwise.runtime.files import MANIFEST_NAME, sha256_of
from spanwise.weights.learned_from import HEADING, LEARNED_FROM, Learned, as_record, learned_lines

SOURCES = {"": "pretraining/final", "-qa": "qa/final"}
LANGUAGES = {"en": ("", "English"), "ko": ("-ko", "Korean")}  # the end of the names
QUESTIONS = {
    "en": ", then 14 minutes on 6,835 questions of SQuADShifts (new\n"
    "Wikipedia; Miller, Krauth, Recht and Schmidt 2020, CC BY 4.0)",
    "ko": ", then 90 seconds on 1,010 questions made by\nrule from the same text",
}
WIKIPEDIA = "CC BY-SA 3.0 and GFDL 1.3 or later"
LEARNED = {  # what each language's weights learned from: its text, and those for questions what follows too
    "en": (
        Learned(
            file="English Wikipedia, dump of spring 2015",
            what="text",
            source="WikiExtractor text of jason-feng/wikiVisual (folder text/, commit 1c0fac92f29f)",
            licence=WIKIPEDIA,
            count=120_825_048,
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
    ),
    "ko": (
        Learned(
            file="Korean Wikipedia",
            what="text",
            source="WikiExtractor text of 97danielj/WordEmbedding (folder text/, commit 2e427337521c)",
            licence=WIKIPEDIA,
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
    ),
}
HASHES = Path(__file__).with_name("shipped.json")  # of the weight files, by folder
NOTE = """
## Where it comes from

`{name}` was made from random weights by `records/spanwise-nano/run.sh DATA OUT{argument}` of the spanwise repository:
25 minutes of pre-training on two CPU cores, on {language} Wikipedia text{questions}.
It is a small demonstration, not a model to rely on; the record says how well it does. Licence: CC BY-SA 3.0, that of
the text; sources and authors are named in `LICENSES.md` of the folder above.
"""


def forget_places(file: Path, start: str) -> None:
    """Names in place of this machine's paths in the record of a fine-tuned folder."""
    record = json.loads(file.read_text(encoding="utf-8"))
    made = record.get("finetuned")
    if made:
        train, dev = made["train"], Path(made["dev"]).name
        names = [Path(file).name for file in train] if isinstance(train, list) else Path(train).name
        made.update(train=names, dev=dev, model=start)
        made.pop("not_from", None)
        write_json(file, record)


def say_learned(target: Path, code: str, kind: str) -> list[str]:
    """Put what the weights learned from into the record, by names that others know; return the lines of the card."""
    record = json.loads((target / RECORD).read_text(encoding="utf-8"))
    record[LEARNED_FROM] = as_record(LEARNED[code] if kind else LEARNED[code][:1])
    write_json(target / RECORD, record)
    return learned_lines(record)


def main() -> None:
    out, weights, code = Path(sys.argv[1]), Path(sys.argv[2]), (sys.argv[3:] or ["en"])[0]
    end, language = LANGUAGES[code]
    for kind, source in SOURCES.items():
        target = weights / f"nano{end}{kind}"
        name = f"spanwise-{target.name}"
        if target.exists():
            shutil.rmtree(target)
        convert(out / source, target, dtype="bf16")
        card = target / "README.md"
        text = card.read_text(encoding="utf-8")
        for way in ("spanwise.load", "model="):
            text = text.replace(f'{way}("path/to/this/folder"', f'{way}("{name}"')
        text = text.replace('"path/to/this/folder"', f'shipped_folder("{name}")')
        text = text.replace(
            "from transformers import", "from spanwise.weights import shipped_folder\nfrom transformers import"
        )
        text = text.replace("---\n", f"---\nlicense: cc-by-sa-3.0\nlanguage: {code}\n", 1)
        taught = QUESTIONS[code] if kind else ""
        argument = " ko" if code == "ko" else ""
        note = NOTE.format(name=name, language=language, questions=taught, argument=argument)
        learned = "\n".join([HEADING, "", *say_learned(target, code, kind), ""])
        card.write_text(text.partition(HEADING)[0].rstrip() + f"\n\n{learned}{note}", encoding="utf-8")
        forget_places(target / RECORD, f"spanwise-nano{end}")
        (target / MANIFEST_NAME).unlink(missing_ok=True)  # the card has changed; the weights have hashes of their own
        hashes = json.loads(HASHES.read_text(encoding="utf-8")) if HASHES.exists() else {}
        hashes[name] = {path.name: sha256_of(path) for path in sorted(target.glob("*.safetensors"))}
        write_json(HASHES, hashes)
        print(target, sum(path.stat().st_size for path in target.iterdir()) // 1000, "kB")


if __name__ == "__main__":
    main()
