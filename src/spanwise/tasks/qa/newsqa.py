"""NewsQA's combined file: stories with questions that several people answered, and answers that others checked.

    {"data": [{"storyId", "text", "type", "questions": [{"q", "answers", "validatedAnswers", "consensus", ...}]}]}

Places are `s` and `e`, half-open characters of the story. Taken are the consensus first, then the checked answers by
their number of votes, then what the first readers chose; each place counts once. `noAnswer` and `badQuestion` as
consensus leave a question without an answer; bad questions are left out.

Source: Trischler et al. 2017 (NewsQA), its repository's description of the format.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from spanwise.errors import DataError
from spanwise.tasks.files.text import OnError, Purpose
from spanwise.tasks.qa.data import Answer, SquadData
from spanwise.tasks.qa.gathering import Gathering, field, text_field


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
    checked = [one for one in entry.get("validatedAnswers") or [] if isinstance(one, dict)]
    first = [
        one
        for reader in field(entry, "answers", list, where, default=[])
        for one in (reader.get("sourcerAnswers") or [] if isinstance(reader, dict) else [])
    ]
    ranked = sorted(checked, key=lambda one: -int(one.get("count", 0)))
    ordered = [*([consensus] if consensus else []), *ranked, *first]
    return [one for one in ordered if isinstance(one, dict) and "s" in one]


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
