"""Ask questions of a folder of text: `spanwise.ask("my-text/", "Who built the bridge?")`."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from spanwise.asking.documents.read import ReadingOptions
from spanwise.asking.keeping import OpenIndex
from spanwise.asking.merging import Candidates, MergedAnswer, NearPassage, gather, merge, weights_for
from spanwise.asking.passages import Passage, sentence_around
from spanwise.asking.reader import Reader
from spanwise.asking.term_weights import Hit
from spanwise.errors import ConfigError, DataError
from spanwise.runtime.device import Precision
from spanwise.text.composition import is_korean
from spanwise.text.tokenizers import refuse_surrogates

PASSAGES = 20  # that are read for a question


@dataclass(frozen=True, kw_only=True)
class FoundAnswer:
    """An answer and where it stands: `sentence[start:end] == answer`, in line `line` of `file` (rows of tables,
    paragraphs of DOCX and HWPX), on `page` where the format has pages; `score` is the probability that it is right."""

    answer: str
    score: float
    file: str
    line: int
    page: int | None
    sentence: str
    start: int
    end: int


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A question with its answers, best first; none: nothing was found that is as sure as the threshold."""

    question: str
    answers: tuple[FoundAnswer, ...]

    def record(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        return {"question": self.question, "found": bool(self.answers), "answers": [asdict(a) for a in self.answers]}


@dataclass(frozen=True, kw_only=True)
class AskOptions:
    """How questions are answered. Raises: ConfigError for a number outside its range."""

    top: int = 1  # answers a question
    threshold: float | None = None  # least score of an answer; None: as calibrated on the bundled questions

    def __post_init__(self) -> None:
        if self.top < 1:
            raise ConfigError(f"top={self.top}: a number of answers was expected, 1 or more.")
        if self.threshold is not None and not 0 <= self.threshold <= 1:
            raise ConfigError(f"threshold is a probability from 0 to 1, got {self.threshold}.")


class TextFolder:
    """A folder of text with its index, ready to be asked again and again.

    model: a folder, hub id or shipped name; None: the one that ships for the language of the passages. `say` is told
    when files are indexed; `notes` say what was left out, and where no index can be kept, that too.
    Raises: DataError where the folder has no text or a file can't be read; CheckpointError for the model; ConfigError.
    """

    def __init__(
        self,
        folder: str | Path,
        *,
        model: str | Path | None = None,
        tokenizer: str | Path | None = None,
        device: str | None = None,
        precision: Precision = "auto",
        reading: ReadingOptions | None = None,
        say: Callable[[str], None] = lambda words: None,
    ) -> None:
        self._device, self._precision = device, precision
        self._given = None if model is None else Reader(model, tokenizer=tokenizer, device=device, precision=precision)
        self._shipped: dict[str, Reader] = {}
        if model is None and tokenizer is not None:
            raise ConfigError("a tokenizer belongs to a model; name the model too.")
        opened = OpenIndex(Path(folder), reading or ReadingOptions(), say)
        self._opened = opened  # a temporary index goes with it
        self.folder, self.index, self.notes = Path(folder), opened.index, tuple(opened.notes)

    def ask(self, question: str, options: AskOptions | None = None) -> Asked:
        """Answer one question. Raises: DataError for an empty one."""
        options = options or AskOptions()
        refuse_surrogates(question)
        if not question.strip():
            raise DataError("the question is empty; ask something.")
        hits = self.index.weights.search(question, PASSAGES)
        passages = [self.index.passage(hit.number) for hit in hits]
        language = "ko" if is_korean(passage.text for passage in passages) else "en"
        weights = weights_for(language)
        threshold = weights.threshold if options.threshold is None else options.threshold
        merged = merge(self.candidates(question, hits, passages, language), weights, options.top)
        answers = (
            self._located(one, hits[one.passage], passages[one.passage], language)
            for one in merged
            if one.probability >= threshold
        )
        return Asked(question=question, answers=tuple(answers))

    def candidates(self, question: str, hits: Sequence[Hit], passages: Sequence[Passage], language: str) -> Candidates:
        """Return what the reader finds in passages, with what the index says of each."""
        texts = [passage.text for passage in passages]
        total = self.index.weights.information(question)
        best = hits[0].score if hits else 1.0
        near = [NearPassage(hit.score / best, min(1.0, hit.score / total)) for hit in hits]
        return gather(texts, near, self.reader(language).read(question, texts) if texts else [])

    def reader(self, language: str) -> Reader:
        """Return the model that was named, or the one that ships for a language."""
        if self._given is not None:
            return self._given
        if language not in self._shipped:
            self._shipped[language] = Reader.for_language(language, device=self._device, precision=self._precision)
        return self._shipped[language]

    def _located(self, found: MergedAnswer, hit: Hit, passage: Passage, language: str) -> FoundAnswer:
        line, page = passage.place(found.start)
        first, last = sentence_around(passage.text, found.start, found.end, language)
        return FoundAnswer(
            answer=passage.text[found.start : found.end],
            score=found.probability,
            file=self.index.file_of(hit.number).file.name,
            line=line,
            page=page or None,
            sentence=passage.text[first:last],
            start=found.start - first,
            end=found.end - first,
        )


def ask(
    folder: str | Path,
    question: str | Sequence[str],
    *,
    model: str | Path | None = None,
    top: int = 1,
    threshold: float | None = None,
    reading: ReadingOptions | None = None,
    device: str | None = None,
    precision: Precision = "auto",
) -> Asked | list[Asked]:
    """Answer a question, or several, from a folder of text. To ask again later, keep a `TextFolder`.

    `top` is how many answers are given at most, `threshold` how sure they must be (0: whatever there is); without a
    model the shipped one of the text's language answers. The index is kept in the folder and renewed as files change.
    Raises: DataError where the folder has no text, a file can't be read or a question is empty; CheckpointError for
    the model; ConfigError for an option.
    """
    options = AskOptions(top=top, threshold=threshold)
    asked = [question] if isinstance(question, str) else question
    if not isinstance(asked, Sequence) or not all(isinstance(one, str) for one in asked):
        raise DataError(f"the question is {question!r}; a text, or a list of texts, was expected.")
    text = TextFolder(folder, model=model, device=device, precision=precision, reading=reading)
    if isinstance(question, str):
        return text.ask(question, options)
    return [text.ask(one, options) for one in asked]
