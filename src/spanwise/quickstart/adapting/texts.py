"""The text of an adaptation: what is learned from, what is kept out for the measures, and what to expect of it.

A person's own text is written anew, a sentence per line, so that what is kept out is in no file that is learned from.
The adaptation keeps a part of what it learns from for itself, to choose its best step by.
"""

import io
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, islice
from pathlib import Path

from spanwise.data.cached_encoder import CachedEncoder
from spanwise.errors import DataError
from spanwise.quickstart.adapting.record import TextRecord
from spanwise.quickstart.bundle import BundledCorpus
from spanwise.quickstart.language import FoundLanguage
from spanwise.quickstart.texts import Language
from spanwise.quickstart.texts_in import CorpusReader
from spanwise.runtime.disk import DISK
from spanwise.text.corpus import CorpusOptions, Document, corpus_files, read_documents
from spanwise.text.readers import read_lines
from spanwise.text.tokenizers import Tokenizer
from spanwise.weights.learned_from import Origin

HELD_OUT_ONE_IN = 10
LITTLE_TEXT = 100_000  # characters: of less, little is learned
TIMED_CHARACTERS = 1_000_000  # at most, to tell how long text takes to prepare
GENERAL_CHARACTERS_A_SECOND = 2_500  # of budget: a fifth of what is read is general text
FEWEST_GENERAL = 200_000
PARAGRAPH_SENTENCES = 6


@dataclass(frozen=True, kw_only=True)
class AdaptedText:
    """Files to learn from and to measure on, how they are read, and what the page says of them."""

    learned: Path
    kept_out: Path
    options: CorpusOptions
    origin: Origin
    record: TextRecord


def bundled_text(bundle: BundledCorpus) -> AdaptedText:
    """Return the bundled text of another domain."""
    options = CorpusOptions(language=bundle.language)
    learned = list(read_documents(bundle.own_train, options))
    record = TextRecord(
        source="bundled",
        bundle=bundle.language,
        num_documents=len(learned),
        num_characters=sum(document.num_characters for document in learned),
        num_valid_documents=sum(1 for _ in read_documents(bundle.own_valid, options)),
        num_valid_tokens=0,
        is_cut=False,
    )
    return AdaptedText(
        learned=bundle.own_train, kept_out=bundle.own_valid, options=options, origin=bundle.own_origin, record=record
    )


def own_text(reader: CorpusReader, found: FoundLanguage | None, bundle: BundledCorpus, folder: Path) -> AdaptedText:
    """Write a person's text in two parts, by its content alone. Raises: DataError where it is too small for two."""
    counts = {}
    for name, held_out in (("learned", False), ("kept-out", True)):
        counts[name] = write_text(folder / f"{name}.txt", reader.documents(held_out=held_out))
    num_documents, num_characters = counts["learned"]
    if not counts["kept-out"][0] or not num_documents:
        total = num_characters + counts["kept-out"][1]
        raise DataError(
            f"The text is too short to keep a part for measuring ({total:,} characters); give some hundred thousand "
            "characters, or leave TEXT out to use the bundled text."
        )
    record = TextRecord(
        source="files",
        bundle=bundle.language,
        num_documents=num_documents,
        num_characters=num_characters,
        num_valid_documents=counts["kept-out"][0],
        num_valid_tokens=0,
        is_cut=reader.is_cut,
        notes=list(what_to_expect(reader, num_characters, found, bundle.language)),
    )
    return AdaptedText(
        learned=folder / "learned.txt",
        kept_out=folder / "kept-out.txt",
        options=CorpusOptions(lines="sentences", language=reader.options.language),
        origin=Origin().named(reader.texts),
        record=record,
    )


def write_text(path: Path, documents: Iterable[Document], sentences: int = 1) -> tuple[int, int]:
    """Write documents as text with so many sentences per line; return how many documents and characters."""
    number = characters = 0
    DISK.make_folders(path.parent)
    with io.TextIOWrapper(DISK.open_to_write(path), encoding="utf-8") as file:
        for document in documents:
            for first in range(0, len(document.sentences), sentences):
                file.write(" ".join(document.sentences[first : first + sentences]) + "\n")
            file.write("\n")
            number += 1
            characters += document.num_characters
    return number, characters


def general_text(bundle: BundledCorpus, budget: float, path: Path, options: CorpusOptions) -> int:
    """Write as much general text as the budget can read a fifth of its time, to be read with `options`; return how many
    characters it has."""
    left = max(FEWEST_GENERAL, int(GENERAL_CHARACTERS_A_SECOND * budget))
    documents = read_documents(bundle.train_text, CorpusOptions(language=bundle.language))
    per_line = 1 if options.lines == "sentences" else PARAGRAPH_SENTENCES
    _, num_characters = write_text(path, up_to(documents, left), sentences=per_line)
    return num_characters


def up_to(documents: Iterable[Document], characters: int) -> Iterator[Document]:
    """Give documents until they have so many characters."""
    for document in documents:
        if characters <= 0:
            return
        yield document
        characters -= document.num_characters


def seconds_per_character(text: Path, options: CorpusOptions, tokenizer: Tokenizer) -> float:
    """Time how long a character of a text takes to be read and encoded. What only a first call takes is not to be in
    it, so text must have been encoded in this process before."""
    began = time.perf_counter()
    documents = list(up_to(read_documents(text, options), TIMED_CHARACTERS))
    CachedEncoder(tokenizer).encode_flat([sentence for document in documents for sentence in document.sentences])
    return (time.perf_counter() - began) / sum(document.num_characters for document in documents)


def what_to_expect(
    reader: CorpusReader, num_characters: int, found: FoundLanguage | None, of_model: Language
) -> Iterator[str]:
    """Say what a person must know before a text like theirs is adapted to."""
    if is_one_line(reader.texts, reader.options):
        yield (
            "Your text is a single line, so it is taken for one document, and what is measured comes from the "
            "document that is learned from. Put paragraphs on lines of their own, and a blank line between documents."
        )
    if num_characters < LITTLE_TEXT:
        yield (
            f"Your text has only {num_characters:,} characters to learn from. Expect a small gain that may not exceed "
            "its error, and no better answers; from some hundred thousand characters on, the gain is plain."
        )
    name = {"en": "English", "ko": "Korean"}[of_model]
    if found is not None and found != of_model:
        yield (
            f"Your text does not look {name}, and the model that is adapted has read {name} alone: it cuts your words "
            "into small pieces and will stay weak. --from-scratch learns a vocabulary of your text; or adapt a model "
            "of its language: spanwise adapt MODEL TEXT."
        )
    if reader.is_cut:
        yield (
            f"Your text is longer than this budget can read: the first {reader.max_characters:,} characters are used. "
            "A longer --budget takes more."
        )


def is_one_line(texts: Sequence[str | Path], options: CorpusOptions) -> bool:
    """Return whether there is one line of text in all; a table has rows and no lines."""
    files = corpus_files(texts)
    if any(".parquet" in file.suffixes for file in files):
        return False
    lines = ((file, line.number) for file in files for line in read_lines(file, options.errors) if line.text.strip())
    return len(list(islice(groupby(lines), 2))) == 1
