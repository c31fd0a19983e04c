"""Masked packs of several collators as one: what a mixture of stores reads in one step.

Letters: T tokens, S sequences, M spans, N hidden tokens of the joined pack.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from spanwise.pretraining.collate import Masked
from spanwise.pretraining.packs import Hidden, Pack, Spans


def join_masked(parts: Sequence[Masked]) -> Masked:
    """Return the packs of `parts` end to end, with their spans and hidden tokens. Their formats are alike."""
    if len(parts) == 1:
        return parts[0]
    packs, spans, hidden = ([getattr(part, name) for part in parts] for name in ("pack", "spans", "hidden"))
    first_tokens = _firsts([len(pack.input_ids) for pack in packs])
    first_sequences = _firsts([len(pack.block_ids) for pack in packs])
    first_spans = _firsts([len(one.start) for one in spans])
    labels = [pack.pair_labels for pack in packs if pack.pair_labels is not None]
    pack = Pack(
        input_ids=_joined(packs, "input_ids"),
        token_type_ids=_joined(packs, "token_type_ids"),
        borders=np.concatenate([[0], *(p.borders[1:] + first for p, first in zip(packs, first_tokens, strict=True))]),
        maskable=_joined(packs, "maskable"),
        starts_word=_joined(packs, "starts_word"),
        block_ids=_joined(packs, "block_ids"),
        pair_labels=np.concatenate(labels) if labels else None,
        side={name: np.concatenate([pack.side[name] for pack in packs]) for name in packs[0].side},
    )
    return Masked(
        pack=pack,
        spans=Spans(
            sequence=_joined(spans, "sequence", first_sequences),
            start=_joined(spans, "start", first_tokens),
            end=_joined(spans, "end", first_tokens),
            num_drawn=sum(one.num_drawn for one in spans),
            num_cut=sum(one.num_cut for one in spans),
        ),
        hidden=Hidden(
            position=_joined(hidden, "position", first_tokens),
            span=_joined(hidden, "span", first_spans),
            sequence=_joined(hidden, "sequence", first_sequences),
            original_ids=_joined(hidden, "original_ids"),
        ),
        input_ids=_joined(parts, "input_ids"),
        draws=None if parts[0].draws is None else _joined(parts, "draws"),
    )


def _firsts(counts: list[int]) -> list[int]:
    return np.concatenate([[0], np.cumsum(counts[:-1])]).astype(np.int64).tolist()


def _joined(parts: Sequence, name: str, firsts: Sequence[int] | None = None) -> np.ndarray:
    """One column of all parts; places are counted from the begin of the joined pack where `firsts` say how."""
    columns = [getattr(part, name) for part in parts]
    if firsts is not None:
        columns = [column + first for column, first in zip(columns, firsts, strict=True)]
    return np.concatenate(columns)
