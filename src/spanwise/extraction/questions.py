"""The questions that are put to every document: a text file of one a line, or JSON lines with names of their own."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from spanwise.errors import DataError
from spanwise.text.readers import read_json_lines, read_lines


@dataclass(frozen=True)
class Question:
    """A question, and the name that stands in the column `kind`; without one of its own, its text."""

    id: str
    text: str


def read_questions(path: Path) -> tuple[Question, ...]:
    """Read .jsonl with `question` and perhaps `id`, or any other file with a question on each line that is not blank.

    Raises: DataError naming the line of an entry without a question; for a name that comes twice, and an empty file.
    """
    found = _of_json(path) if path.suffix == ".jsonl" else _of_lines(path)
    if not found:
        raise DataError(f"{path} has no question; write one on each line.")
    names = [question.id for question in found]
    if twice := next((name for place, name in enumerate(names) if name in names[:place]), None):
        raise DataError(f"{path}: the question {twice!r} comes twice; name each once.")
    return tuple(found)


def _of_lines(path: Path) -> Sequence[Question]:
    lines = [line.text.strip() for line in read_lines(path)]
    return [Question(line, line) for line in lines if line]


def _of_json(path: Path) -> Sequence[Question]:
    found = []
    for number, entry in read_json_lines(path):
        text = entry.get("question") if isinstance(entry, dict) else None
        if not isinstance(text, str) or not text.strip():
            raise DataError(f'{path}, line {number}: {{"question": "..."}} was expected, got {str(entry)[:60]!r}.')
        assert isinstance(entry, dict)
        name = entry.get("id", text.strip())
        if not isinstance(name, str | int):
            raise DataError(
                f"{path}, line {number}: id is {str(name)[:60]}; a text or a number was expected, or no id."
            )
        found.append(Question(str(name), text.strip()))
    return found
