"""The texts of an adaptation as stores: a person's own and general text, each to train on and to measure on.

texts/own  texts/general                        to train on
texts/own-held-out  texts/general-held-out      to measure on, of documents that are in neither store above
texts/own-before  texts/general-before          the same documents by the start's own vocabulary, where it grows
texts/general-heads                             general text by that vocabulary, where fresh heads are taught first
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from spanwise.adapt.measure import clusters_of
from spanwise.data.held_out import Split, split_of
from spanwise.data.prepare import prepare
from spanwise.errors import ConfigError
from spanwise.runtime.files import JsonObject
from spanwise.text.corpus import CorpusOptions, Document, read_documents
from spanwise.text.tokenizers import Tokenizer
from spanwise.weights.learned_from import Origin

FOLDER = "texts"
OWN, GENERAL = "own", "general"
HELD_OUT, BEFORE, HEADS = "held-out", "before", "heads"
SAMPLE_DOCUMENTS = 20  # that tell how many characters a token has


@dataclass(frozen=True, kw_only=True)
class SourceText:
    """Files that are learned from and measured on: a person's own, or general text that nothing may be lost on.

    `held_out` are files to measure on; None keeps documents of `texts` out of training instead.
    """

    name: str  # as the report calls it
    texts: Sequence[str | Path]
    held_out: Sequence[str | Path] | None = None
    corpus: CorpusOptions
    origin: Origin = field(default_factory=Origin)

    @property
    def files(self) -> list[str | Path]:
        """All that is read of it."""
        return [*self.texts, *(self.held_out or ())]

    @property
    def said_origin(self) -> Origin:
        """The origin, with the names of the texts where it has none."""
        return self.origin.named(self.texts)

    def documents(self) -> Iterator[Document]:
        """The documents of `texts`, read anew."""
        return read_documents(list(self.texts), self.corpus)


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
    """A text with the choice of what is kept out of it; `key` is OWN or GENERAL."""

    key: str
    source: SourceText
    split: Split

    def training(self, others: Split) -> Iterator[Document]:
        """The documents that are trained on; what is kept out of the other text is kept out of this one too."""
        split = self.split if self.source.held_out is None else replace(self.split, digests=frozenset())
        return split.training(self.source.documents(), others)

    def held_out(self, max_characters: int) -> list[Document]:
        """The documents that are measured."""
        if self.source.held_out is None:
            return self.split.held_out(self.source.documents(), max_characters)
        name = f"the held-out text of {self.source.name}"
        measured = SourceText(name=name, texts=self.source.held_out, corpus=self.source.corpus)
        return split_text(self.key, measured).held_out(max_characters)


def split_text(key: str, source: SourceText) -> SplitText:
    """Choose what is kept out of a text. Raises: DataError where it is too small."""
    return SplitText(key=key, source=source, split=split_of(source.documents(), source.name))


def refuse_same(own: SplitText, general: SplitText) -> None:
    """Raises: ConfigError where most of what general text is measured on is a person's own: no loss of other text would
    be seen. What a smaller part of own text loses is hidden by as much as its share."""
    measured = general.split.digests
    num_own = len(measured & own.split.digests)
    if general.source.held_out is None and 2 * num_own > len(measured):
        raise ConfigError(
            f"{num_own} of {len(measured)} documents (or parts) of {general.source.name} that would be measured are "
            "your own, so they would not tell what is lost on other text. Name other text as general text."
        )


def characters_per_token(text: SplitText, tokenizer: Tokenizer) -> float:
    """How many characters a token of a text has, by its first documents."""
    characters = tokens = 0
    for document, _ in zip(text.source.documents(), range(SAMPLE_DOCUMENTS), strict=False):
        sentences = document.sentences[:50]
        characters += sum(map(len, sentences))
        tokens += len(tokenizer.encode_flat(sentences)[0])
    return characters / max(1, tokens)


def write_stores(
    folder: Path, text: SplitText, others: Split, tokenizer: Tokenizer, before: Tokenizer | None, max_characters: int
) -> TextFacts:
    """Write the stores of one text; `others` is what is kept out of the other one, and `before` a vocabulary that
    measures too. Raises: DataError where nothing is left to train on."""
    measured = text.held_out(max_characters)
    report = prepare(text.training(others), tokenizer, folder / text.key)
    prepare(measured, tokenizer, folder / f"{text.key}-{HELD_OUT}")
    if before is not None:
        prepare(measured, before, folder / f"{text.key}-{BEFORE}")
    return TextFacts(
        num_documents=text.split.num_documents,
        num_characters=text.split.num_characters,
        by_parts=text.split.by_parts,
        num_tokens=report.num_tokens,
        held_out_documents=len(measured),
        held_out_characters=sum(document.num_characters for document in measured),
        clusters=tuple(clusters_of(measured)),
    )
