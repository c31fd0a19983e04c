"""Questions in JSON lines: MRQA's files (a passage per line with its questions), and one question per line.

MRQA counts the end of an answer inclusively, and its texts were found by a tokenizer, so a text may differ from the
passage in case, blanks or punctuation; what stands in the passage is the answer. Of several places the first one in the
passage comes first.

Source: Fisch et al. 2019 (MRQA 2019 shared task), its repository's description of the format.
"""

from __future__ import annotations

import unicodedata
from pathlib import Path
from typing import Any

from spanwise.errors import DataError
from spanwise.tasks.files.text import OnError, Purpose, parse_json, read_lines
from spanwise.tasks.qa.data import Answer, SquadData
from spanwise.tasks.qa.gathering import Gathering, field, id_field, text_field


def read_question_lines(path: str | Path, *, purpose: Purpose, errors: OnError) -> SquadData:
    """Read `.jsonl` (plain, `.gz`, `.xz`). Raises: DataError naming file and line, as `read_squad`."""
    source = str(path)
    found: Gathering | None = None
    for number, line in enumerate(read_lines(path), start=1):
        if not line.strip():
            continue
        where = f"{source}, line {number}"
        record = parse_json(line, source, number)
        if not isinstance(record, dict):
            raise DataError(f"{where}: expected an object, got {type(record).__name__}.")
        if "header" in record:
            if found is not None:
                raise DataError(f"{where}: a header must be the first line; these are two files in one.")
            found = Gathering(source, _named(record["header"]), purpose, errors)
            continue
        found = found or Gathering(source, "", purpose, errors)
        if "qas" in record:
            _read_passage(found, record, where)
        else:
            _read_row(found, record, where, number)
    if found is None:
        raise DataError(f"{source}: no questions in it.")
    return found.finish()


def _named(header: Any) -> str:
    return str(header.get("dataset", "")) if isinstance(header, dict) else ""


def _read_passage(found: Gathering, record: dict[str, object], where: str) -> None:
    """A line of MRQA: one passage and its questions."""
    context = text_field(record, "context", where)
    found.add_context(context, str(record.get("id") or where.rpartition(" ")[2]))
    for number, qa in enumerate(field(record, "qas", list, where), start=1):
        id = id_field(qa, where, number)
        place = f"{where}, question {id!r}"
        text = text_field(qa, "question", place)
        answers: tuple[Answer, ...] = ()
        if found.purpose == "score":
            texts = field(qa, "answers", list, place)
            answers = tuple(Answer(_text(entry, place), -1) for entry in texts)
            if not answers:
                raise DataError(f"{place}: 'answers' is empty; MRQA's questions all have an answer.")
        elif found.purpose == "train":
            answers = _detected(found, qa, context, place)
            if not answers:
                continue  # all were dropped under "repair"
        found.add_question(id, text, answers, place)


def _text(entry: object, where: str) -> str:
    if not isinstance(entry, str):
        raise DataError(f"{where}: an answer is a {type(entry).__name__}; a text was expected.")
    return entry


def _detected(found: Gathering, qa: dict[str, object], context: str, where: str) -> tuple[Answer, ...]:
    """The places of all answers, in the order of the passage, each once."""
    answers = []
    entries = field(qa, "detected_answers", list, where)
    if not entries:
        raise DataError(f"{where}: 'detected_answers' is empty; there is nothing to learn from.")
    for entry in entries:
        text = field(entry, "text", str, f"{where}, a detected answer")
        spans = field(entry, "char_spans", list, f"{where}, answer {text!r}")
        if not spans:
            raise DataError(f"{where}, answer {text!r}: 'char_spans' is empty; it needs a place.")
        for span in spans:
            place = _placed(found, text, span, context, where)
            if place is not None:
                answers.append(place)
    return tuple(sorted(dict.fromkeys(answers), key=lambda answer: (answer.start, answer.end)))


def _placed(found: Gathering, text: str, span: object, context: str, where: str) -> Answer | None:
    if not (isinstance(span, list) and len(span) == 2 and all(type(number) is int for number in span)):
        raise DataError(f"{where}, answer {text!r}: a place of it is {span!r}; [first, last] character was expected.")
    first, last = span
    stands = context[first : last + 1] if 0 <= first <= last < len(context) else ""
    if stands.strip() and _bare(stands) == _bare(text):
        return Answer(stands, first)
    if found.errors == "repair" and text.strip():
        return found.place_answer(text, first, context, where)
    reason = f"where the context reads {stands!r}" if stands else f"outside the context of {len(context)} characters"
    raise DataError(
        f"{where}: answer {text!r} has the characters {first} to {last} (last one included), {reason}. Correct the "
        "file, or read it with --errors repair."
    )


def _bare(text: str) -> str:
    """Letters and digits alone: what two writings of one answer share."""
    return "".join(ch for ch in unicodedata.normalize("NFKC", text).casefold() if ch.isalnum()) or text.strip()


def _read_row(found: Gathering, record: dict[str, object], where: str, number: int) -> None:
    """One question with its passage; `answers` holds lists `text` and `answer_start`, or objects of one of each."""
    context, text = text_field(record, "context", where), text_field(record, "question", where)
    has_name = any(record.get(name) is not None for name in ("id", "qid", "guid"))
    id = id_field(record, where, 1) if has_name else str(number)
    paragraph = found.find_context(context, str(record.get("title") or ""))
    answers: tuple[Answer, ...] = ()
    if found.purpose != "predict":
        entries = _entries(record, where)
        answers = tuple(
            answer for entry in entries if (answer := _row_answer(found, entry, context, where)) is not None
        )
        if entries and not answers:
            return  # all were dropped under "repair"
    found.add_question(id, text, answers, where, paragraph)


def _entries(record: dict[str, object], where: str) -> list[tuple[object, object]]:
    answers = record.get("answers")
    if answers is None and isinstance(record.get("answer"), str):
        return [(record["answer"], record.get("answer_start"))]
    if isinstance(answers, dict):
        texts, starts = (field(answers, key, list, f"{where}, 'answers'") for key in ("text", "answer_start"))
        if len(texts) != len(starts):
            raise DataError(f"{where}: {len(texts)} answer texts came with {len(starts)} offsets.")
        return list(zip(texts, starts, strict=True))
    return [
        (field(entry, "text", str, f"{where}, an answer"), entry.get("answer_start"))
        for entry in field(record, "answers", list, where)
    ]


def _row_answer(found: Gathering, entry: tuple[object, object], context: str, where: str) -> Answer | None:
    text, start = _text(entry[0], where), entry[1]
    if found.purpose == "score":
        return Answer(text, -1)
    if not text.strip():
        raise DataError(f"{where}: an answer is empty; for a question without an answer leave 'answers' empty.")
    if type(start) is not int:
        raise DataError(f"{where}: answer {text!r} has answer_start {start!r}; a number of characters was expected.")
    return found.place_answer(text, start, context, where)
