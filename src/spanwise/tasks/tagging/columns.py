"""Files with one token per line and a blank line between sentences: CoNLL columns, CoNLL-U, and characters (KLUE-NER).

Source: CoNLL-2000 and CoNLL-2003; the CoNLL-U format of Universal Dependencies; Park et al. 2021 (KLUE).
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from spanwise.errors import DataError
from spanwise.tasks.tagging.spans import is_entity_tag

_ID = re.compile(r"[0-9]+([-.][0-9]+)?")
CONLLU = {"form": 1, "lemma": 2, "upos": 3, "xpos": 4, "deprel": 7}


@dataclass(frozen=True, slots=True)
class Line:
    """One token: its columns, and its line in the file."""

    cells: list[str]
    number: int


Block = list[Line]  # the tokens of one sentence


def blocks_of(lines: Sequence[str], *, tabs: bool) -> tuple[list[Block], int]:
    """Sentences as blocks of columns, and how many columns a token has (the usual number of the file).

    A line that begins with "#" and has another number of columns is a comment, and so is one that begins with "## " in
    a file of tabs, as KLUE writes them with as many; `-DOCSTART-` is left out.
    """
    cut = [line.split("\t") if tabs else line.split() for line in lines]
    usual = Counter(len(cells) for cells, line in zip(cut, lines, strict=True) if line.strip() and line[0] != "#")
    width = usual.most_common(1)[0][0] if usual else 0
    blocks: list[Block] = []
    tokens: list[Line] = []
    for number, (line, cells) in enumerate(zip(lines, cut, strict=True), 1):
        is_comment = line.startswith("#") and (len(cells) != width or (tabs and line.startswith("## ")))
        if line.strip() and not is_comment:
            if cells[0] != "-DOCSTART-":
                tokens.append(Line(cells, number))
        elif not line.strip("\t ") and tokens:
            blocks.append(tokens)
            tokens = []
    if tokens:
        blocks.append(tokens)
    return blocks, width


def holds_characters(blocks: Sequence[Block], *, is_told: bool = False) -> bool:
    """Return whether every token is one character, and blanks are among them or it was told (is_told)."""
    tokens = [line.cells[0] for block in blocks for line in block]
    return all(len(token) == 1 for token in tokens) and (is_told or any(token.isspace() for token in tokens))


def holds_text(lines: Sequence[str], *, is_named_so: bool) -> bool:
    """Return whether lines are texts rather than columns: without tabs, most of several words, at most half of them
    with a tag at the end, and unless the name of the file says it (is_named_so) not all of the same number of words."""
    rows = [line.split() for line in lines if line.strip()]
    several = sum(len(row) > 1 for row in rows)
    tagged = sum(len(row) > 1 and is_entity_tag(row[-1]) for row in rows)
    if not is_named_so and len({len(row) for row in rows}) < 2:
        return False
    return 2 * several > len(rows) and 2 * tagged <= len(rows) and not any("\t" in line for line in lines)


def is_conllu(blocks: Sequence[Block], width: int) -> bool:
    return width == 10 and all(line.cells[0].split("-")[0].split(".")[0].isdigit() for line in blocks[0])


def find_columns(blocks: Sequence[Block], width: int) -> tuple[int, int]:
    """Return the columns of words (first, or behind numbers) and of tags (the last of entity tags, else the last)."""
    sample = [line.cells for block in blocks for line in block if len(line.cells) == width]
    numbered = all(cells[0].isdigit() for cells in sample) and any(cells[0] == "2" for cells in sample)
    word = 1 if numbered and width > 2 else 0
    for column in reversed(range(word + 1, width)):
        tags = {cells[column] for cells in sample}
        if all(is_entity_tag(tag) for tag in tags):
            return word, column
    return word, width - 1


def without_language(words: list[list[str]]) -> list[list[str]]:
    """WikiANN writes `en:` before each word: a prefix that all words of a file share is dropped."""
    first = next((word for sentence in words for word in sentence), "")
    prefix = first[: first.find(":") + 1]
    shared = 2 < len(prefix) < 13 and prefix[:-1].replace("-", "").isalpha() and prefix.islower()
    if not shared or not all(word.startswith(prefix) for sentence in words for word in sentence):
        return words
    return [[word.removeprefix(prefix) for word in sentence] for sentence in words]


def conllu_words(block: Block, column: int, source: str) -> tuple[list[str], list[str], list[bool]]:
    """Words, tags, and whether a blank follows each. Empty nodes are left out; of a contraction the parts are read."""
    words, tags, blanks = [], [], []
    inside_until, blank_behind = -1, True
    for line in block:
        cells = line.cells
        if len(cells) != 10:
            raise DataError(f"{source}, line {line.number}: {len(cells)} columns; CoNLL-U has 10, parted by tabs.")
        if not _ID.fullmatch(cells[0]):
            raise DataError(f"{source}, line {line.number}: {cells[0]!r} is no number of a word (1, 1-2 or 1.1).")
        has_blank = "SpaceAfter=No" not in cells[9].split("|")
        if "." in cells[0]:
            continue
        if "-" in cells[0]:
            inside_until, blank_behind = int(cells[0].split("-")[1]), has_blank
            continue
        number = int(cells[0])
        words.append(cells[1])
        tags.append(cells[column])
        blanks.append(has_blank if number > inside_until else number == inside_until and blank_behind)
    return words, tags, blanks
