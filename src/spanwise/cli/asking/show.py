"""Answers as people read them: the sentence with the answer marked, and where it stands."""

from typing import TYPE_CHECKING

from rich.text import Text

from spanwise.cli.console import standard_output

if TYPE_CHECKING:
    from spanwise.asking.ask import Asked, FoundAnswer

NOTHING = "Nothing found that answers this."
MARK = "bold black on bright_green"


def show_asked(asked: "Asked") -> None:
    """Print a question with its answers. In a pipe, where there are no colours, the answer stands in >> and <<."""
    console = standard_output()
    console.print(Text(asked.question, style="bold"))
    if not asked.answers:
        console.print(Text(f"  {NOTHING}", style="dim"))
    for answer in asked.answers:
        line = Text("  ").append(_one_line(answer.answer), style="bold green")
        console.print(line.append(f"  {answer.score:.2f}  {place_of(answer)}", style="dim"))
        console.print(Text("    ").append_text(_marked(answer, is_plain=not console.is_terminal)))


def place_of(answer: "FoundAnswer") -> str:
    """Return where an answer stands, as editors take it: file:line, with the page where there is one."""
    return f"{answer.file}:{answer.line}" + (f" (page {answer.page})" if answer.page else "")


def _marked(answer: "FoundAnswer", *, is_plain: bool) -> Text:
    before, after = answer.sentence[: answer.start], answer.sentence[answer.end :]
    marked = f">>{answer.answer}<<" if is_plain else answer.answer
    return Text.assemble(_one_line(before), (_one_line(marked), MARK), _one_line(after))


def _one_line(text: str) -> str:
    """Return a text on one line, without characters that steer a terminal."""
    return "".join(c if c.isprintable() else " " for c in text)
