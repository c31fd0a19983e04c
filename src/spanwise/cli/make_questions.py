"""`spanwise make-questions`: text in, questions that need no labels out."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from spanwise.cli.console import print_json, say
from spanwise.cli.options.budget import format_seconds
from spanwise.cli.options.ranges import CountOrNone, Seed, between
from spanwise.cli.options.text import FileOptions, watched
from spanwise.errors import ConfigError
from spanwise.runtime.wording import counted

if TYPE_CHECKING:
    from spanwise.questions.answered import AnswerFilter
    from spanwise.questions.make import Language, MakeReport

KindOrAll = list[Literal["person", "place", "date", "number", "name", "recurring"]] | None


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class QuestionOptions:
    """Options that say which questions are made, and how many."""

    max_questions: CountOrNone = None
    """Stop after so many."""
    seed: Seed = 0
    """Decides which questions are taken."""
    kinds: Annotated[KindOrAll, Parameter(consume_multiple=True)] = None
    """Kinds of answers: person, place, date, number, name, recurring (nouns that come back). Default: all."""
    forms: Annotated[list[Literal["wh", "cloze"]] | None, Parameter(consume_multiple=True)] = None
    """wh (Who ...?) or cloze (the sentence with a blank). Default: both."""
    impossible: Annotated[float, Parameter(validator=between(0.0, 0.99))] = 0.0
    """Share of questions to put to a passage of the same document that does not hold their answer (SQuAD 2.0)."""
    same_sentence: Annotated[float | None, Parameter(validator=between(0.0, 1.0))] = None
    """Share of questions to put, in other words, to the passage that holds their own sentence. Default: 0 in English,
    0.8 in Korean."""
    not_from: Annotated[list[Path] | None, Parameter(consume_multiple=True)] = None
    """Question files; documents that share eight words in a row with one of their paragraphs are left out."""


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class FilterOptions:
    """Options about a model that has to find the answers."""

    filter: str | None = None
    """Folder of a model fine-tuned for qa: only questions whose answer it finds by itself are kept."""
    filter_f1: Annotated[float | None, Parameter(validator=between(0.0, 100.0))] = None
    """F1 from which an answer counts as found. Default: 100, the same words."""

    def load(self, language: "Language") -> "AnswerFilter | None":
        """Return the filter; None where no model is named. Raises: ConfigError for a bound without a model."""
        if self.filter is None:
            if self.filter_f1 is not None:
                raise ConfigError("--filter-f1 says when a model has found an answer; name the model: --filter FOLDER.")
            return None
        from spanwise.questions.answered import AnswerFilter

        return AnswerFilter(
            model=self.filter, language=language, min_f1=100.0 if self.filter_f1 is None else self.filter_f1
        )


USUAL_FILES, USUAL_QUESTIONS, NO_FILTER = FileOptions(), QuestionOptions(), FilterOptions()


def make_questions(
    *text: Annotated[Path, Parameter(required=True)],
    out: Path,
    language: Literal["en", "ko"] = "en",
    reading: FileOptions = USUAL_FILES,
    asked: QuestionOptions = USUAL_QUESTIONS,
    kept: FilterOptions = NO_FILTER,
    json: bool = False,
) -> None:
    """Make questions from text by rules, without labels: a file of the SQuAD shape to fine-tune on.

    Parameters
    ----------
    text
        Files, folders or globs: .txt .jsonl .parquet, maybe packed as .gz .xz .zst .bz2. A blank line ends a document.
        Lines are read whole; those that end like no sentence (headings, items of a list) are left out.
    out
        File to write (.json). Each question also tells its kind, its form, and the sentence it was made from.
    language
        Of the text. Korean needs pip install 'spanwise[ko]'.
    json
        Print one JSON object.
    """
    keep = kept.load(language)
    from spanwise.questions.make import make_questions as make
    from spanwise.questions.parts import FORMS, KINDS
    from spanwise.runtime.progress import Gauge

    with Gauge("making", "MB") as gauge:
        report = make(
            text,
            out,
            language=language,
            max_questions=asked.max_questions,
            seed=asked.seed,
            kinds=asked.kinds or KINDS,
            forms=asked.forms or FORMS,
            impossible=asked.impossible,
            same_sentence=asked.same_sentence,
            not_from=asked.not_from or (),
            keep=keep,
            options=reading.corpus(),
            watch=lambda documents: watched(documents, text, gauge),
        )
    if json:
        print_json({"out": str(out), **asdict(report)})
    else:
        _show(report, out, has_forbidden=bool(asked.not_from), is_filtered=keep is not None)


def _show(report: "MakeReport", out: Path, *, has_forbidden: bool, is_filtered: bool) -> None:
    made, of = counted(report.num_questions, "question"), counted(report.num_documents, "document")
    say(f"Made {made} of {of}: {out}")
    told = ", ".join(f"{number:,} {name}" for name, number in {**report.kinds, **report.forms}.items() if number)
    say(f"{told}; {report.num_impossible:,} without an answer. {format_seconds(report.seconds)}")
    if report.num_left_out:
        say(f"Left out: {counted(report.num_left_out, 'line')} without the end of a sentence (headings, list items).")
    if has_forbidden:
        documents = counted(report.num_refused, "document")
        say(f"Left out: {documents} with eight words in a row that --not-from has too.")
    if is_filtered:
        say(f"Left out: {counted(report.num_dropped, 'question')} to which the model gave another answer.")
