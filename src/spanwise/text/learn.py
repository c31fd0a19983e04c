"""Learn a vocabulary from text, in one pass over the corpus and with the same result on every run and machine.

The library's trainers give ids to continuation characters in the order of a randomly seeded hash table and break ties
by id, so two runs on the same text differ. Here the alphabet is counted first and its ids are settled before any pair
is counted; after that no choice is left to chance. How each kind is learned: `text/kinds/`.
"""

import warnings
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from itertools import tee
from pathlib import Path
from typing import Literal

import tokenizers

from spanwise.errors import ConfigError
from spanwise.runtime.files import atomic_folder
from spanwise.runtime.suggest import did_you_mean
from spanwise.text.composition import is_korean
from spanwise.text.corpus import CorpusOptions, Source, documents_of
from spanwise.text.extend import with_roles
from spanwise.text.kinds import bpe, byte_bpe, unigram, wordpiece
from spanwise.text.sample import Sample, Wanted
from spanwise.text.tokenizers import Tokenizer


@dataclass(frozen=True, kw_only=True)
class Kind:
    """How a kind is learned, and what it does with case where nothing is said."""

    learn: Callable[[Sample, Wanted], tokenizers.Tokenizer]
    cased: bool
    smallest: int = 64  # vocabulary


KINDS = {
    "wordpiece": Kind(learn=wordpiece.learn, cased=True),
    "byte-bpe": Kind(learn=byte_bpe.learn, cased=True, smallest=byte_bpe.SMALLEST_VOCABULARY),
    "bpe": Kind(learn=bpe.learn, cased=False),
    "unigram": Kind(learn=unigram.learn, cased=False),
}
LARGEST_VOCABULARY = 1 << 24
MOST = 10**15  # characters, or times that a piece is seen
MOST_CHARACTERS = {"words": 500_000_000, "morphemes": 20_000_000}
"""Text beyond it is not looked at. Words are counted in minutes; an analyser reads 100,000 characters per second."""


def learn_tokenizer(
    source: Source,
    *,
    vocab_size: int,
    kind: str = "wordpiece",
    cased: bool | None = None,
    min_frequency: int = 2,
    max_characters: int | None = None,
    num_unused: int = 0,
    roles: Sequence[str] = (),
    alphabet_size: int | None = None,
    unicode_form: Literal["NFC", "as_is"] | None = None,
    boundaries: Literal["words", "morphemes"] = "words",
    max_length: int = 512,
    options: CorpusOptions | None = None,
    out: str | Path | None = None,
) -> Tokenizer:
    """Learn a vocabulary of up to `vocab_size` pieces from documents, or from files, folders and globs.

    First come the family's special tokens, then `num_unused` reserved pieces and one for each of `roles` (such as
    "question"), the alphabet, and pieces by order of learning. The size reached is `vocab_size` of the result; it is
    smaller where the text has too few words that occur `min_frequency` times (of "unigram": too few pieces).

    `kind` is "wordpiece" (BERT), "byte-bpe" (RoBERTa), "bpe" (GPT-1) or "unigram" (ALBERT); the last two lower-case
    text where `cased` does not say. `alphabet_size` is how many characters have pieces; None: nearly all that occur, of
    Hangul all. `unicode_form` "NFC" puts composition into the tokenizer, so that Korean typed in parts (NFD) gives the
    same ids; None: where `options` or its letters say Korean. `boundaries` "morphemes" (Korean WordPiece) keeps stems
    and particles in pieces of their own; an analyser finds them while learning, and the result needs none. Text beyond
    the first `max_characters` is not looked at (None: `MOST_CHARACTERS`). With `out`, the tokenizer is also written to
    that folder, which must not exist.

    Raises: ConfigError for options that can't work; DataError where the text is empty or damaged.
    """
    _check_choice("kind", kind, KINDS)
    _check_choice("boundaries", boundaries, MOST_CHARACTERS)
    if unicode_form is not None:
        _check_choice("unicode_form", unicode_form, ("NFC", "as_is"))
    documents, looked_at = tee(documents_of(source, options))
    korean = is_korean(sentence for document in looked_at for sentence in document.sentences)
    del looked_at  # what is only looked at once is not kept
    if unicode_form is None:
        unicode_form = "NFC" if korean or (options is not None and options.language == "ko") else "as_is"
    wanted = Wanted(
        vocab_size=vocab_size,
        cased=KINDS[kind].cased if cased is None else cased,
        min_frequency=min_frequency,
        num_unused=num_unused + len(roles),
        alphabet_size=alphabet_size,
        unicode_form=unicode_form,
        boundaries=boundaries,
        max_characters=MOST_CHARACTERS[boundaries] if max_characters is None else max_characters,
    )
    _check(kind, wanted)
    with Sample(documents, wanted) as sample:
        learned = KINDS[kind].learn(sample, wanted)
    if korean and unicode_form == "as_is":
        _warn_of_parted_hangul(learned)
    tokenizer = with_roles(Tokenizer(learned, max_length=max_length), roles)
    if out is not None:
        with atomic_folder(Path(out)) as folder:
            tokenizer.save(folder)
    return tokenizer


