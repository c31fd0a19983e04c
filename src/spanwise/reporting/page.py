"""One HTML page that works offline: blocks of content in, a string out. Every text is escaped by the template."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Literal

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

from spanwise.reporting.curves import Chart
from spanwise.reporting.mask_picture import MaskPicture
from spanwise.reporting.spans import Run

Tone = Literal["", "good", "muted", "bad"]
Language = Literal["en", "ko"]
TONES = ("ours", "boundary", "init", "unigram", "bigram", "control")  # of things of one kind, in order and around
NOTHING = "–"
LABELS = {
    "en": {"contents": "Contents", "made_by": "Made by spanwise", "copy": "Copy", "copied": "Copied"},
    "ko": {"contents": "차례", "made_by": "spanwise로 만듦", "copy": "복사", "copied": "복사됨"},
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
    """Headline numbers side by side."""

    tiles: Sequence[Tile]


@dataclass(frozen=True, kw_only=True)
class Prose:
    """Paragraphs of plain text."""

    paragraphs: Sequence[str]


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One cell of a table."""

    text: str
    note: str = ""  # a standard error or an interval, in small letters
    tone: Tone = ""
    strong: bool = False

    @property
    def plain(self) -> str:
        """The text and the note in one line."""
        return f"{self.text} {self.note}".rstrip()


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table whose rows become cards on a phone; the first cell of a row is its heading."""

    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    note: str = ""
    title: str = ""  # where the heading of the section is not enough


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
    """Bars under one label."""

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


@dataclass(frozen=True, kw_only=True)
class MaskedText:
    """A paragraph with its spans in colour."""

    title: str
    runs: Sequence[Run]
    note: str = ""
    legend: Sequence[tuple[str, str]] = ()  # (how it is shown, words)


@dataclass(frozen=True, kw_only=True)
class Highlight:
    """A question with its answer marked in the text; the parts are cut by the caller."""

    question: str
    before: str
    answer: str
    after: str
    facts: Sequence[str] = ()
    tone: Tone = ""


@dataclass(frozen=True, kw_only=True)
class Commands:
    """Lines to copy, each with what it does."""

    lines: Sequence[tuple[str, str]]  # (command, words)


Block = Tiles | Prose | Table | Chart | Bars | MaskedText | MaskPicture | Highlight | Commands


@dataclass(frozen=True, kw_only=True)
class Section:
    """A heading with its blocks; `None` among the blocks, and a table without rows, are left out."""

    key: str  # the anchor
    title: str
    blocks: Sequence[Block | None]
    lead: str = ""

    @property
    def shown(self) -> list[Block]:
        """The blocks that have something to show."""
        return [block for block in self.blocks if block and not (isinstance(block, Table) and not block.rows)]


@dataclass(frozen=True, kw_only=True)
class Page:
    """A report: sections one below the other."""

    title: str
    subtitle: str
    sections: Sequence[Section]
    language: Language = "en"
    footer: str = ""


@cache
def environment() -> Environment:
    """Return the template engine; blocks are drawn by the macro that is named like their class."""
    made = Environment(
        loader=PackageLoader("spanwise.reporting", "templates"),
        autoescape=select_autoescape(default=True, default_for_string=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["kind"] = lambda block: type(block).__name__
    return made


def render(page: Page) -> str:
    """Return the page as one HTML string with style and script inside: no other file, no network."""
    folder = files("spanwise.reporting").joinpath("templates")
    return (
        environment()
        .get_template("page.html.j2")
        .render(
            page=page,
            sections=[section for section in page.sections if section.shown],
            labels=LABELS[page.language],
            style=folder.joinpath("style.css").read_text(encoding="utf-8"),
            script=folder.joinpath("script.js").read_text(encoding="utf-8"),
        )
    )


def tone_of(index: int) -> str:
    """Return the tone of the nth thing of one kind."""
    return TONES[index % len(TONES)]


def number(value: float | None, digits: int) -> str:
    """Write a number with so many digits behind the point; a dash where there is none."""
    return NOTHING if value is None or not math.isfinite(value) else f"{value:,.{digits}f}"


def signed(value: float | None, digits: int) -> str:
    """Write a number with its sign; a dash where there is none."""
    return NOTHING if value is None or not math.isfinite(value) else f"{value:+.{digits}f}".replace("-", "−")


def row(heading: str, *cells: Cell | str, tone: Tone = "") -> list[Cell]:
    """Return a row of a table: a bold heading, then cells; `tone` is that of the last, where it is plain text."""
    last = len(cells) - 1
    drawn = [
        Cell(text=cell, tone=tone if place == last else "") if isinstance(cell, str) else cell
        for place, cell in enumerate(cells)
    ]
    return [Cell(text=heading, strong=True), *drawn]
