"""Write the files of names to teach with, and those to score on: names.py DATA OUT

OUT gets names-first.conll (WikiANN, and WNUT-17 twice, with the kinds PER, LOC and ORG; its products and works are no
names here), names-whole.conll (of WikiANN whole sentences alone), names-dev.conll (UNER EWT) and names-comments.conll
(WNUT-17 dev). All have a word and a tag on each line. Four of five texts of WikiANN are none: headings and items of
lists, nearly all name. They teach kinds, and to see names where there are none.
"""

from __future__ import annotations

import lzma
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path

from spanwise.runtime.files import write_text_atomic

WHOLE_WORDS, WHOLE_LOWER = 6, 3  # words of a whole sentence, and of those in lower case, at the least
STOPS = (".", "?", "!")
KINDS = {"person": "PER", "location": "LOC", "corporation": "ORG", "group": "ORG"}  # of WNUT-17


def main() -> None:
    data, out = Path(sys.argv[1]), Path(sys.argv[2])
    twice, texts = 2 * list(wnut(data, "wnut17train.conll.xz")), list(wikiann(data, "train.txt.xz"))
    write_text_atomic(out / "names-first.conll", "".join([*texts, *twice]))
    write_text_atomic(out / "names-whole.conll", "".join([*whole_sentences(texts), *twice]))
    write_text_atomic(out / "names-dev.conll", "".join(uner(data)))
    write_text_atomic(out / "names-comments.conll", "".join(wnut(data, "emerging.dev.conll")))


def wikiann(data: Path, name: str) -> Iterator[str]:
    return read(data / "tagging/wikiann_en" / name, lambda cells: (cells[0].split(":", 1)[1], cells[1]))


def whole_sentences(lines: Iterable[str]) -> Iterator[str]:
    for is_end, held in groupby(lines, key="\n".__eq__):
        sentence = list(held)
        if not is_end and is_whole([line.split("\t")[0] for line in sentence]):
            yield from (*sentence, "\n")


def is_whole(words: Sequence[str]) -> bool:
    return len(words) >= WHOLE_WORDS and words[-1] in STOPS and sum(map(str.islower, words)) >= WHOLE_LOWER


def wnut(data: Path, name: str) -> Iterator[str]:
    return read(data / "tagging/wnut17" / name, lambda cells: (cells[0], renamed(cells[1].strip())))


def uner(data: Path) -> Iterator[str]:
    return read(data / "tagging/uner_en_ewt/dev.iob2.xz", lambda cells: (cells[1], cells[2]))


def read(path: Path, word_and_tag: Callable[[list[str]], tuple[str, str]]) -> Iterator[str]:
    """Yield the lines of a file in two columns; an empty line stays, a comment goes."""
    with lzma.open(path, "rt", encoding="utf-8") if path.suffix == ".xz" else path.open(encoding="utf-8") as lines:
        for line in lines:
            cells = line.rstrip("\n").split("\t")
            if not line.strip():
                yield "\n"
            elif len(cells) > 1:
                yield "\t".join(word_and_tag(cells)) + "\n"


def renamed(tag: str) -> str:
    """Return a tag of WNUT-17 with the kinds of the others."""
    border, _, kind = tag.partition("-")
    return f"{border}-{KINDS[kind]}" if kind in KINDS else "O"


if __name__ == "__main__":
    main()