def _check_choice(name: str, value: str, choices: Collection[str]) -> None:
    """Raises: ConfigError for a value that is none of the choices."""
    if value not in choices:
        nearest = did_you_mean(str(value), choices)
        raise ConfigError(f"{name}={value!r} is not known; there is {', '.join(choices)}.{nearest}")


def _check(kind: str, wanted: Wanted) -> None:
    """Raises: ConfigError for numbers that leave nothing to learn."""
    smallest = KINDS[kind].smallest + wanted.num_unused
    if not smallest <= wanted.vocab_size <= LARGEST_VOCABULARY:
        what = "small; at least" if wanted.vocab_size < smallest else "large; at most"
        limit = smallest if wanted.vocab_size < smallest else LARGEST_VOCABULARY
        raise ConfigError(f"vocab_size={wanted.vocab_size} is too {what} {limit} is needed.")
    sizes = (wanted.max_characters, wanted.min_frequency, 1 if wanted.alphabet_size is None else wanted.alphabet_size)
    if min(sizes) < 1 or max(sizes) > MOST or wanted.num_unused < 0:
        raise ConfigError(
            f"max_characters, min_frequency and alphabet_size must be 1 to {MOST:.0e}, num_unused at least 0."
        )
    if wanted.boundaries == "morphemes" and kind != "wordpiece":
        raise ConfigError(f"boundaries='morphemes' is for kind='wordpiece', whose pieces say ##; got {kind!r}.")
    if wanted.alphabet_size is not None and kind == "byte-bpe":
        raise ConfigError("kind='byte-bpe' has the 256 bytes for its alphabet; leave alphabet_size out.")


def unknown_share(
    tokenizer: Tokenizer, source: Source, *, max_characters: int = 5_000_000, options: CorpusOptions | None = None
) -> float:
    """The share of [UNK] among the tokens of the beginning of a text, 0 to 1; 0 where there is no such token."""
    if tokenizer.unk_id < 0:
        return 0.0
    num_tokens = num_unknown = 0
    left = max_characters
    for document in documents_of(source, options):
        ids, _ = tokenizer.encode_flat(document.sentences)
        num_tokens += len(ids)
        num_unknown += int((ids == tokenizer.unk_id).sum())
        left -= document.num_characters
        if left <= 0:
            break
    return num_unknown / max(1, num_tokens)


def _warn_of_parted_hangul(backend: tokenizers.Tokenizer) -> None:
    """Warn where Korean meets a tokenizer that does not compose, or even takes syllables apart."""
    parts = backend.normalizer is not None and len(backend.normalizer.normalize_str("한")) > 1
    what = (
        "takes its syllables apart as if they were accents"
        if parts
        else "does not compose Unicode: the same text typed in parts (NFD, as on macOS) gives other tokens, or [UNK]"
    )
    warnings.warn(
        f"The text is Korean, and this tokenizer {what}. Learn it with unicode_form='NFC' (`--language ko`).",
        stacklevel=3,
    )
