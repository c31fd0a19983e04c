"""The task that a file looks like: named where another task can't read it, since a wrong path is a common mistake."""

import re
from collections.abc import Mapping
from pathlib import Path

from spanwise.config.user_files import is_reference
from spanwise.errors import DataError
from spanwise.runtime.json_text import decode_json
from spanwise.tasks.base import D, F, O, P, Task
from spanwise.tasks.files.text import OnError, Purpose, read_text

_HEADERS = {  # columns of a table's first line
    "multiple-choice": ({"ending0"}, {"choice1", "choice2"}, {"1", "2", "Answer"}),
    "coref": ({"Pronoun", "Pronoun-offset"},),
    "classification": ({"sentence", "label"}, {"sentence1", "sentence2"}, {"text", "label"}, {"question", "sentence"}),
}
_KEYS = {  # of an object, the most telling first
    "qa": ({"paragraphs"}, {"context", "qas"}),
    "multiple-choice": ({"choices"}, {"endings"}, {"options"}, {"ending0"}, {"choice1", "choice2"}),
    "relation": ({"token", "subj_start"}, {"subject_entity"}, {"subject", "object"}, {"sentences", "relations"}),
    "coref": ({"sentences", "clusters"},),
    "tagging": ({"tokens", "tags"}, {"words", "tags"}, {"tokens", "ner_tags"}, {"text", "spans"}, {"text", "entities"}),
    "classification": ({"sentence1", "sentence2"}, {"premise", "hypothesis"}, {"text", "label"}, {"sentence", "label"}),
}
_SEMEVAL = re.compile(r'\d+\t"?.*<e1>.*</e1>')
_TAGGED = re.compile(r"(?:\S+[ \t]|[^\t]\t)(?:.*[ \t])?(?:O|[BIES]-\S+)")
_CONLLU = re.compile(r"1(?:-\d+)?\t[^\t]+(?:\t[^\t]*){8}")


def read_data(
    task_name: str, task: Task[D, F, O, P], path: str | Path, *, purpose: Purpose, errors: OnError = "strict"
) -> D:
    """Return what `task.read` makes of a file.

    Raises: its DataError, which names the task that the file looks like where that is another one.
    """
    try:
        return task.read(Path(path), purpose=purpose, errors=errors)
    except DataError as error:
        other = looks_like(path)
        if other is None or other == task_name or is_reference(task_name):
            raise
        raise DataError(f"{error} The file looks like one of the task {other!r}.") from error


def looks_like(path: str | Path) -> str | None:
    """Return the task whose files begin like this one; None where none does, or the file can't be read."""
    try:
        return text_looks_like(read_text(path))
    except DataError:
        return None


def text_looks_like(text: str) -> str | None:
    """Return the same as `looks_like` for the text of a file or its first lines."""
    start = text.lstrip()
    first, *rest = start[:20_000].split("\n")
    first = first.rstrip("\r")
    if start[:1] in ("{", "["):
        return _of_json(start)
    if first.startswith(("#begin document", "# begin document")):
        return "coref"
    if "<copa-corpus" in start[:2000]:
        return "multiple-choice"
    if _SEMEVAL.match(first):
        return "relation"
    columns = set(first.split("\t" if "\t" in first else ","))
    for name, tables in _HEADERS.items():
        if any(table <= columns for table in tables):
            return name
    tokens = [line for line in [first, *rest[:200]] if line.strip() and not line.startswith("#")]
    if tokens and _CONLLU.match(tokens[0]):
        return "tagging"
    whole = [line.rstrip("\r") for line in (tokens if len(rest) < 200 else tokens[:-1])]
    return "tagging" if whole and all(_TAGGED.fullmatch(line) for line in whole) else None


def _of_json(text: str) -> str | None:
    try:
        value = decode_json(text)
    except ValueError:
        try:
            value = decode_json(text.split("\n", 1)[0])
        except ValueError:
            return None
    if isinstance(value, Mapping) and isinstance(value.get("data"), list):
        value = value["data"]
    if isinstance(value, list):
        value = value[0] if value else None
    if isinstance(value, list) and len(value) >= 2:  # a dialogue of DREAM
        return "multiple-choice"
    if not isinstance(value, Mapping):
        return None
    if "header" in value and len(value) == 1:  # MRQA
        return "qa"
    if {"text", "label"} <= set(value) and "[[ " in str(value["text"]) and "<< " in str(value["text"]):
        return "relation"
    return next((name for name, shapes in _KEYS.items() if any(shape <= set(value) for shape in shapes)), None)
