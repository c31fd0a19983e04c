"""One HTML page that works offline: blocks of content in, a string out. Every text is escaped by the template."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any, Literal

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

from spanwise.reporting.spans import Run

Tone = Literal["", "good", "muted", "bad"]
Language = Literal["en", "ko"]
LABELS = {
    "en": {"contents": "Contents", "made_by": "Made by spanwise", "copy": "Copy", "copied": "Copied", "boundary": "±"},
    "ko": {"contents": "차례", "made_by": "spanwise로 만듦", "copy": "복사", "copied": "복사됨", "boundary": "±"},
}


@dataclass(frozen=True, kw_only=True)
class Tile:
    """A headline number."""

    label: str
    value: str
    note: str = ""
    tone: Tone = ""


@dataclass(frozen=True, kw_only=True)
class Tiles:
    tiles: Sequence[Tile]
    kind: str = field(default="tiles", init=False)


@dataclass(frozen=True, kw_only=True)
class Prose:
    """Paragraphs of plain text."""

    paragraphs: Sequence[str]
    kind: str = field(default="prose", init=False)


@dataclass(frozen=True, kw_only=True)
class Cell:
    text: str
    note: str = ""  # a standard error or an interval, in small letters
    tone: Tone = ""
    strong: bool = False


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table whose rows become cards on a phone; the first cell of a row is its heading."""

    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    note: str = ""
    kind: str = field(default="table", init=False)


@dataclass(frozen=True, kw_only=True)
class Bar:
    """One bar; `low` and `high` are the ends of its whisker, all in per cent of the width."""

    label: str
    percent: float
    text: str
    tone: str = "ours"
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, kw_only=True)
class BarGroup:
    label: str
    bars: Sequence[Bar]
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class Bars:
    """Groups of horizontal bars with one legend."""

    title: str
    groups: Sequence[BarGroup]
    legend: Sequence[tuple[str, str]] = ()  # (label, tone)
    note: str = ""
    kind: str = field(default="bars", init=False)


@dataclass(frozen=True, kw_only=True)
class MaskedText:
    """A paragraph with its spans in colour."""

    title: str
    runs: Sequence[Run]
    note: str = ""
    legend: Sequence[tuple[str, str]] = ()  # (how it is shown, words)
    kind: str = field(default="masked_text", init=False)


@dataclass(frozen=True, kw_only=True)
class Highlight:
    """A question with its answer marked in the text; the parts are cut by the caller."""

    question: str
    before: str
    answer: str
    after: str
    facts: Sequence[str] = ()
    tone: Tone = ""
    kind: str = field(default="highlight", init=False)


@dataclass(frozen=True, kw_only=True)
class Commands:
    """Lines to copy, each with what it does."""

    lines: Sequence[tuple[str, str]]  # (command, words)
    kind: str = field(default="commands", init=False)


@dataclass(frozen=True, kw_only=True)
class Section:
    """A heading with its blocks; `None` among the blocks is left out."""

    key: str  # the anchor
    title: str
    blocks: Sequence[Any]
    lead: str = ""


@dataclass(frozen=True, kw_only=True)
class Page:
    title: str
    subtitle: str
    sections: Sequence[Section]
    language: Language = "en"
    footer: str = ""


@cache
def environment() -> Environment:
    return Environment(
        loader=PackageLoader("spanwise.reporting", "templates"),
        autoescape=select_autoescape(default=True, default_for_string=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def render(page: Page) -> str:
    """The page as one HTML string with style and script inside: no other file, no network."""
    folder = files("spanwise.reporting").joinpath("templates")
    kept = [
        Section(key=s.key, title=s.title, lead=s.lead, blocks=[b for b in s.blocks if b is not None])
        for s in page.sections
    ]
    return (
        environment()
        .get_template("page.html.j2")
        .render(
            page=page,
            sections=[section for section in kept if section.blocks],
            labels=LABELS[page.language],
            style=folder.joinpath("style.css").read_text(encoding="utf-8"),
            script=folder.joinpath("script.js").read_text(encoding="utf-8"),
        )
    )
