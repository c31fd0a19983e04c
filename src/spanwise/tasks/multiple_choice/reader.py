"""Questions with choices, from the files of SWAG, CODAH, HellaSwag, DREAM, COPA and KoBEST, the folders of RACE, and
plain objects.

A choice is read together with what stands before it: a context (premise, passage, dialogue), a question, or both.
"""

import dataclasses
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spanwise.errors import DataError
from spanwise.tasks.files.tables import Row, Table, parsed, read_table
from spanwise.tasks.files.text import OnError, Purpose, plain_suffix, read_json, read_text

COPA_QUESTIONS = {
    "cause": "What was the cause of this?",
    "effect": "What happened as a result?",
    "원인": "원인은 무엇인가?",
    "결과": "결과는 무엇인가?",
}
_KNOWN = ("ending0", "choice1", "choices", "sent1", "Answer", "premise", "context")


@dataclass(frozen=True, slots=True)
class Question:
    """One example. `answer` counts the choices from 0; -1 where it was read for prediction."""

    id: str
    context: str
    question: str
    choices: tuple[str, ...]
    answer: int
    where: str
    group: str = ""  # what part of its data set it is scored with, such as "middle" of RACE

    @property
    def first(self) -> str:
        """Return what all choices share and stand behind: the context, or the question where there is none."""
        return self.context or self.question

    def second(self, choice: str) -> str:
        """A choice, behind the question where that is not what stands first."""
        return f"{self.question} {choice}" if self.context and self.question else choice


@dataclass(frozen=True, kw_only=True)
class ChoiceData:
    """The questions of a file in its order, or of several one behind the other; the number of choices may differ."""

    source: str
    questions: tuple[Question, ...]
    num_dropped: int = 0  # rows, dialogues, items or passages left out under errors="repair"

    def __len__(self) -> int:
        return len(self.questions)


def read_choices(path: str | Path, *, purpose: Purpose, errors: OnError = "strict") -> ChoiceData:
    """Read a file by its form, or a folder of RACE.

    Objects have `choices` (or `endings`, `options`) and `answer` (or `label`): a choice's text, its letter or its
    number from 0; `context` (`article`, `passage`, `premise`, `ctx`) and `question` where there are such.

    With `errors="repair"` malformed rows, dialogues, items and passages are left out and counted.
    Raises: DataError naming file and question: fewer than two choices, empty ones, an answer that is none of them.
    """
    suffix, num_dropped, numbers = plain_suffix(path), 0, list[int]()
    if Path(path).is_dir():
        questions, num_dropped = _race_folder(Path(path), purpose, errors)
    elif suffix == ".xml":
        questions, num_dropped = _copa(read_text(path), str(path), purpose, errors)
    elif suffix == ".json" and isinstance(record := read_json(path), list) and record and isinstance(record[0], list):
        questions, num_dropped = _dream(record, str(path), purpose, errors)
    else:
        table = read_table(path, known=_KNOWN, errors=errors)
        rows, num_dropped = parsed(table.rows, lambda row: (row.number, _from_row(row, table, purpose)), errors)
        num_dropped += table.num_dropped
        questions = [question for _, several in rows for question in several]
        numbers = [number for number, several in rows for _ in several]
    if not questions:
        raise DataError(f"{path}: no question in it.")
    if len({question.id for question in questions}) < len(questions):
        if len(set(numbers)) < len(questions):  # no table, or rows of several questions
            numbers = list(range(len(questions)))
        questions = [dataclasses.replace(question, id=str(n)) for n, question in zip(numbers, questions, strict=True)]
    return ChoiceData(source=str(path), questions=tuple(questions), num_dropped=num_dropped)


