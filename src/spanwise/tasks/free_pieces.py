"""Special pieces that a task gives a meaning of its own (markers, GPT-1's extract token), added where they lack.

`[unusedN]` are such pieces: BERT's vocabularies have 99 of them; RoBERTa's and those that are learnt here have none.
New pieces are special tokens, so no text can hold them, and their rows start like fresh weights; all old ids and rows
stay as they are.
"""

from __future__ import annotations

from collections.abc import Sequence

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


def free_pieces(number: int) -> tuple[str, ...]:
    """The names of the first `number` free pieces."""
    return tuple(f"[unused{place + 1}]" for place in range(number))


def with_pieces(
    checkpoint: Checkpoint, tokenizer: Tokenizer, pieces: Sequence[str], seed: int
) -> tuple[Checkpoint, Tokenizer, tuple[str, ...]]:
    """Both with all of `pieces`, and the names of those that were added.

    Raises: CheckpointError where the tokenizer's ids have gaps, so that new ones have no place, or where a text may
    hold one of the pieces.
    """
    found = {name: tokenizer.token_to_id(name) for name in pieces}
    for name, number in found.items():
        if number is not None and number not in tokenizer.special_ids:
            raise CheckpointError(
                f"the vocabulary has the piece {name!r} for texts, and this task needs it for itself; use a tokenizer "
                "without it."
            )
    names = tuple(name for name, number in found.items() if number is None)
    if not names:
        return checkpoint, tokenizer, ()
    backend = tokenizer.copy_backend()
    backend.add_special_tokens([AddedToken(name, special=True, normalized=False) for name in names])
    grown = Tokenizer(backend, specials=tokenizer.specials, max_length=tokenizer.max_length)
    wanted = list(range(tokenizer.vocab_size, tokenizer.vocab_size + len(names)))
    if [grown.token_to_id(name) for name in names] != wanted:
        raise CheckpointError("the tokenizer's ids have gaps, so new pieces got no place after the last one.")
    num_rows = max(0, grown.vocab_size - checkpoint.config.vocab_size)
    if num_rows:
        checkpoint = grow_vocabulary(checkpoint, [np.empty(0, dtype=int)] * num_rows, rows="random", seed=seed)
    return checkpoint, grown, names
