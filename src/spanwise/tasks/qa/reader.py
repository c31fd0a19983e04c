"""Question files: SQuAD 1.1 and 2.0 and all of their shape (KorQuAD 1.0, KLUE-MRC, SQuADShifts), and by their looks
those of MRQA, NewsQA and one question per line.

Whether a file holds unanswerable questions is read from the data, never from an option: an option that contradicts
the file scores silently wrong.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from spanwise.errors import ConfigError, DataError
from spanwise.tasks.files.text import OnError, Purpose, plain_suffix, read_json
from spanwise.tasks.qa.data import Answer, Question, SquadData
from spanwise.tasks.qa.gathering import Gathering, field, id_field, text_field
from spanwise.tasks.qa.lines import read_question_lines
from spanwise.tasks.qa.newsqa import looks_like_newsqa, parse_newsqa

__all__ = ["Answer", "Question", "SquadData", "parse_squad", "read_questions", "read_squad"]
LINES = (".jsonl", ".ndjson")


def read_questions(path: str | Path, *, purpose: Purpose = "train", errors: OnError = "strict") -> SquadData:
    """Read a file of questions, plain, `.gz` or `.xz`: `.jsonl` is MRQA's or one question per line, `.json` SQuAD's or
    NewsQA's. Arguments and errors are those of `read_squad`.
    """
    _check_errors(errors)
    if plain_suffix(path) in LINES:
        return read_question_lines(path, purpose=purpose, errors=errors)
    record = read_json(path)
    if looks_like_newsqa(record):
        return parse_newsqa(record, source=str(path), purpose=purpose, errors=errors)
    return parse_squad(record, source=str(path), purpose=purpose, errors=errors)


def read_squad(path: str | Path, *, purpose: Purpose = "train", errors: OnError = "strict") -> SquadData:
    """Read a `.json`, `.json.gz` or `.json.xz` file of the SQuAD shape.

    `purpose="train"` checks that every gold answer stands at its offset; `"score"` needs the answer texts alone;
    `"predict"` needs no answers. `errors="repair"` moves a wrong offset to the nearest place where the answer stands
    and drops answers (and then questions) that stand nowhere; both are counted.

    Raises: DataError naming file, article and question: damaged or malformed JSON, missing keys, empty contexts or
    questions, duplicate ids, offsets outside the context or not at the text, an unanswered question in a 1.1 file.
    """
    _check_errors(errors)
    return parse_squad(read_json(path), source=str(path), purpose=purpose, errors=errors)


def parse_squad(record: object, *, source: str, purpose: Purpose = "train", errors: OnError = "strict") -> SquadData:
    """The same as `read_squad`, from the parsed JSON value; `source` is the name used in messages."""
    articles = record.get("data") if isinstance(record, dict) else None
    if not isinstance(record, dict) or not isinstance(articles, list):
        raise DataError(f"{source}: expected an object with a list 'data' of articles (the SQuAD format).")
    return _Parser(Gathering(source, str(record.get("version", "")), purpose, errors)).parse(articles)


class _Parser:
    """Walks articles, paragraphs and questions, and knows where it is when something is wrong."""

    def __init__(self, found: Gathering) -> None:
        self.found = found

    def parse(self, articles: list[object]) -> SquadData:
        found = self.found
        self.allows_unanswerable = found.version.lstrip("vV").startswith("2") or _any_impossible_key(articles)
        for number, article in enumerate(articles):
            title = str(field(article, "title", str, f"{found.source}, article {number + 1}", default=f"{number + 1}"))
            paragraphs = field(article, "paragraphs", list, f"{found.source}, article {title!r}")
            for index, paragraph in enumerate(paragraphs):
                self.paragraph(title, paragraph, f"{found.source}, article {title!r}, paragraph {index + 1}")
        return found.finish()

    def paragraph(self, title: str, paragraph: Any, where: str) -> None:
        context = text_field(paragraph, "context", where)
        self.found.add_context(context, title)
        for number, qa in enumerate(field(paragraph, "qas", list, where)):
            id = id_field(qa, where, number + 1)
            self.question(qa, id, context, f"{where}, question {id!r}")

    def question(self, qa: dict[str, object], id: str, context: str, where: str) -> None:
        text = text_field(qa, "question", where)
        answers: tuple[Answer, ...] = ()
        if self.found.purpose != "predict":
            entries = field(qa, "answers", list, where)
            answers = tuple(found for entry in entries if (found := self.answer(entry, context, where)) is not None)
            if entries and not answers:
                return  # every answer was dropped under "repair": the question can't be learned or scored
            self.check_answerability(qa, bool(answers), where)
        self.found.add_question(id, text, answers, where)

    def check_answerability(self, qa: dict[str, object], has_answers: bool, where: str) -> None:
        impossible = qa.get("is_impossible")
        if impossible is not None and not isinstance(impossible, bool):
            raise DataError(f"{where}: 'is_impossible' must be true or false, got {impossible!r}.")
        if impossible and has_answers:
            raise DataError(f"{where}: 'is_impossible' is true but it has answers; remove the one or the other.")
        if impossible is False and not has_answers:
            raise DataError(
                f"{where}: 'is_impossible' is false but 'answers' is empty; add an answer or set it to true."
            )
        if not has_answers and not self.allows_unanswerable:
            raise DataError(
                f"{where}: it has no answer, and this is a SQuAD 1.1 file (version {self.found.version!r}). "
                'Add the answer, or mark unanswerable questions with "is_impossible": true.'
            )

    def answer(self, entry: object, context: str, where: str) -> Answer | None:
        text = field(entry, "text", str, f"{where}, an answer")
        if self.found.purpose == "score":
            return Answer(text, -1)
        if not text.strip():
            raise DataError(f"{where}: an answer is empty; for a question without an answer leave 'answers' empty.")
        start = field(entry, "answer_start", int, f"{where}, answer {text!r}")
        return self.found.place_answer(text, start, context, where)


def _check_errors(errors: OnError) -> None:
    if errors not in ("strict", "repair"):
        raise ConfigError(f"errors must be 'strict' or 'repair', got {errors!r}.")


def _any_impossible_key(articles: list[object]) -> bool:
    """Return whether any question carries `is_impossible`; the walk that follows names malformed parts."""

    def parts(record: object, key: str) -> list[object]:
        found = record.get(key) if isinstance(record, dict) else None
        return found if isinstance(found, list) else []

    questions = (
        qa for article in articles for paragraph in parts(article, "paragraphs") for qa in parts(paragraph, "qas")
    )
    return any(isinstance(qa, dict) and "is_impossible" in qa for qa in questions)


def read_predictions(path: str | Path) -> dict[str, str]:
    """A prediction file: one JSON object, question id to answer text (empty text: no answer)."""
    record = read_json(path)
    if not isinstance(record, dict):
        raise DataError(f"{path}: expected an object of question id to answer text, got a {type(record).__name__}.")
    for id, text in record.items():
        if not isinstance(text, str):
            raise DataError(f"{path}, question {id!r}: expected an answer text, got {type(text).__name__}.")
    return record


def read_null_odds(path: str | Path) -> dict[str, float]:
    """A null-odds file (the official `--na-prob-file`): one JSON object, question id to number."""
    record = read_json(path)
    if not isinstance(record, dict):
        raise DataError(f"{path}: expected an object of question id to number, got a {type(record).__name__}.")
    for id, value in record.items():
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise DataError(f"{path}, question {id!r}: expected a number, got {value!r}.")
    return record
