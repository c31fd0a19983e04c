"""The parts of a Korean clause that may change places: each ends in a particle or is an adverb; the verb is last.

What stands before a verb that links or modifies (갔고, 태어난) may belong to that verb, so all of it is one part.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from spanwise.questions.korean.words import CONNECTIVES
from spanwise.questions.parts import word_set
from spanwise.text.morphemes import Morpheme

Role = Literal["topic", "subject", "object", "adverbial", "block"]
_ROLES: dict[str, Role] = {"JKS": "subject", "JKC": "object", "JKO": "object", "JKB": "adverbial"}
_ROLES |= {"JX": "adverbial", "MAG": "adverbial", "MAJ": "adverbial"}
_WORD = re.compile(r"\S+(?:\s?[(（][^()（）]*[)）]\S*)?")
_MARKS = frozenset({"SP", "SF", "SS", "SSO", "SSC", "SE", "SO", "SW"})
_LIKE_PARTICLES = word_set("위하 통하 의하 대하 따르 인하 관하 비하 더불")  # 을 위해, 에 의해
_WITH_ONE = word_set("없이 같이 함께 달리")  # …과 함께
_SHORT = word_set("어 아 어서 아서 자")  # 졸업하여; behind other verbs they may link two verbs of one clause
_TIMES = ("년", "월", "일")


@dataclass(frozen=True, slots=True)
class Chunk:
    """Characters `start` to `end` of a sentence; its particle, of which the last morpheme is part, begins at `stem`."""

    start: int
    end: int
    role: Role
    stem: int


@dataclass(frozen=True, slots=True)
class Clause:
    """The parts of a clause; words without a particle stand from `tail` on."""

    chunks: tuple[Chunk, ...]
    tail: int


def parts_of(text: str, morphemes: Sequence[Morpheme], begin: int, last: int) -> Clause | None:
    """Return the parts of the clause from character `begin` to the ending that is morpheme `last`; None where its
    predicate is no plain verb, as in 한 것으로 보인다."""
    inner = [morpheme for morpheme in morphemes[: last + 1] if morpheme.start >= begin]
    words = list(_words_of(text, inner, begin, morphemes[last].end))
    if not words:
        return None
    first = len(words) - 1
    while first > 0 and words[first][2][0].tag in ("VX", "NNB"):
        first -= 1
    if any(
        m.tag == "NNB" and m.form in ("것", "수", "바", "뿐", "때문", "중")
        for *_, found in words[first:]
        for m in found
    ):
        return None
    chunks: list[Chunk] = []
    open_at: int | None = None
    for place, (start, end, found) in enumerate(words[:first]):
        open_at = start if open_at is None else open_at
        role, stem = _role(text, found, end)
        tag = found[-1].tag
        if found[0].form in _LIKE_PARTICLES or found[-1].form in _WITH_ONE:
            if chunks and open_at == start:
                open_at = chunks.pop().start
        elif tag == "ETM" or any(morpheme.tag == "ETN" for morpheme in found):
            open_at = _taken(text, chunks, open_at, keep_time=True)
        elif tag == "EC":
            open_at = _taken(text, chunks, open_at, keep_time=False)
            role = None if words[place + 1][2][0].tag == "VX" else role
        if role is not None:
            chunks.append(Chunk(open_at, end, role, stem))
            open_at = None
    return Clause(tuple(chunks), words[first][0] if open_at is None else open_at)


def borders_of(text: str, morphemes: Sequence[Morpheme]) -> list[int]:
    """Return the morphemes that end a clause: final endings, and those that link it to the next one."""
    found = []
    for place, morpheme in enumerate(morphemes):
        if morpheme.tag == "EF":
            found.append(place)
        elif morpheme.tag == "EC" and place and morphemes[place - 1].form not in _LIKE_PARTICLES:
            behind = text[morpheme.end : morpheme.end + 1]
            is_quality = morphemes[place - 1].tag in ("VA", "XSA")  # 크고 넓은 is one
            links = morpheme.form in CONNECTIVES and (behind == "," or (behind == " " and not is_quality))
            links |= morpheme.form in _SHORT and (
                behind == "," or (behind == " " and morphemes[place - 1].tag == "XSV")
            )
            if links and not (place + 1 < len(morphemes) and morphemes[place + 1].tag == "VX"):
                found.append(place)
    return found


def _words_of(
    text: str, morphemes: Sequence[Morpheme], begin: int, end: int
) -> Iterator[tuple[int, int, list[Morpheme]]]:
    """Give the words from `begin` to `end` with their morphemes, marks left out; a bracket belongs to its word."""
    place = 0
    for match in _WORD.finditer(text, begin, end):
        found = []
        while place < len(morphemes) and morphemes[place].start < match.end():
            if morphemes[place].tag not in _MARKS:
                found.append(morphemes[place])
            place += 1
        if found:
            yield match.start(), match.end(), found


def _role(text: str, found: Sequence[Morpheme], end: int) -> tuple[Role | None, int]:
    """Return what a word ends, None where the next word goes on with it, and where its particles begin."""
    last = found[-1]
    stem = len(found)
    while stem > 1 and found[stem - 1].tag in ("JX", "JKB", "JKS", "JKO", "JKC"):
        stem -= 1
    begins = found[stem].start if stem < len(found) else end
    if found[0].form in _LIKE_PARTICLES and last.tag == "JX":
        return "adverbial", end
    if last.tag == "EC":
        return ("adverbial" if found[0].form in _LIKE_PARTICLES else "block"), end
    if last.tag == "JX" and last.form in ("은", "는", "ᆫ"):
        return "topic", begins
    if last.tag == "NNB" and last.form in _TIMES:
        return ("adverbial" if text[end - 1] == "," or last.form == "일" else None), end
    return _ROLES.get(last.tag), begins


def _taken(text: str, chunks: list[Chunk], open_at: int, *, keep_time: bool) -> int:
    """Take back the parts that may belong to a verb, and return where the first begins; a topic in front stays, and a
    time behind it if `keep_time`."""
    while chunks:
        is_first = len(chunks) == 1 or (len(chunks) == 2 and chunks[0].role == "topic")
        is_time = text[chunks[-1].start : chunks[-1].stem].rstrip(",").endswith(_TIMES)
        if (len(chunks) == 1 and chunks[0].role == "topic") or (is_first and is_time and keep_time):
            break
        open_at = chunks.pop().start
    return open_at
