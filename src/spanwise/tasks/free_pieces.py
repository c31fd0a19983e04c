"""Special pieces that a task gives a meaning of its own (markers, GPT-1's extract token), added where they lack.

`[unusedN]` are such pieces: BERT's vocabularies have 99 of them; RoBERTa's and those that are learnt here have none.
New pieces are special tokens, so no text can hold them, and their rows start like fresh weights; all old ids and rows
stay as they are.
"""

from collections.abc import Sequence

from spanwise.interop.checkpoint import Checkpoint
from spanwise.interop.grow import with_rows_for
from spanwise.text.extend import with_special_pieces
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
    grown, names = with_special_pieces(tokenizer, pieces)
    return with_rows_for(checkpoint, grown.vocab_size, seed=seed) if names else checkpoint, grown, names
