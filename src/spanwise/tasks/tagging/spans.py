"""Tags and the spans they stand for: IOB1, IOB2, IOBES and BILOU.

Source: Tjong Kim Sang and De Meulder 2003 (CoNLL-2003) and the behaviour of its scorer `conlleval`: any tag sequence
stands for spans, also one that breaks its scheme (a span begins where the type changes, or where I follows O).
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

OUTSIDE = "O"
Scheme = Literal["IOB2", "IOBES"]
_TAG = re.compile(r"([BIESLUM])-(.+)", re.S)
_SAME = {"L": "E", "U": "S", "M": "I"}  # BILOU and BMES in the letters of IOBES


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """Units `[first, last)` of one type: words, characters or pieces, as the context has it."""

    first: int
    last: int
    label: str


def is_entity_tag(tag: str) -> bool:
    return tag == OUTSIDE or _TAG.fullmatch(tag) is not None


def spans_of(tags: Sequence[str]) -> list[Span]:
    """The spans that the tags of one sentence stand for, in order."""
    found: list[Span] = []
    first, label, before = -1, "", OUTSIDE
    for place, tag in enumerate([*tags, OUTSIDE]):
        match = _TAG.fullmatch(tag)
        kind, name = (match[1], match[2]) if match else (OUTSIDE, "")
        kind = _SAME.get(kind, kind)
        goes_on = kind in ("I", "E") and before in ("B", "I") and name == label
        if first >= 0 and not goes_on:
            found.append(Span(first, place, label))
            first = -1
        if kind != OUTSIDE and not goes_on:
            first, label = place, name
        before = kind
    return found


def tags_of(spans: Iterable[Span], num_units: int, scheme: Scheme = "IOB2") -> list[str]:
    """The tags of disjoint spans."""
    tags = [OUTSIDE] * num_units
    for span in spans:
        tags[span.first] = f"B-{span.label}"
        for place in range(span.first + 1, span.last):
            tags[place] = f"I-{span.label}"
        if scheme == "IOBES":
            tags[span.last - 1] = f"{'S' if span.last - span.first == 1 else 'E'}-{span.label}"
    return tags


def tag_names(types: Iterable[str], scheme: Scheme = "IOB2") -> tuple[str, ...]:
    """All tags of some types: "O" first, then those of each type."""
    letters = "BI" if scheme == "IOB2" else "BIES"
    return (OUTSIDE, *(f"{letter}-{name}" for name in sorted(set(types)) for letter in letters))
