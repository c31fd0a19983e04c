"""Read tables for compiled loops off a fast tokenizer of `transformers`, without importing that library.

Letters: V vocabulary.
"""

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from spanwise.data.vocabulary import Vocabulary
from spanwise.errors import ConfigError
from spanwise.text.specials import is_reserved
from spanwise.text.tokenizer_files import word_marks
from spanwise.text.words import ends_word_table, starts_word_table

_OTHER_ROLES = ("pad", "cls", "sep", "mask", "bos", "eos")


def vocabulary_of(tokenizer: object, unigram_counts: ArrayLike | None = None) -> Vocabulary:
    """Make tables over the V ids of a fast tokenizer (WordPiece, byte-level BPE, SentencePiece), or of ours.

    A role that the tokenizer lacks has id -1. An unknown token that is also the end of text (GPT-2) is a special, not
    a word. Added tokens that are no specials are words. `unigram_counts` [V]: how often each id stands in the corpus.

    Raises: ConfigError for an object that is no fast tokenizer, or counts of another vocabulary.
    """
    backend: Any = getattr(tokenizer, "backend_tokenizer", None) or getattr(tokenizer, "_backend", None)
    if not hasattr(backend, "get_vocab"):
        raise ConfigError(
            f"{type(tokenizer).__name__} is no fast tokenizer (it has no backend_tokenizer), so nothing tells where "
            "its words start. Load it with AutoTokenizer.from_pretrained(...)."
        )
    by_piece = backend.get_vocab(with_added_tokens=True)
    size = max(by_piece.values(), default=-1) + 1
    pieces = [""] * size
    for piece, number in by_piece.items():
        pieces[number] = piece
    roles = {role: _id_of(tokenizer, role) for role in ("unk", *_OTHER_ROLES)}
    if roles["unk"] in {roles[role] for role in _OTHER_ROLES}:
        roles["unk"] = -1
    added = backend.get_added_tokens_decoder()
    specials = {number for number, token in added.items() if token.special}
    specials |= {number for number, piece in enumerate(pieces) if not piece or is_reserved(piece)}
    specials |= {int(number) for number in getattr(tokenizer, "all_special_ids", ())}
    specials |= {number for number in roles.values() if number >= 0}
    is_special_V = np.zeros(size, dtype=bool)
    is_special_V[sorted(specials)] = True
    marks = word_marks(backend)
    starts_word_V = starts_word_table(pieces, special_ids=specials, unk_id=roles["unk"], marks=marks)
    ends_word_V = ends_word_table(pieces, special_ids=specials, unk_id=roles["unk"], marks=marks)
    whole = [number for number in added if number not in specials]  # matched as they are, whatever is around
    starts_word_V[whole] = True
    ends_word_V[whole] = not marks.continuation
    return Vocabulary(
        size=size,
        pad_id=roles["pad"],
        unk_id=roles["unk"],
        cls_id=roles["cls"],
        sep_id=roles["sep"],
        mask_id=roles["mask"],
        is_special=is_special_V,
        starts_word=starts_word_V,
        ends_word=ends_word_V,
        unigram_counts=_checked_counts(unigram_counts, size),
        texts=partial(tuple, ["" if is_special_V[i] else marks.characters(piece) for i, piece in enumerate(pieces)]),
    )


def _id_of(tokenizer: object, role: str) -> int:
    """Return the id of a role in the words of transformers (`pad_token_id`) or ours (`pad_id`); -1 without one."""
    for name in (f"{role}_token_id", f"{role}_id"):
        number = getattr(tokenizer, name, None)
        if number is not None:
            return int(number)
    return -1


def _checked_counts(unigram_counts: ArrayLike | None, size: int) -> np.ndarray:
    if unigram_counts is None:
        return np.zeros(size, dtype=np.int64)
    counts_V = np.asarray(unigram_counts)
    if counts_V.shape != (size,) or counts_V.dtype.kind not in "iu" or (counts_V < 0).any():
        raise ConfigError(
            f"unigram_counts must be {size:,} whole numbers of 0 or more, one per id of this tokenizer; got "
            f"{counts_V.dtype} {list(counts_V.shape)}. np.bincount(ids, minlength={size}) makes them."
        )
    return counts_V.astype(np.int64)
