"""Put the trained folders of OUT into the package: one folder per language, with its tasks, in bf16, and a card.

python ship.py OUT PACKAGE_WEIGHTS en     the second is src/spanwise/weights; the folder of the language is replaced
python ship.py OUT PACKAGE_WEIGHTS en qa  one task alone, taught anew from the folder that ships
"""

from __future__ import annotations

import json
import re
import shutil
import sys
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

from learned import ENGLISH, KOREAN, Learners
from settle import check, settle

from spanwise.interop.combined.combine import combine
from spanwise.interop.convert import convert
from spanwise.interop.huggingface import read_folder
from spanwise.interop.json_files import write_json
from spanwise.interop.record import RECORD
from spanwise.runtime.files import MANIFEST_NAME, sha256_of
from spanwise.weights.learned_from import LEARNED_FROM, Learned, as_record

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Shipment:
    """What becomes of one run: the folder in the package, and the rank in which each task's changes are stored."""

    folder: str
    base: str  # the run whose encoder and heads all tasks share
    model_type: str  # whose class for masked words holds that head; those of the other objectives lie beside it
    masked_words: str
    ranks: dict[str, int]
    learned: Learners


SHIPMENTS = {
    "en": Shipment(
        "mini", "base", "modernbert", "ModernBertForMaskedLM", {"qa": 64, "tagging": 27, "coref": 24}, ENGLISH
    ),
    "ko": Shipment("nano-ko", "longer", "bert", "BertForMaskedLM", {"qa": 64}, KOREAN),
}
WHERE_FROM = """
## Where it comes from

`{name}` was made from random weights {made}, of the spanwise repository; `records/shipped-weights/README.md` there has
every figure. Licence: CC BY-SA {version}; sources and authors are named in `LICENSES.md` of the folder above.
"""


def main() -> None:
    out, weights, language, only = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], sys.argv[4:]
    shipment = SHIPMENTS[language]
    target = weights / shipment.folder
    ranks = {task: rank for task, rank in shipment.ranks.items() if not only or task in only}
    check(out, language, ranks)
    with tempfile.TemporaryDirectory() as temporary:
        place = Path(temporary)
        if only:
            shutil.move(target, place / "base")
        else:
            shutil.rmtree(target, ignore_errors=True)
            base = read_folder(out / shipment.base / "final")
            base = replace(base, model_type=shipment.model_type, source_class=shipment.masked_words)
            convert(base, place / "base", dtype="bf16")
            say_what_is_known(place / "base", shipment.folder, shipment.learned.text)
        for task in ranks:
            shutil.copytree(out / task / "final", place / task)
            entries = (*shipment.learned.text, *shipment.learned.tasks[task])
            say_what_is_known(place / task, shipment.folder, entries)
        combine(place / "base", [place / task for task in ranks], target, ranks=ranks, dtype="bf16", replace=bool(only))
    settle(out, target, language, tuple(ranks))  # without a manifest from here: the weights have hashes of their own
    write_card(target / "README.md", f"spanwise-{shipment.folder}", language, shipment.learned)
    file = HERE / "shipped.json"
    shipped = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    files = sorted(target.rglob("*.safetensors"))
    shipped[f"spanwise-{shipment.folder}"] = {path.relative_to(target).as_posix(): sha256_of(path) for path in files}
    write_json(file, shipped)
    print(target, sum(path.stat().st_size for path in target.rglob("*") if path.is_file()) // 1000, "kB")


def say_what_is_known(folder: Path, start: str, learned: tuple[Learned, ...]) -> None:
    """Put names in place of this machine's paths into the record of a folder, and what it learned from."""
    file = folder / RECORD
    record = json.loads(file.read_text(encoding="utf-8"))
    made = record.get("finetuned")
    if made:
        files = made["train"] if isinstance(made["train"], list) else [made["train"]]
        dev = made.get("dev")
        made.update(train=[Path(one).name for one in files], dev=dev and Path(dev).name, model=f"spanwise-{start}")
        made.pop("not_from", None)
    record[LEARNED_FROM] = as_record(learned)
    write_json(file, record)
    (folder / MANIFEST_NAME).unlink(missing_ok=True)


def write_card(card: Path, name: str, language: str, learned: Learners) -> None:
    """Put the name of the weights in place of a path, and end the card with what they are worth and where from."""
    text = card.read_text(encoding="utf-8").rstrip()
    text = re.sub(r"^# .*$", f"# {name}", text, count=1, flags=re.M)
    text = text.replace('spanwise.load("path/to/this/folder"', f'spanwise.load("{name}"')
    text = text.replace("--model FOLDER", f"--model {name}")
    text = text.replace('"path/to/this/folder"', f'shipped_folder("{name}")')
    text = text.replace(
        "from transformers import", "from spanwise.weights import shipped_folder\nfrom transformers import"
    )
    text = text.replace("---\n", f"---\nlicense: cc-by-sa-{learned.share_alike}\nlanguage: {language}\n", 1)
    worth = (HERE / f"worth-{language}.md").read_text(encoding="utf-8")
    origin = WHERE_FROM.replace("{name}", name).replace("{made}", learned.made)
    origin = origin.replace("{version}", learned.share_alike)
    card.write_text(f"{text}\n\n{worth}{origin}", encoding="utf-8")


if __name__ == "__main__":
    main()
