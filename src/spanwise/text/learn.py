"""Learn a vocabulary from text, in one pass over the corpus and with the same result on every run and machine.

The library's trainer gives ids to continuation characters in the order of a randomly seeded hash table and breaks
ties by id, so two runs on the same text differ. Here the alphabet is counted first and its ids are settled before any
pair is counted; after that no choice is left to chance.

Source: the training rule is the `tokenizers` library's WordPiece (pairs by count, as in byte-pair encoding).
"""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import BinaryIO, cast

import zstandard
from tokenizers import trainers

from spanwise.errors import ConfigError, DataError
from spanwise.runtime.files import atomic_folder
from spanwise.runtime.suggest import did_you_mean
from spanwise.text.corpus import CorpusOptions, Document, read_documents
from spanwise.text.tokenizer_files import SPECIAL_PIECES, wordpiece_backend
from spanwise.text.tokenizers import Tokenizer

KINDS = ("wordpiece",)
CHARACTER_COVERAGE = 0.9999
"""Share of all characters that the alphabet covers; the rarest rest becomes [UNK]."""
SMALLEST_VOCABULARY = 64


def learn_tokenizer(
    source: Iterable[Document] | Iterable[str | Path] | str | Path,
    *,
    vocab_size: int,
    kind: str = "wordpiece",
    cased: bool = True,
    min_frequency: int = 2,
    max_characters: int = 500_000_000,
    num_unused: int = 0,
    max_length: int = 512,
    options: CorpusOptions | None = None,
    out: str | Path | None = None,
) -> Tokenizer:
    """Learn a vocabulary of up to `vocab_size` pieces from documents, or from files, folders and globs.

    The ids 0 to 4 are [PAD] [UNK] [CLS] [SEP] [MASK], then `num_unused` placeholders, the alphabet, and pieces by
    order of learning. The size reached is `vocab_size` of the result; it is smaller where the text has too few
    words that occur `min_frequency` times. Text beyond the first `max_characters` is not looked at. With `out`, the
    tokenizer is also written to that folder, which must not exist.

    Raises: ConfigError for options that can't work; DataError where the text is empty or damaged.
    """
    if kind not in KINDS:
        raise ConfigError(f"kind={kind!r} is not known; there is {', '.join(KINDS)}.{did_you_mean(kind, KINDS)}")
    if vocab_size < SMALLEST_VOCABULARY + num_unused:
        raise ConfigError(
            f"vocab_size={vocab_size} is too small; at least {SMALLEST_VOCABULARY + num_unused} is needed."
        )
    if max_characters < 1 or min_frequency < 1 or num_unused < 0:
        raise ConfigError("max_characters and min_frequency must be at least 1, num_unused at least 0.")
    with tempfile.TemporaryFile(prefix="spanwise-sample-") as file:
        characters = _spool(_sentences(source, options), file, max_characters)
        learned = _learn_wordpiece(file, characters, vocab_size, cased, min_frequency, num_unused)
    tokenizer = Tokenizer(learned, max_length=max_length)
    if out is not None:
        with atomic_folder(Path(out)) as folder:
            tokenizer.save(folder)
    return tokenizer


def _sentences(
    source: Iterable[Document] | Iterable[str | Path] | str | Path, options: CorpusOptions | None
) -> Iterator[str]:
    if isinstance(source, str | Path):
        source = [source]
    items: Iterator[Document | str | Path] = iter(source)
    first = next(items, None)
    if first is None:
        raise DataError("No text was given to learn a vocabulary from.")
    items = chain([first], items)
    if isinstance(first, Document):  # a source is of one kind: the first item tells which
        documents = cast(Iterator[Document], items)
    else:
        documents = read_documents(cast(list[str | Path], list(items)), options)
    for document in documents:
        yield from document.sentences


def _spool(sentences: Iterator[str], file: BinaryIO, max_characters: int) -> Counter[str]:
    """Write the sample to `file`, packed, and count its characters: the alphabet is needed before training."""
    counts: Counter[str] = Counter()
    left = max_characters
    with zstandard.ZstdCompressor(level=1).stream_writer(file, closefd=False) as packed:
        for sentence in sentences:
            sentence = sentence[:left]
            counts.update(sentence)
            packed.write(json.dumps(sentence).encode() + b"\n")
            left -= len(sentence)
            if left <= 0:
                break
    if not counts:
        raise DataError("No text was given to learn a vocabulary from: it holds white space only.")
    return counts


def _unspool(file: BinaryIO) -> Iterator[str]:
    file.seek(0)
    rest = b""
    for chunk in zstandard.ZstdDecompressor().read_to_iter(file):
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            yield json.loads(line)


def _learn_wordpiece(
    file: BinaryIO, characters: Counter[str], vocab_size: int, cased: bool, min_frequency: int, num_unused: int
):
    specials = [*SPECIAL_PIECES.values(), *(f"[unused{number}]" for number in range(num_unused))]
    empty = wordpiece_backend({}, lowercase=not cased, strip_accents=False)
    alphabet = _alphabet(characters, empty, (vocab_size - len(specials)) // 3)
    if not alphabet:
        raise DataError("No text was given to learn a vocabulary from: it holds control characters only.")
    continuing = [
        f"##{character}"
        for character in alphabet
        if len(empty.pre_tokenizer.pre_tokenize_str(empty.normalizer.normalize_str("a" + character))) == 1
    ]
    trainer = trainers.WordPieceTrainer(
        vocab_size=vocab_size,
        min_frequency=min_frequency,
        show_progress=False,
        # First come, first numbered: this fixes the ids of the alphabet. They are plain pieces again below.
        special_tokens=specials + sorted(alphabet) + sorted(continuing),
        initial_alphabet=alphabet,
        limit_alphabet=len(alphabet),
    )
    empty.train_from_iterator(_unspool(file), trainer)
    return wordpiece_backend(empty.get_vocab(), lowercase=not cased, strip_accents=False)


def _alphabet(characters: Counter[str], backend, largest: int) -> list[str]:
    """The most frequent characters, as the normaliser leaves them, up to the coverage and to `largest`."""
    counts: Counter[str] = Counter()
    for character, count in characters.items():
        for normal in backend.normalizer.normalize_str(character):
            if not normal.isspace():
                counts[normal] += count
    wanted = CHARACTER_COVERAGE * counts.total()
    kept: list[str] = []
    covered = 0
    for character, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        if covered >= wanted or len(kept) >= largest:
            break
        kept.append(character)
        covered += count
    return kept
