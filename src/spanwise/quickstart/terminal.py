"""What the quickstart shows while it works: headings, the paragraph in colour, the measures, an answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.panel import Panel
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from spanwise.quickstart.page import COLUMNS, number, signed
from spanwise.reporting.spans import Piece, highlight_answer, terminal_text

SHORT = {
    "unigram": "unigram",
    "bigram": "bigram",
    "control": "random",
    "init": "as it came",
    "trained": "trained",
    "shipped": "shipped",
    "mlm_loss": "MLM loss",
    "sbo_loss": "SBO loss",
    "mlm_accuracy": "MLM right %",
    "sbo_accuracy": "SBO right %",
    "mlm_edge_accuracy": "MLM right %, edge",
    "sbo_edge_accuracy": "SBO right %, edge",
    "exact": "exact match",
    "f1": "F1",
    "filled_mlm": "MLM",
    "filled_sbo": "SBO",
    "filled_both": "both",
    "filled_control": "random weights",
}
VERDICT_STYLES = {"above control": "green", "not above control": "dim", "below control": "red"}


class Terminal:
    """Writes to one rich console; the words are English, as everywhere on the command line."""

    def __init__(self, console: Console) -> None:
        self.console = console

    def heading(self, number: int, title: str, seconds: float | None = None) -> None:
        text = Text(f"{number}. {title}", style="bold")
        if seconds is not None:
            text.append(f"  about {seconds:.0f} s", style="dim")
        self.console.print()
        self.console.print(Rule(text, align="left", style="dim"))

    def say(self, text: str) -> None:
        self.console.print(text, markup=False, highlight=False)

    def paragraph(self, pieces: Sequence[Piece], note: str) -> None:
        self.console.print(Panel(terminal_text(pieces), subtitle=Text(note, style="dim"), border_style="dim"))

    def measures(self, measures: Sequence[dict[str, Any]]) -> None:
        """A table with the control beside every number."""
        columns = [name for name in COLUMNS if any(name in measure["values"] for measure in measures)]
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
        table.add_column("", no_wrap=True)
        for name in columns:
            table.add_column(SHORT[name], justify="right", style="bold" if name == "trained" else "", no_wrap=True)
        table.add_column("over random weights")
        for measure in measures:
            digits = 2 if measure["better"] == "lower" else 1
            row = [SHORT[measure["key"]]]
            for name in columns:
                value = measure["values"].get(name, {"value": None, "se": None})
                error = f" ± {number(value['se'], digits)}" if name == "trained" else ""
                row.append(number(value["value"], digits) + error)
            gain = measure["against_control"]
            words = f"[{signed(gain['low'], digits)}, {signed(gain['high'], digits)}]"
            if gain["verdict"] != "above control":
                words = gain["verdict"]
            table.add_row(*row, Text(words, style=VERDICT_STYLES[gain["verdict"]]))
        self.console.print(table)

    def filled(self, filled: dict[str, Any]) -> None:
        """The gaps of one sentence, and the first guesses for each; right ones in green."""
        if not filled:
            return
        ways = [way for way in ("mlm", "sbo", "both", "control") if way in filled["places"][0]["guesses"]]
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
        table.add_column("hidden", style="bold")
        for way in ways:
            table.add_column(SHORT[f"filled_{way}"])
        for place in filled["places"]:
            cells = []
            for way in ways:
                text = Text()
                for token, _ in place["guesses"][way]:
                    text.append(f"{token} ", style="bold green" if token == place["truth"] else "")
                cells.append(text)
            table.add_row(Text(place["truth"]), *cells)
        self.console.print(table)

    def answer(self, answer: dict[str, Any]) -> None:
        """A question and its text with the answer marked."""
        first, last = excerpt(answer["context"], answer["start"], answer["end"])
        text = highlight_answer(answer["context"][first:last], answer["start"] - first, answer["end"] - first)
        expected = f"expected: {' / '.join(answer['gold'])}" if answer["gold"] else ""
        self.console.print(
            Panel(
                text,
                title=Text(answer["question"], style="bold"),
                title_align="left",
                subtitle=Text(expected, style="dim"),
                border_style="dim",
            )
        )

    def commands(self, commands: Sequence[Sequence[str]]) -> None:
        self.console.print()
        self.console.print("Next:", style="bold")
        for command, words in commands:
            self.console.print(f"  {words}", style="dim", markup=False, highlight=False)
            self.console.print(f"    {command}", markup=False, highlight=False, soft_wrap=True)


def excerpt(context: str, start: int, end: int, margin: int = 280) -> tuple[int, int]:
    """Where to cut a long context around characters start..end, at spaces: half-open."""
    first, last = max(0, start - margin), min(len(context), end + margin)
    first = 0 if first == 0 else max(0, context.find(" ", first, start) + 1)
    cut = len(context) if last == len(context) else context.rfind(" ", end, last)
    return first, cut if cut > end else last