def checked_question(
    id: str,
    context: str,
    question: str,
    choices: Sequence[object],
    answer: object,
    where: str,
    *,
    first: int = 0,
    by_number: bool = False,
) -> Question:
    """A question whose parts are texts and whose answer is one of its choices.

    answer: a choice's text, its letter, its number counted from `first`; None is not known. Digits are first looked for
    among the choices, and with `by_number`, in formats that always count, they are the number. Raises: DataError.
    """
    if not isinstance(choices, list | tuple) or len(choices) < 2:
        raise DataError(
            f"{where}: {len(choices) if isinstance(choices, list | tuple) else 0} choices; a question needs two."
        )
    for number, choice in enumerate(choices):
        if not isinstance(choice, str) or not choice.strip():
            raise DataError(f"{where}: choice {number + 1} is {choice!r}; a text was expected.")
    for name, text in (("context", context), ("question", question)):
        if not isinstance(text, str):
            raise DataError(f"{where}: the {name} is {text!r}; a text was expected.")
    if not context.strip() and not question.strip():
        raise DataError(f"{where}: there is neither a context nor a question to choose by.")
    texts = [choice.strip() for choice in choices]
    place = -1 if answer is None else _place_of(answer, texts, first, by_number=by_number)
    if place is None:
        raise DataError(f"{where}: the answer {answer!r} is none of its {len(texts)} choices.")
    return Question(id, context.strip(), question.strip(), tuple(texts), place, where)


def _place_of(answer: object, choices: Sequence[str], first: int, *, by_number: bool) -> int | None:
    if isinstance(answer, float) and answer.is_integer():  # as tables with gaps hold whole numbers
        answer = int(answer)
    written = str(answer).strip()
    is_number = not isinstance(answer, bool) and re.fullmatch(r"-?\d+", written) is not None
    if isinstance(answer, str) and written in choices and not (by_number and is_number):
        return choices.index(written)
    if is_number:
        place = int(written) - first
    elif isinstance(answer, str) and len(written) == 1 and written.upper() in "ABCDEFGHIJ":
        place = ord(written.upper()) - ord("A")
    else:
        return None
    return place if 0 <= place < len(choices) else None


def _from_row(row: Row, table: Table, purpose: Purpose) -> list[Question]:
    values = row.values
    id = str(next((values[name] for name in ("id", "ID", "ind", "idx", "") if values.get(name) not in (None, "")), ""))
    known = purpose != "predict"

    def answer(*names: str) -> Any:
        if not known:
            return None
        found = next((values[name] for name in names if name in values), None)
        if found is None or found == "":
            raise DataError(f"{row.where}: the answer ({' or '.join(names)}) is missing.")
        return found

    if "options" in values and isinstance(values.get("questions"), list):
        return _race(row, known)
    if "ending0" in values:  # SWAG
        endings = [values[f"ending{number}"] for number in range(10) if f"ending{number}" in values]
        start, lead = str(values.get("sent1") or ""), str(values.get("sent2") or "")
        asked = lead if start else ""
        return [checked_question(id, start or lead, asked, endings, answer("label"), row.where, by_number=True)]
    if "choice1" in values:  # COPA of SuperGLUE, HellaSwag of KoBEST
        choices = [values[f"choice{number}"] for number in range(1, 11) if f"choice{number}" in values]
        question = str(values.get("question") or "")
        context = values.get("premise", values.get("context", ""))
        asked = COPA_QUESTIONS.get(question, question)
        gold = answer("label", "answer")
        return [checked_question(id, context, asked, choices, gold, row.where, by_number=True)]
    if {"sentence", "1", "2", "Answer"} <= set(values):  # COPA of KoBEST
        question = str(values.get("question") or "")
        asked = COPA_QUESTIONS.get(question, question)
        choices = [values["1"], values["2"]]
        gold, context = answer("Answer"), values["sentence"]
        return [checked_question(id, context, asked, choices, gold, row.where, first=1, by_number=True)]
    listed = next((values[name] for name in ("choices", "endings", "options") if name in values), None)
    if listed is not None:
        context = next((values[n] for n in ("context", "article", "passage", "premise", "ctx") if values.get(n)), "")
        question = values.get("question") or ""
        gold, by_number = answer("answer", "label"), "ctx" in values  # HellaSwag counts
        return [checked_question(id, context, question, listed, gold, row.where, by_number=by_number)]
    if not table.columns and len(values) == 7 and "0" in values:  # CODAH
        gold = values["6"] if known else None
        choices = [values[str(n)] for n in range(2, 6)]
        return [checked_question("", values["1"], "", choices, gold, row.where, by_number=True)]
    raise DataError(
        f"{row.where}: its form is not known; it has {', '.join(values)}. Read are SWAG (sent1, sent2, ending0, ...), "
        "CODAH, RACE, DREAM, COPA, and objects of context, question, choices and answer."
    )


