"""The output of the quickstart while it works: headings, the paragraph in colour, the measures, an answer."""

from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.panel import Panel
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from spanwise.pretraining.comparison import Measure
from spanwise.quickstart.page import COLUMNS
from spanwise.quickstart.record import AnswerRecord, FilledRecord
from spanwise.reporting.page import number, signed
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
    "mlm_spans": "whole spans right %",
    "exact": "exact match",
    "f1": "F1",
    "filled_mlm": "MLM",
    "filled_sbo": "SBO",
    "filled_both": "both",
    "filled_control": "random weights",
    "filled_before": "before",
    "filled_after": "after",
    "lexical": "by words",
}
VERDICT_STYLES = {"above": "green", "not": "dim", "below": "red"}


class Terminal:
    """Writes to one rich console; the words are English, as everywhere on the command line."""

    def __init__(self, console: Console) -> None:
        self.console = console

    def heading(self, number: int, title: str, seconds: float | None = None) -> None:
        """Begin a stage."""
        text = Text(f"{number}. {title}", style="bold")
        if seconds is not None:
            text.append(f"  about {seconds:.0f} s", style="dim")
        self.console.print()
        self.console.print(Rule(text, align="left", style="dim"))

    def say(self, text: str) -> None:
        """Print a line as it is."""
        self.console.print(text, markup=False, highlight=False)

    def paragraph(self, pieces: Sequence[Piece], note: str) -> None:
        """Show a text with its spans in colour."""
        self.console.print(Panel(terminal_text(pieces), subtitle=Text(note, style="dim"), border_style="dim"))

    def measures(
        self, measures: Sequence[Measure], *, over: str = "control", called: Mapping[str, str] | None = None
    ) -> None:
        """Show a table with the control beside every number, and the gain over one column; `called` renames columns."""
        names = {**SHORT, **(called or {})}
        columns = [name for name in COLUMNS if any(name in measure.values for measure in measures)]
        table = _table()
        table.add_column("", no_wrap=True)
        for name in columns:
            table.add_column(names[name], justify="right", style="bold" if name == "trained" else "", no_wrap=True)
        table.add_column("over random weights" if over == "control" else f"over {names[over]}")
        for measure in measures:
            digits = 2 if measure.better == "lower" else 1
            cells = []
            for name in columns:
                mean = measure.values.get(name)
                error = f" ± {number(mean.se, digits)}" if mean and name == "trained" else ""
                cells.append(number(mean.value if mean else None, digits) + error)
            gain = measure.gains.get(over)
            verdict = gain.verdict.replace(over, names[over] if over != "control" else over) if gain else ""
            interval = f"[{signed(gain.low, digits)}, {signed(gain.high, digits)}]" if gain else ""
            shown = interval if verdict.startswith("above") else verdict
            style = VERDICT_STYLES.get(verdict.split(" ")[0], "")
            table.add_row(SHORT[measure.key], *cells, Text(shown, style=style))
        self.console.print(table)

    def filled(self, filled: FilledRecord) -> None:
        """Show the gaps of one sentence, and the first guesses for each; right ones in green."""
        table = _table()
        table.add_column("hidden", style="bold")
        for way in filled.ways:
            table.add_column(SHORT[f"filled_{way}"])
        for place in filled.places:
            cells = [
                Text.assemble(*((f"{token} ", "bold green" if token == place.truth else "") for token, _ in guesses))
                for guesses in (place.guesses[way] for way in filled.ways)
            ]
            table.add_row(Text(place.truth), *cells)
        self.console.print(table)

    def answer(self, answer: AnswerRecord, before: AnswerRecord | None = None) -> None:
        """Show a question and its text with the answer marked, and what was answered before."""
        first, last = excerpt(answer.context, answer.start, answer.end)
        text = highlight_answer(answer.context[first:last], answer.start - first, answer.end - first)
        notes = [f"expected: {' / '.join(answer.gold)}"] if answer.gold else []
        notes += [f"before: {before.answer}"] if before else []
        expected = Text(" · ".join(notes), style="dim")
        title = Text(answer.question, style="bold")
        self.console.print(Panel(text, title=title, title_align="left", subtitle=expected, border_style="dim"))

    def commands(self, commands: Sequence[tuple[str, str]]) -> None:
        """Show what to try next."""
        self.console.print()
        self.console.print("Next:", style="bold")
        for command, words in commands:
            self.console.print(f"  {words}", style="dim", markup=False, highlight=False)
            self.console.print(f"    {command}", markup=False, highlight=False, soft_wrap=True)


def _table() -> Table:
    return Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")


def excerpt(context: str, start: int, end: int, margin: int = 280) -> tuple[int, int]:
    """Return where to cut a long context around characters start..end, at spaces: half-open."""
    first, last = max(0, start - margin), min(len(context), end + margin)
    first = 0 if first == 0 else max(0, context.find(" ", first, start) + 1)
    cut = len(context) if last == len(context) else context.rfind(" ", end, last)
    return first, cut if cut > end else last
