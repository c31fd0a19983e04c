"""`spanwise quickstart`: the main job, from text to a model that reads it, answered questions and a report."""

import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Literal

from spanwise.cli.asking.serve import check_installed, serve_models
from spanwise.cli.console import OutputConsole, print_json
from spanwise.cli.options.budget import parse_budget
from spanwise.cli.options.ranges import Seed
from spanwise.cli.options.text import USUAL_LINES, LineOptions

START_CHARACTERS = 3000
LOG_WIDTH = 100  # columns of panels and tables where no terminal says


def quickstart(
    *text: Path,
    out: Path | None = None,
    budget: str = "8min",
    from_scratch: bool = False,
    init: str | None = None,
    question: str | None = None,
    page_language: Literal["en", "ko"] | None = None,
    reading: LineOptions = USUAL_LINES,
    language: str | None = None,
    seed: Seed = 0,
    serve: bool = False,
    json: bool = False,
) -> None:
    """Adapt the shipped model to a text, measure it before and after, fill gaps, answer questions, write a report.

    Every number stands beside that of the model as it came, of counted words and of random weights.

    Parameters
    ----------
    text
        Your own text files, folders or globs. Default: bundled text of another kind than the model has read.
    out
        Folder of the results. Default: quickstart-out, numbered where that is taken.
    budget
        Wall-clock time for everything, such as 8min, 90s or 1h30m.
    from_scratch
        Learn a vocabulary and a small SpanBERT from nothing instead, and teach it questions.
    init
        With --from-scratch: a BERT-type Hugging Face folder or hub id to go on from; adds its own column.
    question
        A question to ask of the text at the end.
    page_language
        Of the report: en or ko. Default: that of the questions.
    language
        Of the text: en, ko, ... With ko the model, the bundled text and the questions are Korean. Default: ko where
        your text is Korean, else en. Models and questions come in these two languages.
    seed
        Of the adaptation's masks and order.
    serve
        Afterwards serve the model that answers, and open its page in a browser, until Ctrl-C.
    json
        Print result.json at the end, progress to standard error.
    """
    began = time.perf_counter()  # the imports below count too
    if serve:
        check_installed()
    seconds = parse_budget(budget)
    stream = sys.stderr if json else sys.stdout
    from spanwise.quickstart.run import quickstart as run_quickstart

    result = run_quickstart(
        list(text),
        out=out,
        budget=seconds,
        from_scratch=from_scratch,
        init=init,
        question=question,
        language=page_language,
        text_language=language,
        seed=seed,
        corpus=reading.corpus(),
        console=OutputConsole(file=stream, width=None if stream.isatty() else LOG_WIDTH, highlight=False),
        began=began,
    )
    if json:
        print_json(asdict(result.record))
    if serve:
        serve_models((str(result.qa_model),), port=0, browser=True, start_text=_beginning(list(text), reading))


def _beginning(text: list[Path], reading: LineOptions) -> str | None:
    """Return the beginning of a person's own text, for the page to show first."""
    if not text:
        return None
    from spanwise.text.corpus import read_documents

    document = next(iter(read_documents(text, reading.corpus())))
    return " ".join(document.sentences)[:START_CHARACTERS]
