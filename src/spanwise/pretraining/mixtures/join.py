"""Masked packs of several collators as one: what a mixture of stores reads in one step.

Letters: T tokens, S sequences, M spans, N hidden tokens of the joined pack.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from spanwise.pretraining.collate import Masked
from spanwise.pretraining.masking.merge import join_spans, move
from spanwise.pretraining.packs import Hidden, Pack, Spans


def join_masked(parts: Sequence[Masked]) -> Masked:
    """Return the packs of `parts` end to end, with their spans and hidden tokens. Their formats are alike."""
    if len(parts) == 1:
        return parts[0]
    packs, texts = [part.pack for part in parts], [part.text for part in parts if part.text is not None]
    hidden, first_spans = [part.hidden for part in parts], _firsts([len(part.spans.start) for part in parts])
    return Masked(
        pack=_join_packs(packs),
        spans=_end_to_end([part.spans for part in parts], packs),
        hidden=Hidden(
            position=_column(hidden, "position", _firsts([len(pack.input_ids) for pack in packs])),
            span=_column(hidden, "span", first_spans),
            sequence=_column(hidden, "sequence", _firsts([len(pack.block_ids) for pack in packs])),
            original_ids=_column(hidden, "original_ids"),
        ),
        input_ids=_column(parts, "input_ids"),
        draws=_column_if_any(parts, "draws"),
        text=_join_packs(texts) if texts else None,
        chosen=_end_to_end([part.chosen for part in parts if part.chosen is not None], texts) if texts else None,
    )


def _join_packs(packs: Sequence[Pack]) -> Pack:
    first_tokens = _firsts([len(pack.input_ids) for pack in packs])
    questions = [pack.questions for pack in packs if pack.questions is not None]
    return Pack(
        input_ids=_column(packs, "input_ids"),
        token_type_ids=_column(packs, "token_type_ids"),
        borders=np.concatenate([[0], *(p.borders[1:] + first for p, first in zip(packs, first_tokens, strict=True))]),
        maskable=_column(packs, "maskable"),
        starts_word=_column(packs, "starts_word"),
        block_ids=_column(packs, "block_ids"),
        pair_labels=_column_if_any(packs, "pair_labels"),
        side={name: np.concatenate([pack.side[name] for pack in packs]) for name in packs[0].side},
        positions=_column_if_any(packs, "positions"),
        questions=_end_to_end(questions, packs) if questions else None,
    )


def _end_to_end(spans: Sequence[Spans], packs: Sequence[Pack]) -> Spans:
    """Return the spans of packs that lie end to end."""
    first_tokens = _firsts([len(pack.input_ids) for pack in packs])
    first_sequences = _firsts([len(pack.block_ids) for pack in packs])
    counts = [len(pack.block_ids) for pack in packs]
    return join_spans(
        [
            move(one, np.arange(count) + sequence, np.full(count, token))
            for one, count, sequence, token in zip(spans, counts, first_sequences, first_tokens, strict=True)
        ]
    )


def _firsts(counts: list[int]) -> list[int]:
    return np.concatenate([[0], np.cumsum(counts[:-1])]).astype(np.int64).tolist()


def _column(parts: Sequence[object], name: str, firsts: Sequence[int] | None = None) -> np.ndarray:
    """One column of all parts; places are counted from the begin of the joined pack where `firsts` say how."""
    columns = [getattr(part, name) for part in parts]
    if firsts is not None:
        columns = [column + first for column, first in zip(columns, firsts, strict=True)]
    return np.concatenate(columns)


def _column_if_any(parts: Sequence[object], name: str) -> np.ndarray | None:
    """One column of all parts that have it; None where none has."""
    columns = [column for part in parts if (column := getattr(part, name)) is not None]
    return np.concatenate(columns) if columns else None
