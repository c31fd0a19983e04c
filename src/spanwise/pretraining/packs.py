"""Host-side shapes shared by formats, masking, objectives and collation: plain arrays, no tensors.

Letters: T tokens in the pack, S sequences, M spans, N hidden tokens, G groups.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True, kw_only=True)
class Pack:
    """S sequences end to end as ids, specials included: what stands there, whatever the encoder is shown."""

    input_ids: np.ndarray  # [T] int64, the original ids
    token_type_ids: np.ndarray  # [T] int64
    borders: np.ndarray  # [S+1] int64, cumulative lengths
    maskable: np.ndarray  # [T] bool: False at specials
    starts_word: np.ndarray  # [T] bool: True where a word begins; a sequence's first maskable token always does
    block_ids: np.ndarray  # [S] int64: the block each sequence is, keys of all random draws
    pair_labels: np.ndarray | None = None  # [S] int64 where the format gives them
    side: Mapping[str, np.ndarray] = field(default_factory=dict)  # [T] uint8: the store's side arrays, 0 at specials
    positions: np.ndarray | None = None  # [T] int64, with gaps where a replacement left tokens out; None: 0, 1, 2, ...
    questions: Spans | None = None  # after a replacement that shortens: the spans that are a token now, not maskable


@dataclass(frozen=True, kw_only=True)
class Spans:
    """M hidden stretches in pack coordinates: sorted, disjoint, half-open, never crossing a special token or a sequence
    border, and merged where they touched.

    Spans may belong together, such as the occurrences of words that recur: those of one group have one number. A span
    of a group is never merged with another, so only spans of groups may touch.
    """

    sequence: np.ndarray  # [M] int64, which of the S sequences
    start: np.ndarray  # [M] int64
    end: np.ndarray  # [M] int64
    group: np.ndarray | None = None  # [M] int64: number of the span's group, -1 without one; None: no span has one
    kept: np.ndarray | None = None  # [G, 2] int64: the occurrence of each group that stays visible; -1: none


@dataclass(frozen=True, kw_only=True)
class Hidden:
    """The N hidden tokens of a pack, in order of position, with what stood there."""

    position: np.ndarray  # [N] int64
    span: np.ndarray  # [N] int64, index into Spans
    sequence: np.ndarray  # [N] int64, which of the S sequences
    original_ids: np.ndarray  # [N] int64
