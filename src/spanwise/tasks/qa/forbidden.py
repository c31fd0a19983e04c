"""Paragraphs that share a run of words with question files that nothing may be learned from, such as a test set."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from pathlib import Path

from spanwise.errors import DataError
from spanwise.tasks.qa.data import SquadData
from spanwise.tasks.qa.reader import read_questions
from spanwise.text.word_runs import RUN_WORDS, WordRuns


def paragraph_runs(files: Iterable[str | Path], *, length: int = RUN_WORDS) -> WordRuns:
    """Return the runs of `length` words of all paragraphs of question files, whatever their shape.

    Raises: DataError naming a file that is missing or damaged.
    """
    runs = WordRuns(length=length)
    for file in files:
        for context in read_questions(file, purpose="predict").contexts:
            runs.add(context)
    return runs


def leave_out_shared(parts: Sequence[SquadData], not_from: Sequence[Path]) -> tuple[list[SquadData], list[str]]:
    """Return each file's questions without the paragraphs that share a run with one of `not_from`, and a sentence on
    each file that says how many were left out.

    Raises: DataError where no question is left, or a file of `not_from` is missing or damaged.
    """
    runs = paragraph_runs(not_from)
    kept = [_without_shared(part, runs) for part in parts]
    if not any(part.questions for part in kept):
        raise DataError(
            "no training question is left: all paragraphs share eight words in a row with "
            f"{' or '.join(map(str, not_from))}."
        )
    return kept, [_told(part, left) for part, left in zip(parts, kept, strict=True)]


def _without_shared(data: SquadData, runs: WordRuns) -> SquadData:
    places = [number for number, context in enumerate(data.contexts) if not runs.shares(context)]
    if len(places) == len(data.contexts):
        return data
    new = {old: place for place, old in enumerate(places)}
    questions = tuple(
        dataclasses.replace(question, paragraph=new[question.paragraph])
        for question in data.questions
        if question.paragraph in new
    )
    return dataclasses.replace(
        data,
        contexts=tuple(data.contexts[place] for place in places),
        titles=tuple(data.titles[place] for place in places),
        questions=questions,
        has_unanswerable=any(not question.answers for question in questions),
    )


def _told(data: SquadData, kept: SquadData) -> str:
    paragraphs, questions = (
        f"{len(before) - len(after):,} of {len(before):,} {name}"
        for name, before, after in (
            ("paragraphs", data.contexts, kept.contexts),
            ("questions", data.questions, kept.questions),
        )
    )
    return f"{data.source}: {paragraphs} and {questions} are left out: they share eight words in a row with --not-from"
