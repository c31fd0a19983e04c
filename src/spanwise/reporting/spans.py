"""A masked text as pieces with colours: one list that the terminal and the page both draw.

Letters: n tokens of one sequence.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from rich.text import Text

Shown = Literal["visible", "mask", "random", "unchanged", "question", "answer"]
NUM_COLOURS = 6
TERMINAL_COLOURS = ("bright_blue", "bright_magenta", "bright_green", "yellow", "cyan", "bright_red")


@dataclass(frozen=True, kw_only=True)
class Piece:
    """One token as it is shown."""

    text: str  # without the mark of continuation pieces
    glued: bool = False  # no blank is before it: inside a word, or a morpheme behind its stem
    span: int | None = None  # number of its span in this text, counted from 0
    shown: Shown = "visible"  # what the model sees there
    seen: str = ""  # the token the model sees, where it is another one
    group: int | None = None  # number of the group that its span belongs to: questions and their answer

    @property
    def colour(self) -> int:
        """The number of its colour: that of its group, else of its span."""
        return 0 if self.span is None else (self.span if self.group is None else self.group) % NUM_COLOURS


def make_pieces(
    tokens: Sequence[str],
    spans: Sequence[tuple[int, int]],
    seen: Sequence[str],
    mask_token: str = "[MASK]",
    question_token: str = "",
    groups: Sequence[int] = (),
    answers: Sequence[tuple[int, int]] = (),
) -> list[Piece]:
    """Return the pieces of n original tokens, as `Tokenizer.readable` writes them: `##x` where no blank is before it.

    `spans` are half-open ranges over them, `seen` [n] the tokens after replacement. `groups` are the numbers of the
    spans' groups (-1: none), `answers` the range of each group that stays visible; a span whose first token is seen as
    `question_token` is a question.
    """
    owner: dict[int, int] = {}
    for number, (start, end) in enumerate([*spans, *answers]):  # answers are numbered on
        owner.update(dict.fromkeys(range(start, end), number))
    pieces = []
    for index, token in enumerate(tokens):
        shown: Shown = "visible"
        group = None
        if index in owner:
            number = owner[index]
            shown = "mask" if seen[index] == mask_token else "unchanged" if seen[index] == token else "random"
            if number >= len(spans):
                shown, group = "answer", number - len(spans)
            else:
                group = groups[number] if groups and groups[number] >= 0 else None
                shown = "question" if question_token and seen[spans[number][0]] == question_token else shown
        pieces.append(
            Piece(
                text=plain(token),
                glued=is_glued(token),
                span=owner.get(index),
                shown=shown,
                seen=seen[index] if shown in ("random", "question") else "",
                group=group,
            )
        )
    return pieces


def is_glued(token: str) -> bool:
    """Return whether a token is marked as standing without a blank before it."""
    return len(token) > 2 and token.startswith("##")


def plain(token: str) -> str:
    """Return a token without that mark."""
    return token[2:] if is_glued(token) else token


def space_before(previous: str, piece: Piece) -> bool:
    """Return whether a reader expects a space: none inside words, before closing or after opening punctuation."""
    if piece.glued or not previous:
        return False
    return piece.text[0] not in ".,;:!?)]}%’'" and previous[-1] not in "([{$£€‘'"


@dataclass(frozen=True, kw_only=True)
class Run:
    """Neighbouring pieces of one span (or of none) as one stretch of text."""

    text: str
    space: bool  # a space before it
    span: int | None = None
    colour: int = 0
    shown: Shown = "visible"
    seen: str = ""
    group: int | None = None


def join_pieces(pieces: Sequence[Piece]) -> list[Run]:
    """Join pieces to readable stretches, one for each span and for each visible part between spans."""
    runs: list[Run] = []
    previous: Piece | None = None
    for piece in pieces:
        space = space_before(previous.text if previous else "", piece)
        if previous is not None and previous.span == piece.span:
            last = runs[-1]
            runs[-1] = Run(
                text=last.text + (" " if space else "") + piece.text,
                space=last.space,
                span=last.span,
                colour=last.colour,
                shown=last.shown if last.shown == piece.shown else "random",
                seen=(last.seen + (" " if space else "") + plain(piece.seen)).strip(),
                group=last.group,
            )
        else:
            runs.append(
                Run(
                    text=piece.text,
                    space=space,
                    span=piece.span,
                    colour=piece.colour,
                    shown=piece.shown,
                    seen=plain(piece.seen),
                    group=piece.group,
                )
            )
        previous = piece
    return runs


def terminal_text(pieces: Sequence[Piece]) -> Text:
    """Return the text with its spans in colour, for a rich console."""
    styles = {
        "mask": "bold reverse",
        "random": "bold underline",
        "unchanged": "bold",
        "question": "bold reverse",
        "answer": "underline",
    }
    text = Text()
    for run in join_pieces(pieces):
        text.append(" " if run.space else "")
        if run.span is None:
            text.append(run.text, style="default")
        else:
            mark = "?" if run.shown == "question" else ""
            text.append(run.text + mark, style=f"{styles[run.shown]} {TERMINAL_COLOURS[run.colour]}")
    return text


def highlight_answer(context: str, start: int, end: int) -> Text:
    """Return the context with the characters start..end (half-open) marked, for a rich console."""
    text = Text(context.rstrip())
    if 0 <= start < end:
        text.stylize("bold black on bright_yellow", start, end)
    return text
