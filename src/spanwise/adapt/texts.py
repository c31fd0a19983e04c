"""The texts of an adaptation as stores: a person's own and general text, each to train on and to measure on.

texts/own  texts/general                        to train on
texts/own-held-out  texts/general-held-out      to measure on, of documents that are in neither store above
texts/own-before  texts/general-before          the same documents by the start's own vocabulary, where it grows
texts/general-heads                             general text by that vocabulary, where fresh heads are taught first
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from spanwise.adapt.measure import clusters_of
from spanwise.data.held_out import Split, split_of
from spanwise.data.prepare import prepare
from spanwise.runtime.files import JsonObject
from spanwise.text.corpus import CorpusOptions, Document, read_documents
from spanwise.text.tokenizers import Tokenizer

FOLDER = "texts"
OWN, GENERAL = "own", "general"
HELD_OUT, BEFORE, HEADS = "held-out", "before", "heads"
SAMPLE_DOCUMENTS = 20  # that tell how many characters a token has


@dataclass(frozen=True, kw_only=True)
class GeneralText:
    """Text of no domain of its own, that is replayed and that nothing may be lost on.

    `held_out` are files to measure on; None keeps documents of `texts` out of training instead.
    """

    name: str  # as the report calls it
    texts: Sequence[str | Path]
    held_out: Sequence[str | Path] | None = None
    corpus: CorpusOptions


@dataclass(frozen=True, kw_only=True)
class TextFacts:
    """The counts of one text, as the record keeps them."""

    num_documents: int
    num_characters: int
    by_parts: bool  # parts of documents were kept out, because there are few
    num_tokens: int = 0  # to train on
    held_out_documents: int = 0
    held_out_characters: int = 0
    clusters: tuple[int, ...] = ()  # held-out documents of each cluster

    @classmethod
    def from_record(cls, record: JsonObject) -> TextFacts:
        """Read what `asdict` wrote."""
        return cls(**{**record, "clusters": tuple(record["clusters"])})


@dataclass(frozen=True, kw_only=True)
class SplitText:
    """A text with the choice of what is kept out of it; `measured_on` are other files to measure on."""

    name: str
    texts: Sequence[str | Path]
    corpus: CorpusOptions
    split: Split
    measured_on: Sequence[str | Path] | None = None

    def documents(self) -> Iterator[Document]:
        """All documents, read anew."""
        return read_documents(list(self.texts), self.corpus)

    def training(self, others: Split) -> Iterator[Document]:
        """The documents that are trained on; what is kept out of the other text is kept out of this one too."""
        split = self.split if self.measured_on is None else replace(self.split, digests=frozenset())
        return split.training(self.documents(), others.digests)

    def held_out(self, max_characters: int) -> list[Document]:
        """The documents that are measured."""
        if self.measured_on is None:
            return self.split.held_out(self.documents(), max_characters)
        other = split_of(read_documents(list(self.measured_on), self.corpus), f"the held-out text of {self.name}")
        documents = read_documents(list(self.measured_on), self.corpus)
        return other.held_out(documents, max_characters)


def split_own(texts: Sequence[str | Path], corpus: CorpusOptions) -> SplitText:
    """Choose what is kept out of a person's own text. Raises: DataError where it is too small."""
    split = split_of(read_documents(list(texts), corpus), "your text")
    return SplitText(name=OWN, texts=texts, corpus=corpus, split=split)


def split_general(general: GeneralText) -> SplitText:
    """Choose what is kept out of general text. Raises: DataError where it is too small."""
    split = split_of(read_documents(list(general.texts), general.corpus), general.name)
    return SplitText(
        name=GENERAL, texts=general.texts, corpus=general.corpus, split=split, measured_on=general.held_out
    )


def characters_per_token(text: SplitText, tokenizer: Tokenizer) -> float:
    """How many characters a token of a text has, by its first documents."""
    characters = tokens = 0
    for document, _ in zip(text.documents(), range(SAMPLE_DOCUMENTS), strict=False):
        sentences = document.sentences[:50]
        characters += sum(map(len, sentences))
        tokens += sum(len(encoding.ids) for encoding in tokenizer.encode_batch(sentences))
    return characters / max(1, tokens)


def write_stores(
    folder: Path, text: SplitText, others: Split, tokenizer: Tokenizer, before: Tokenizer | None, max_characters: int
) -> TextFacts:
    """Write the stores of one text; `others` is what is kept out of the other one, and `before` a vocabulary that
    measures too. Raises: DataError where nothing is left to train on."""
    measured = text.held_out(max_characters)
    report = prepare(text.training(others), tokenizer, folder / text.name)
    prepare(measured, tokenizer, folder / f"{text.name}-{HELD_OUT}")
    if before is not None:
        prepare(measured, before, folder / f"{text.name}-{BEFORE}")
    return TextFacts(
        num_documents=text.split.num_documents,
        num_characters=text.split.num_characters,
        by_parts=text.split.by_parts,
        num_tokens=report.num_tokens,
        held_out_documents=len(measured),
        held_out_characters=sum(len(sentence) for document in measured for sentence in document.sentences),
        clusters=tuple(clusters_of(measured)),
    )
