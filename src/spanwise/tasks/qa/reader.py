"""Question files: SQuAD 1.1 and 2.0 and all of their shape (KorQuAD 1.0, KLUE-MRC, SQuADShifts), and by their looks
those of MRQA, NewsQA and one question per line.

Whether a file holds unanswerable questions is read from the data, never from an option: an option that contradicts
the file scores silently wrong.

MRQA's JSON lines have a passage each. It counts the end of an answer inclusively, and its texts were found by a
tokenizer, so a text may differ from the passage in case, blanks or punctuation; what stands in the passage is the
answer. Of several places the first one in the passage comes first.

NewsQA's combined file holds stories, questions that several people answered, and answers that others checked:

    {"data": [{"storyId", "text", "type", "questions": [{"q", "answers", "validatedAnswers", "consensus", ...}]}]}

Places are `s` and `e`, half-open characters of the story. Taken are the consensus first, then the checked answers by
their number of votes, then what the first readers chose; each place counts once. `noAnswer` and `badQuestion` as
consensus leave a question without an answer; bad questions are left out.

Source: Fisch et al. 2019 (MRQA 2019 shared task) and Trischler et al. 2017 (NewsQA), their repositories' descriptions
of the formats.
"""

import unicodedata
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from spanwise.errors import DataError
from spanwise.tasks.files.text import OnError, Purpose, parse_json, plain_suffix, read_json, read_lines
from spanwise.tasks.qa.data import Answer, Gathering, Question, SquadData, T, field, id_field, text_field

__all__ = ["Answer", "Question", "SquadData", "parse_squad", "read_questions"]
LINES = (".jsonl", ".ndjson")


def read_question_lines(path: str | Path, *, purpose: Purpose, errors: OnError) -> SquadData:
    """Read `.jsonl` (plain or compressed). Raises: DataError naming file and line, as `read_questions`."""
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
            with found.one_question():
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
        with found.one_question():
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


def looks_like_newsqa(record: object) -> bool:
    """Return whether the first story of a JSON value is one of NewsQA."""
    stories = record.get("data") if isinstance(record, dict) else None
    first = stories[0] if isinstance(stories, list) and stories else None
    return isinstance(first, dict) and "questions" in first and "text" in first


def parse_newsqa(record: Mapping[str, Any], *, source: str, purpose: Purpose, errors: OnError) -> SquadData:
    """Raises: DataError naming story and question."""
    found = Gathering(source, f"NewsQA {record.get('version', '')}".strip(), purpose, errors)
    for number, story in enumerate(record["data"], start=1):
        name = str(field(story, "storyId", str, f"{source}, story {number}", default=str(number)))
        where = f"{source}, story {name!r}"
        context = text_field(story, "text", where)
        found.add_context(context, name)
        for place, entry in enumerate(field(story, "questions", list, where), start=1):
            spot = f"{where}, question {place}"
            with found.one_question():
                text = text_field(entry, "q", spot)
                if _is(entry.get("consensus"), "badQuestion"):
                    continue
                answers: tuple[Answer, ...] = ()
                if purpose != "predict":
                    wanted = _places(entry, spot)
                    answers = tuple(
                        dict.fromkeys(a for span in wanted if (a := _cut(found, span, context, spot)) is not None)
                    )
                    if wanted and not answers:
                        continue  # all were dropped under "repair"
                found.add_question(f"{name}#{place}", text, answers, spot)
    return found.finish()


def _places(entry: Mapping[str, Any], where: str) -> list[dict[str, object]]:
    """The answers' `s` and `e`, best first; none where the consensus is that there is none."""
    consensus = entry.get("consensus")
    if _is(consensus, "noAnswer"):
        return []
    checked = [one for one in _listed(entry, "validatedAnswers", where) if isinstance(one, dict)]
    first = [
        one
        for reader in field(entry, "answers", list, where, default=[])
        for one in (_listed(reader, "sourcerAnswers", where) if isinstance(reader, dict) else [])
    ]
    ranked = sorted(checked, key=lambda one: -field(one, "count", int, f"{where}, 'validatedAnswers'", default=0))
    ordered = [*([consensus] if consensus else []), *ranked, *first]
    return [one for one in ordered if isinstance(one, dict) and "s" in one]


def _listed(record: Mapping[str, Any], key: str, where: str) -> list[Any]:
    """Return a list that may be missing. Raises: DataError where something else stands there."""
    return [] if record.get(key) is None else field(record, key, list, where)


def _is(entry: object, key: str) -> bool:
    return isinstance(entry, dict) and bool(entry.get(key))


def _cut(found: Gathering, span: dict[str, object], context: str, where: str) -> Answer | None:
    start, end = field(span, "s", int, where), field(span, "e", int, where)
    inside = 0 <= start < end <= len(context)
    text = context[start:end].strip() if inside else ""
    if text:
        return Answer(text, context.index(text, start))  # places often end behind a blank
    if found.errors == "repair":
        found.num_dropped += 1
        return None
    reason = "nothing but blanks" if inside else f"outside the text of {len(context)} characters"
    raise DataError(f"{where}: an answer has the characters {start} to {end}, {reason}; read with --errors repair.")


def read_questions(path: str | Path, *, purpose: Purpose = "train", errors: OnError = "strict") -> SquadData:
    """Read a file of questions, plain or compressed: `.jsonl` is MRQA's or one question per line, `.json` SQuAD's or
    NewsQA's.

    `purpose="train"` checks that every gold answer stands at its offset; `"score"` needs the answer texts alone;
    `"predict"` needs no answers. `errors="repair"` moves a wrong offset to the nearest place where the answer stands
    and drops answers (and then questions) that stand nowhere, and malformed questions; all are counted.

    Raises: DataError naming file, article and question: damaged or malformed JSON, missing keys, empty contexts or
    questions, duplicate ids, offsets outside the context or not at the text, an unanswered question in a 1.1 file.
    """
    if plain_suffix(path) in LINES:
        return read_question_lines(path, purpose=purpose, errors=errors)
    record = read_json(path)
    if looks_like_newsqa(record):
        return parse_newsqa(record, source=str(path), purpose=purpose, errors=errors)
    return parse_squad(record, source=str(path), purpose=purpose, errors=errors)


def parse_squad(record: object, *, source: str, purpose: Purpose = "train", errors: OnError = "strict") -> SquadData:
    """The same as `read_questions`, from the parsed JSON value; `source` is the name used in messages."""
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
            with self.found.one_question():
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
        needs_start = self.found.purpose != "score" and bool(text.strip())
        start = field(entry, "answer_start", int, f"{where}, answer {text!r}") if needs_start else -1
        return _row_answer(self.found, (text, start), context, where)


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
    return _by_question(path, "an answer text", str)


def read_null_odds(path: str | Path) -> dict[str, float]:
    """A null-odds file (the official `--na-prob-file`): one JSON object, question id to number."""
    return _by_question(path, "a number", int, float)


def _by_question(path: str | Path, what: str, *kinds: type[T]) -> dict[str, T]:
    record = read_json(path)
    if not isinstance(record, dict):
        raise DataError(f"{path}: expected an object of question id to {what}, got a {type(record).__name__}.")
    for id, value in record.items():
        if isinstance(value, bool) or not isinstance(value, kinds):
            raise DataError(f"{path}, question {id!r}: expected {what}, got {type(value).__name__} {value!r}.")
    return record
