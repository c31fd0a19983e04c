"""Which documents of a text are kept out of training, to measure on: chosen by their content alone.

A hash of a document puts all documents into an order that no draw and no order of files changes, and copies of one
document stay together. The first documents of that order are kept out.
"""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from spanwise.errors import DataError
from spanwise.text.corpus import Document

FEW_DOCUMENTS = 40  # below, parts of documents are kept out instead of whole ones
PART_SENTENCES = 10
FEWEST = 20  # documents, or parts of them: of fewer none is kept out
SHARE = 0.1  # of all documents
FEWEST_KEPT_OUT = 8  # where there are so many: the error of a mean is counted over documents
LARGEST_PART = 0.125  # of all that is kept out, from one document


def digest_of(document: Document) -> int:
    """A number of 64 bits that a document's sentences decide."""
    digest = hashlib.sha256("\n".join(document.sentences).encode()).digest()
    return int.from_bytes(digest[:8], "big")


def parts_of(documents: Iterable[Document]) -> Iterator[Document]:
    """Cut documents into parts of a few sentences."""
    for document in documents:
        for first in range(0, len(document.sentences), PART_SENTENCES):
            yield replace(document, sentences=document.sentences[first : first + PART_SENTENCES], ends=True)


def units_of(documents: Iterable[Document], *, by_parts: bool) -> Iterator[Document]:
    """The documents that are kept out or not as a whole; a piece of a very long one counts as one of its own."""
    if by_parts:
        yield from parts_of(documents)
    else:
        yield from (replace(document, ends=True) for document in documents)


@dataclass(frozen=True, kw_only=True)
class Split:
    """What is kept out of a text."""

    digests: frozenset[int]
    by_parts: bool  # parts of documents, because there are few
    num_units: int  # documents, or parts of them
    num_documents: int
    num_characters: int

    def training(self, documents: Iterable[Document], other: "Split | None" = None) -> Iterator[Document]:
        """The documents that are trained on; what `other` keeps out of another text is kept out of this one too.

        Where one of the two texts is split by parts and the other by documents, a document that shares a part with what
        the other keeps out is left out whole.
        """
        kept_out = self.digests | other.digests if other and other.by_parts == self.by_parts else self.digests
        for document in documents:
            if other and other.by_parts != self.by_parts and other._holds_of(document):
                continue
            for unit in units_of([document], by_parts=self.by_parts):
                if digest_of(unit) not in kept_out:
                    yield unit

    def _holds_of(self, document: Document) -> bool:
        """Return whether a document, or one of its parts, is kept out."""
        return any(digest_of(unit) in self.digests for unit in units_of([document], by_parts=self.by_parts))

    def held_out(self, documents: Iterable[Document], max_characters: int) -> list[Document]:
        """The documents that are measured, up to so many characters, in the order of their hashes.

        Of a copy the first is taken; of a long document its beginning, so that no single one decides.
        """
        found: dict[int, Document] = {}
        for unit in units_of(documents, by_parts=self.by_parts):
            digest = digest_of(unit)
            if digest in self.digests and digest not in found:
                found[digest] = _beginning(unit, int(max_characters * LARGEST_PART))
        taken, left = [], max_characters
        for digest in sorted(found):
            if left <= 0:
                break
            taken.append(found[digest])
            left -= found[digest].num_characters
        return taken


def split_of(documents: Iterable[Document], name: str) -> Split:
    """Read a text once and choose what is kept out: a tenth of its documents; where it has few, of parts of ten
    sentences.

    Raises: DataError for a text too small to keep anything out; `name` says what text it is.
    """
    whole: list[int] = []
    parts: list[int] = []
    num_characters = 0
    for document in documents:
        whole.append(digest_of(document))
        num_characters += document.num_characters
        if len(whole) < FEW_DOCUMENTS:
            parts += [digest_of(part) for part in parts_of([document])]
    by_parts = len(whole) < FEW_DOCUMENTS
    units = parts if by_parts else whole
    if len(set(units)) < FEWEST:
        raise DataError(
            f"{name} is too small to keep a part of it out for measuring: {len(whole)} document(s) of "
            f"{num_characters:,} characters, which are {len(set(units))} different part(s) of {PART_SENTENCES} "
            f"sentences; at least {FEWEST} are needed. Add text (a blank line ends a document)."
        )
    distinct = sorted(set(units))
    count = max(int(SHARE * len(distinct)), min(FEWEST_KEPT_OUT, len(distinct) // 4))
    return Split(
        digests=frozenset(distinct[:count]),
        by_parts=by_parts,
        num_units=len(units),
        num_documents=len(whole),
        num_characters=num_characters,
    )


def _beginning(document: Document, max_characters: int) -> Document:
    sentences: list[str] = []
    size = 0
    for sentence in document.sentences:
        if sentences and size + len(sentence) > max_characters:
            break
        sentences.append(sentence)
        size += len(sentence)
    return replace(document, sentences=sentences)
