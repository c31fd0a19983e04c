"""`spanwise quickstart`: the main job, from text to an answered question and a report."""

import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Literal

from spanwise.cli.console import OutputConsole, print_json
from spanwise.cli.options.budget import parse_budget
from spanwise.cli.options.text import USUAL_LINES, LineOptions

LOG_WIDTH = 100  # columns of panels and tables where no terminal says


def quickstart(
    *text: Path,
    out: Path | None = None,
    budget: str = "8min",
    init: str | None = None,
    question: str | None = None,
    page_language: Literal["en", "ko"] | None = None,
    reading: LineOptions = USUAL_LINES,
    language: str | None = None,
    json: bool = False,
) -> None:
    """Learn a vocabulary, pre-train a small SpanBERT, measure it, fine-tune QA, answer a question, write a report.

    Every number stands beside that of the same network with random weights.

    Parameters
    ----------
    text
        Your own text files, folders or globs. Default: the bundled Wikipedia articles, in English or Korean.
    out
        Folder of the results. Default: quickstart-out, numbered where that is taken.
    budget
        Wall-clock time for everything, such as 8min, 90s or 1h30m.
    init
        A BERT-type Hugging Face folder or hub id to go on from; adds its own column.
    question
        A question to ask of the text at the end.
    page_language
        Of the report: en or ko. Default: that of the questions.
    language
        Of the text: en, ko, ... With ko the bundled text and questions are Korean, and so is the vocabulary. Default:
        ko where your text is Korean, else en. Questions come in these two languages.
    json
        Print result.json at the end, progress to standard error.
    """
    began = time.perf_counter()  # the imports below count too
    seconds = parse_budget(budget)
    stream = sys.stderr if json else sys.stdout
    from spanwise.quickstart.run import quickstart as run_quickstart

    result = run_quickstart(
        list(text),
        out=out,
        budget=seconds,
        init=init,
        question=question,
        language=page_language,
        text_language=language,
        corpus=reading.corpus(),
        console=OutputConsole(file=stream, width=None if stream.isatty() else LOG_WIDTH, highlight=False),
        began=began,
    )
    if json:
        print_json(asdict(result.record))
