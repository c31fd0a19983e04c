"""The tables, sentences and commands of a page as Markdown; of a chart, a few points of every line."""

from collections.abc import Sequence

from spanwise.reporting.curves import Chart
from spanwise.reporting.page import Block, Commands, Page, Prose, Table


def markdown(page: Page) -> str:
    """Return the page as Markdown; blocks that are pictures only are left out."""
    lines = [f"# {page.title}", "", page.subtitle]
    for section in page.sections:
        shown = [line for block in section.shown for line in _block(block)]
        lines += ["", f"## {section.title}", *shown] if shown else []
    return "\n".join(lines) + "\n"


def _block(block: Block) -> list[str]:
    if isinstance(block, Table):
        rows = [[cell.plain for cell in cells] for cells in block.rows]
        return _table(block.title, block.columns, rows, block.note)
    if isinstance(block, Chart):
        rows = [[line.label, line.samples] for line in block.lines]
        return _table(block.title, ["line", f"{block.x_label}: {block.y_label}"], rows, block.note)
    if isinstance(block, Prose):
        return ["", *(f"- {paragraph}" for paragraph in block.paragraphs)]
    if isinstance(block, Commands):
        return [line for command, words in block.lines for line in ("", words, "", "```bash", command, "```")]
    return []


def _table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], note: str) -> list[str]:
    heading = ["", f"### {title}"] if title else []
    return [*heading, "", _row(columns), _row(["---"] * len(columns)), *map(_row, rows), *(["", note] if note else [])]


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"
