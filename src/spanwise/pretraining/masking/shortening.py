"""Take out of a pack what a replacement leaves out of it, with every place of the pack right afterwards.

Letters: T tokens in the pack, T' of them left, S sequences, M spans, N hidden tokens.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from spanwise.pretraining.masking.base import ReplacementScheme, ShorteningReplacement
from spanwise.pretraining.masking.merge import some_spans
from spanwise.pretraining.packs import Hidden, Pack, Spans


def shorten(
    pack: Pack, spans: Spans, hidden: Hidden, input_ids: np.ndarray, is_short_M: np.ndarray, *, stays: bool
) -> tuple[Pack, Spans, Hidden, np.ndarray]:
    """Return pack, spans, hidden tokens and input_ids [T'] where of the spans `is_short_M` bool [M] one token is left.

    Such a span is no hidden stretch any more: its token is text like any other, which no objective guesses. It is in
    `Pack.questions`, with its group and what was kept of that; `spans` and `hidden` are the others. With `stays` every
    token keeps its position, else what follows moves up.
    """
    first_Q = spans.start[is_short_M]
    steps_T = np.zeros(len(input_ids) + 1, dtype=np.int64)
    np.add.at(steps_T, first_Q + 1, 1)
    np.add.at(steps_T, spans.end[is_short_M], -1)
    is_left_T = np.cumsum(steps_T)[:-1] == 0
    tokens = np.flatnonzero(is_left_T)
    new_T = np.zeros(len(input_ids) + 1, dtype=np.int64)  # how many tokens are left before each place
    np.cumsum(is_left_T, out=new_T[1:])
    ids_T, maskable_T = pack.input_ids.copy(), pack.maskable.copy()
    ids_T[first_Q], maskable_T[first_Q] = input_ids[first_Q], False
    shorter = replace(
        pack,
        input_ids=ids_T[tokens],
        token_type_ids=pack.token_type_ids[tokens],
        borders=new_T[pack.borders],
        maskable=maskable_T[tokens],
        starts_word=(pack.starts_word & maskable_T)[tokens],
        side={name: array[tokens] for name, array in pack.side.items()},
        positions=tokens - np.repeat(pack.borders[:-1], np.diff(new_T[pack.borders])) if stays else None,
    )
    kept = None if spans.kept is None else np.where(spans.kept < 0, -1, new_T[spans.kept])
    moved = replace(spans, start=new_T[spans.start], end=new_T[spans.end], kept=kept)
    is_guessed_N = ~is_short_M[hidden.span]
    number_M = np.cumsum(~is_short_M) - 1
    guessed = Hidden(
        position=new_T[hidden.position[is_guessed_N]],
        span=number_M[hidden.span[is_guessed_N]],
        sequence=hidden.sequence[is_guessed_N],
        original_ids=hidden.original_ids[is_guessed_N],
    )
    shorter = replace(shorter, questions=some_spans(moved, is_short_M))
    return shorter, some_spans(moved, ~is_short_M), guessed, input_ids[tokens]


def shortened_ranges(replacement: ReplacementScheme, spans: Spans) -> list[tuple[int, int]]:
    """Return the half-open ranges of the spans of which a replacement leaves one token."""
    if not isinstance(replacement, ShorteningReplacement):
        return []
    is_short_M = replacement.shortened(spans)
    return list(zip(spans.start[is_short_M].tolist(), spans.end[is_short_M].tolist(), strict=True))