def _race(row: Row, known: bool) -> list[Question]:
    values = row.values
    questions, options = values["questions"], values["options"]
    answers = values.get("answers") if known else [None] * len(questions)
    if (
        not isinstance(options, list)
        or not isinstance(answers, list)
        or not len(questions) == len(options) == len(answers)
    ):
        raise DataError(f"{row.where}: 'questions', 'options' and 'answers' must be lists of one length.")
    id = str(values.get("id", row.where))
    return [
        checked_question(f"{id}-{number}", values.get("article", ""), *parts, f"{row.where}, question {number + 1}")
        for number, parts in enumerate(zip(questions, options, answers, strict=True))
    ]


def _race_folder(folder: Path, purpose: Purpose, errors: OnError) -> tuple[list[Question], int]:
    """RACE as it is published: one passage a file below `middle/` and `high/`, each file one JSON object."""

    def order(path: Path) -> tuple[str, int, str]:
        return str(path.parent), int("0" + re.sub(r"\D", "", path.stem)), path.name

    parts = [part.name for part in folder.iterdir() if part.is_dir() and part.name in ("train", "dev", "test")]
    if parts:
        raise DataError(f"{folder} holds {', '.join(sorted(parts))}; name one of them, such as {folder / parts[0]}.")
    files = sorted(folder.rglob("*.txt"), key=order)
    if not files:
        raise DataError(f"{folder}: no file of a passage (.txt, one JSON object each, as RACE is published) in it.")

    def passage(path: Path) -> list[Question]:
        record = read_json(path)
        if not isinstance(record, Mapping) or not isinstance(record.get("questions"), list):
            raise DataError(f"{path}: expected an object of article, questions, options and answers (RACE).")
        found = _race(Row(record, str(path)), purpose != "predict")
        return [dataclasses.replace(question, group=path.parent.name) for question in found]

    passages, num_dropped = parsed(files, passage, errors)
    return [question for found in passages for question in found], num_dropped


def _dream(record: list[object], source: str, purpose: Purpose, errors: OnError) -> tuple[list[Question], int]:
    """A list of dialogues: turns, questions with choices, id."""
    dialogues, num_dropped = parsed(enumerate(record), lambda entry: _dialogue(*entry, source, purpose), errors)
    return [question for found in dialogues for question in found], num_dropped


def _dialogue(number: int, dialogue: object, source: str, purpose: Purpose) -> list[Question]:
    where = f"{source}, dialogue {number + 1}"
    if not (isinstance(dialogue, list) and len(dialogue) >= 2 and all(isinstance(part, list) for part in dialogue[:2])):
        raise DataError(f"{where}: expected a list of turns, a list of questions and an id (DREAM).")
    turns, questions = dialogue[:2]
    if not all(isinstance(turn, str) for turn in turns) or not all(isinstance(entry, Mapping) for entry in questions):
        raise DataError(f"{where}: turns must be texts and questions objects.")
    id = str(dialogue[2]) if len(dialogue) > 2 else str(number)
    found = []
    for place, entry in enumerate(questions):
        at = f"{where}, question {place + 1}"
        answer = entry.get("answer") if purpose != "predict" else None
        if purpose != "predict" and answer is None:
            raise DataError(f"{at}: the answer is missing.")
        question = checked_question(
            f"{id}-{place}", " ".join(turns), entry.get("question", ""), entry.get("choice", ()), answer, at
        )
        found.append(question)
    return found


def _copa(text: str, source: str, purpose: Purpose, errors: OnError) -> tuple[list[Question], int]:
    """`<item asks-for="cause" most-plausible-alternative="1"><p>..</p><a1>..</a1><a2>..</a2></item>`"""
    if "<!ENTITY" in text:
        raise DataError(f"{source}: declares entities, which are not read; write the texts out.")
    try:
        root = ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        raise DataError(f"{source}: not XML ({error}).") from error

    def question(entry: tuple[int, ElementTree.Element]) -> Question:
        number, item = entry
        where = f"{source}, item {item.get('id', number + 1)}"
        parts = [(item.findtext(name) or "") for name in ("p", "a1", "a2")]
        asked = COPA_QUESTIONS.get(item.get("asks-for", ""), "")
        answer = item.get("most-plausible-alternative") if purpose != "predict" else None
        if purpose != "predict" and answer is None:
            raise DataError(f"{where}: 'most-plausible-alternative' is missing.")
        return checked_question(item.get("id", str(number)), parts[0], asked, parts[1:], answer, where, first=1)

    return parsed(enumerate(root.iter("item")), question, errors)
