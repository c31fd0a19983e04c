"""Free pieces `[unusedN]` for a vocabulary that has too few: a task gives them a meaning of its own (markers).

BERT's vocabularies have 99 of them; RoBERTa's and those that are learnt here have none. New ones are special tokens, so
no text can hold them, and their rows start like fresh weights; all old ids and rows stay as they are.
"""

from __future__ import annotations

import numpy as np
from tokenizers import AddedToken

from spanwise.errors import CheckpointError
from spanwise.interop.checkpoint import Checkpoint
from spanwise.interop.grow import grow_vocabulary
from spanwise.text.tokenizers import Tokenizer


def free_piece_ids(tokenizer: Tokenizer) -> list[int]:
    """The ids of [unused1], [unused2], ... as far as they go without a gap."""
    found: list[int] = []
    while (number := tokenizer.token_to_id(f"[unused{len(found) + 1}]")) is not None:
        found.append(number)
    return found


def with_free_pieces(
    checkpoint: Checkpoint, tokenizer: Tokenizer, number: int, seed: int
) -> tuple[Checkpoint, Tokenizer, int]:
    """Both with at least `number` free pieces, and how many were added.

    Raises: CheckpointError where the tokenizer's ids have gaps, so that new ones have no place.
    """
    there = len(free_piece_ids(tokenizer))
    lacking = max(0, number - there)
    if not lacking:
        return checkpoint, tokenizer, 0
    names = [f"[unused{there + 1 + place}]" for place in range(lacking)]
    backend = tokenizer.copy_backend()
    backend.add_special_tokens([AddedToken(name, special=True, normalized=False) for name in names])
    grown = Tokenizer(backend, specials=tokenizer.specials, max_length=tokenizer.max_length)
    wanted = list(range(tokenizer.vocab_size, tokenizer.vocab_size + lacking))
    if [grown.token_to_id(name) for name in names] != wanted:
        raise CheckpointError("the tokenizer's ids have gaps, so new pieces got no place after the last one.")
    num_rows = max(0, grown.vocab_size - checkpoint.config.vocab_size)
    if num_rows:
        checkpoint = grow_vocabulary(checkpoint, [np.empty(0, dtype=int)] * num_rows, rows="random", seed=seed)
    return checkpoint, grown, lacking
