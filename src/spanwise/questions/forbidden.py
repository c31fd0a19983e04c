"""The runs of words of question files that nothing may be made from."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from spanwise.tasks.qa.reader import read_questions
from spanwise.text.word_runs import WordRuns


def paragraph_runs(files: Iterable[str | Path]) -> WordRuns:
    """Return the runs of eight words of all paragraphs of question files, whatever their shape.

    Raises: DataError naming a file that is missing or damaged.
    """
    runs = WordRuns()
    for file in files:
        for context in read_questions(file, purpose="predict").contexts:
            runs.add(context)
    return runs
