"""Files with one token per line and a blank line between sentences: CoNLL columns, CoNLL-U, and characters (KLUE-NER).

Source: CoNLL-2000 and CoNLL-2003; the CoNLL-U format of Universal Dependencies; Park et al. 2021 (KLUE).
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from spanwise.errors import DataError
from spanwise.tasks.tagging.spans import OUTSIDE, is_entity_tag

COLUMN_ENDINGS = (".conll", ".conllu", ".iob", ".iob2", ".bio", ".tsv")  # of files that are never texts
NEARLY_ALL = 0.9
_NAME_OF_CLASS = re.compile(r"[A-Z0-9$+|_./,:;'\"()`-]+")
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


def holds_text(lines: Sequence[str]) -> bool:
    """Return whether lines are texts rather than columns: of several words, and no column is one of tags.

    Columns have one width in nearly all rows; tags are those of entities, or names in capitals such as NNP and JKS.
    """
    rows = [line for line in lines if line.strip() and not line.startswith(("#", "-DOCSTART-"))]
    if any("\t" in row for row in rows):
        widths = {row.count("\t") for row in rows}
        return 0 in widths
    cells = [row.split() for row in rows]
    width = Counter(map(len, cells)).most_common(1)[0][0] if cells else 1
    if width == 1:
        return False
    alike = [row for row in cells if len(row) == width]
    if len(alike) < NEARLY_ALL * len(cells):
        return True
    return not any(_are_tags([row[column] for row in alike]) for column in range(1, width))


def _are_tags(cells: Sequence[str]) -> bool:
    is_tag = [is_entity_tag(cell) or _NAME_OF_CLASS.fullmatch(cell) is not None for cell in cells]
    in_capitals = sum(cell.isupper() or is_entity_tag(cell) for cell in cells)
    return len(cells) > 1 and sum(is_tag) >= NEARLY_ALL * len(cells) and 2 * in_capitals > len(cells)


def is_conllu(blocks: Sequence[Block], width: int) -> bool:
    return width == 10 and all(line.cells[0].split("-")[0].split(".")[0].isdigit() for line in blocks[0])


def find_columns(blocks: Sequence[Block], width: int) -> tuple[int, int]:
    """Return the columns of words (first, or behind numbers) and of tags (the last of entity tags, else the last)."""
    sample = [line.cells for block in blocks for line in block if len(line.cells) == width]
    numbered = all(cells[0].isdigit() for cells in sample) and any(cells[0] == "2" for cells in sample)
    word = 1 if numbered and width > 2 else 0
    for column in reversed(range(word + 1, width)):
        tags = [cells[column] for cells in sample]
        num_entity = sum(map(is_entity_tag, tags))
        is_mistyped = 2 * num_entity > len(tags) and any(tag != OUTSIDE and is_entity_tag(tag) for tag in tags)
        if num_entity == len(tags) or is_mistyped:  # the reader names the tag that is none
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
