"""`spanwise make-questions`: text in, questions that need no labels out."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from spanwise.cli.console import print_json, say
from spanwise.cli.options.budget import format_seconds
from spanwise.cli.options.ranges import CountOrNone, Seed, between
from spanwise.cli.options.text import USUAL_LINES, LineOptions
from spanwise.errors import ConfigError


def make_questions(
    *text: Annotated[Path, Parameter(required=True)],
    out: Path,
    language: Literal["en", "ko"] = "en",
    reading: LineOptions = USUAL_LINES,
    max_questions: CountOrNone = None,
    seed: Seed = 0,
    kinds: Annotated[
        list[Literal["person", "place", "date", "number", "name", "recurring"]] | None,
        Parameter(consume_multiple=True),
    ] = None,
    forms: Annotated[list[Literal["wh", "cloze"]] | None, Parameter(consume_multiple=True)] = None,
    impossible: Annotated[float, Parameter(validator=between(0.0, 0.99))] = 0.0,
    not_from: Annotated[list[Path] | None, Parameter(consume_multiple=True)] = None,
    filter: str | None = None,
    filter_f1: Annotated[float | None, Parameter(validator=between(0.0, 100.0))] = None,
    json: bool = False,
) -> None:
    """Make questions from text by rules, without labels: a file of the SQuAD shape to fine-tune on.

    Parameters
    ----------
    text
        Files, folders or globs: .txt .jsonl .parquet, maybe packed as .gz .xz .zst. A blank line ends a document.
    out
        File to write (.json). Each question also tells its kind, its form, and the sentence it was made from.
    language
        Of the text. Korean needs pip install 'spanwise[ko]'.
    max_questions
        Stop after so many.
    seed
        Decides which questions are taken.
    kinds
        Kinds of answers: person, place, date, number, name, recurring (nouns that come back). Default: all.
    forms
        wh (Who ...?) or cloze (the sentence with a blank). Default: both.
    impossible
        Share of questions to put to a passage of the same document that does not hold their answer (SQuAD 2.0).
    not_from
        Question files; passages that share eight words in a row with one of their paragraphs are left out.
    filter
        Folder of a model fine-tuned for qa: only questions whose answer it finds by itself are kept.
    filter_f1
        F1 from which an answer counts as found. Default: 100, the same words.
    json
        Print one JSON object.
    """
    from spanwise.questions.answered import AnswerFilter
    from spanwise.questions.make import make_questions as make
    from spanwise.questions.parts import FORMS, KINDS

    if filter_f1 is not None and filter is None:
        raise ConfigError("--filter-f1 says when a model has found an answer; name the model: --filter FOLDER.")
    keep = None
    if filter is not None:
        keep = AnswerFilter(model=filter, language=language, min_f1=100.0 if filter_f1 is None else filter_f1)
    report = make(
        text,
        out,
        language=language,
        max_questions=max_questions,
        seed=seed,
        kinds=kinds or KINDS,
        forms=forms or FORMS,
        impossible=impossible,
        not_from=not_from or (),
        keep=keep,
        options=reading.corpus(),
    )
    if json:
        print_json({"out": str(out), **asdict(report)})
        return
    say(f"Made {report.num_questions:,} questions of {report.num_documents:,} documents: {out}")
    told = ", ".join(f"{number:,} {name}" for name, number in {**report.kinds, **report.forms}.items() if number)
    say(f"{told}; {report.num_impossible:,} without an answer. {format_seconds(report.seconds)}")
    if not_from:
        say(f"{report.num_refused:,} passages were left out: they share eight words in a row with --not-from.")
    if keep is not None:
        say(f"{report.num_dropped:,} questions were left out: the model gave other answers.")
