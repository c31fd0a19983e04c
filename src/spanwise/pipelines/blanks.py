"""Texts with blanks: where a person wrote the mask token, and nowhere else, stands the mask id.

The mask token of the model's own tokenizer marks a blank: `[MASK]` in BERT's texts, `<mask>` in RoBERTa's. Every other
special token that a text spells is plain text. Letters: n tokens of one text, K runs of blanks.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

import numpy as np
import tokenizers

from spanwise.errors import DataError
from spanwise.text.tokenizers import Tokenizer


@dataclass(frozen=True, kw_only=True)
class BlankedText:
    """One text as tokens, [CLS] and [SEP] not yet around them."""

    text: str
    ids: np.ndarray  # [n] int64
    offsets: np.ndarray  # [n, 2] int64: half-open characters of the text
    runs: list[tuple[int, int]]  # K half-open token ranges: blanks that follow one another


class BlankEncoder:
    """Encodes as the tokenizer does, but that its mask token is one. Made once for many texts."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self.mask_id = tokenizer.mask_id
        self.mask_piece = tokenizer.tokens([tokenizer.mask_id])[0]
        record = json.loads(tokenizer.copy_backend().to_str())
        kept = [token for token in record["added_tokens"] if not token["special"] or token["id"] == self.mask_id]
        backend = tokenizers.Tokenizer.from_str(json.dumps({**record, "added_tokens": kept, "post_processor": None}))
        backend.no_truncation()
        backend.no_padding()
        self._backend = backend
        # added tokens that are left out may have given the others another number
        own = backend.get_vocab(with_added_tokens=True)
        self._real_ids = np.arange(max(own.values()) + 1)
        for piece, number in own.items():
            found = tokenizer.token_to_id(piece)
            self._real_ids[number] = number if found is None else found
        ids = np.fromiter(tokenizer.special_ids, dtype=np.int64)
        self._forbidden = ids[(ids != self.mask_id) & (ids != tokenizer.unk_id)]

    def encode(self, text: str) -> BlankedText:
        """Raises: DataError for half a surrogate pair."""
        try:
            encoding = self._backend.encode(text, add_special_tokens=False)
        except TypeError as cause:
            self._tokenizer.encode(text)  # names what is wrong
            raise DataError(f"this text can't be encoded: {cause}") from cause
        ids = self._real_ids[np.array(encoding.ids, dtype=np.int64)]
        offsets = np.array(encoding.offsets, dtype=np.int64).reshape(-1, 2)
        if np.isin(ids, self._forbidden).any():
            ids, offsets = self._encode_apart(text)
        return BlankedText(text=text, ids=ids, offsets=offsets, runs=_runs(ids == self.mask_id))

    def _encode_apart(self, text: str) -> tuple[np.ndarray, np.ndarray]:
        """Encode a text that spells another special: between blanks, all specials are switched off."""
        ids: list[np.ndarray] = []
        offsets: list[np.ndarray] = []
        place = 0
        for number, part in enumerate(text.split(self.mask_piece)):
            if number:
                ids.append(np.array([self.mask_id]))
                offsets.append(np.array([[place, place + len(self.mask_piece)]]))
                place += len(self.mask_piece)
            encoding = self._tokenizer.encode(part)
            ids.append(encoding.ids.astype(np.int64))
            offsets.append(encoding.offsets.astype(np.int64) + place)
            place += len(part)
        return np.concatenate(ids), np.concatenate(offsets)


def _runs(is_blank: np.ndarray) -> list[tuple[int, int]]:
    edges = np.flatnonzero(np.diff(np.concatenate([[0], is_blank.astype(np.int8), [0]])))
    return list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))


def window_of(num_tokens: int, run: tuple[int, int], capacity: int) -> tuple[int, int]:
    """Return the half-open part of a text to read for a run of blanks: all of it, or `capacity` tokens around it."""
    if num_tokens <= capacity:
        return 0, num_tokens
    start, end = run
    first = start - (capacity - (end - start)) // 2
    first = min(max(0, first), num_tokens - capacity)
    return first, first + capacity
