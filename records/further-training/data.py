"""Write the files of this record: data.py DATA OUT

wikiann-train, wikiann-dev: the first domain of the names, Wikipedia (2,000 sentences each); uner-train, uner-dev: web
text, the halves of UNER EWT dev; wnut-train, wnut-dev: comments, with products and works beside PER, LOC and ORG.
ontogum, ontogum-dev: the first domain of the coreference; winobias-train, winobias-dev: sentences about two people and
a pronoun, the first 198 of each of the four development files of WinoBias and the rest.
"""

from __future__ import annotations

import lzma
import sys
from itertools import groupby
from pathlib import Path

KINDS = {"person": "PER", "location": "LOC", "corporation": "ORG", "group": "ORG"}
KINDS |= {"product": "PROD", "creative-work": "WORK"}


def main() -> None:
    data, out = Path(sys.argv[1]), Path(sys.argv[2])
    for name in ("train", "dev"):
        found = sentences(data / f"tagging/wikiann_en/{name}.txt.xz", 0, 1)
        write(out / f"wikiann-{name}.conll", [[(word.split(":", 1)[1], tag) for word, tag in s] for s in found[:2000]])
    found = sentences(data / "tagging/uner_en_ewt/dev.iob2.xz", 1, 2)
    write(out / "uner-train.conll", found[:1000])
    write(out / "uner-dev.conll", found[1000:])
    for name, file in (("train", "wnut17train.conll.xz"), ("dev", "emerging.dev.conll")):
        found = sentences(data / "tagging/wnut17" / file, 0, 1)
        write(out / f"wnut-{name}.conll", [[(word, renamed(tag)) for word, tag in s] for s in found])
    write_documents([data / "coref/ontogum/train.conll.xz"], out / "ontogum.conll", range(1000))
    write_documents([data / "coref/ontogum/dev.conll.xz"], out / "ontogum-dev.conll", range(1000))
    files = sorted((data / "coref/winobias").glob("dev_type*.v4_auto_conll.xz"))
    write_documents(files, out / "winobias-train.conll", range(198))
    write_documents(files, out / "winobias-dev.conll", range(198, 1000))


def lines_of(path: Path) -> list[str]:
    with lzma.open(path, "rt", encoding="utf-8") if path.suffix == ".xz" else path.open(encoding="utf-8") as lines:
        return [line.rstrip("\n") for line in lines]


def sentences(path: Path, word: int, tag: int) -> list[list[tuple[str, str]]]:
    """Return the sentences of a file of columns as words and tags."""
    cells = [line.split("\t") for line in lines_of(path)]
    groups = groupby((c for c in cells if not c[0].startswith("# ")), lambda c: len(c) > tag and bool(c[word].strip()))
    return [[(c[word], c[tag].strip()) for c in group] for is_text, group in groups if is_text]


def renamed(tag: str) -> str:
    border, _, kind = tag.partition("-")
    return f"{border}-{KINDS[kind]}" if kind in KINDS else "O"


def write(path: Path, found: list[list[tuple[str, str]]]) -> None:
    path.write_text("".join("".join(f"{w}\t{t}\n" for w, t in s) + "\n" for s in found), encoding="utf-8")


def write_documents(sources: list[Path], target: Path, wanted: range) -> None:
    """Write some documents of each file of coreference; textbooks, of which some are non-commercial, do not count."""
    kept: list[str] = []
    for source in sources:
        number, keep = -1, False
        for line in lines_of(source):
            if line.startswith("#begin"):
                number += "_textbook_" not in line
                keep = "_textbook_" not in line and number in wanted
            if keep:
                kept.append(line)
    target.write_text("\n".join(kept) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
