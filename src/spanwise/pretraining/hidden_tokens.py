"""Facts about every hidden token of a constant masking: its id, how deep it lies in its span, what is beside it.

Letters: T tokens in the pack, S sequences, M spans, N hidden tokens.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from spanwise.pretraining.masking.merge import gaps
from spanwise.pretraining.packs import Hidden, Pack, Spans

HIDDEN = -1  # a neighbour that is hidden, special or missing
DEEPEST = 5  # distances of 5 and more are one group


@dataclass(frozen=True, kw_only=True)
class HiddenTokens:
    """Facts about N hidden tokens of any number of packs, in the order in which the packs were given."""

    original_ids: np.ndarray  # [N] int64
    sequence: np.ndarray  # [N] int64, counted through all packs: the cluster of every standard error
    distance: np.ndarray  # [N] int64: 1 at the first and the last token of a span, then 2, 3, ...
    position: np.ndarray  # [N] int64: 0 at the first token of its span
    left: np.ndarray  # [N] int64: the original left neighbour where it is visible, else HIDDEN
    right: np.ndarray  # [N] int64

    @property
    def depth(self) -> np.ndarray:
        """[N] distance from the nearest visible token, 5 and more as one."""
        return np.minimum(self.distance, DEEPEST)


def describe_hidden(masked: Iterable[tuple[Pack, Spans, Hidden]]) -> HiddenTokens:
    """Read the facts off packs and spans; one pass, no tokens are drawn.

    A neighbour is visible if it is a maskable token of the same sequence that is not hidden: replacement by random
    tokens and unchanged tokens count as hidden, because a reader can't know which of them are true.
    """
    columns: dict[str, list[np.ndarray]] = {name: [] for name in HiddenTokens.__dataclass_fields__}
    num_sequences = 0
    for pack, spans, hidden in masked:
        start_N, end_N = (edge_M[hidden.span] for edge_M in gaps(spans))
        columns["original_ids"].append(hidden.original_ids)
        columns["sequence"].append(num_sequences + spans.sequence[hidden.span])
        columns["position"].append(hidden.position - start_N)
        columns["distance"].append(np.minimum(hidden.position - start_N + 1, end_N - hidden.position))
        visible_T = pack.maskable.copy()
        visible_T[hidden.position] = False
        # A special stands at both ends of every sequence, so position - 1 and + 1 exist and never cross a border;
        # clipping covers formats that have none.
        for name, neighbour_N in (("left", hidden.position - 1), ("right", hidden.position + 1)):
            sequence_N = spans.sequence[hidden.span]
            inside_N = (neighbour_N >= pack.borders[sequence_N]) & (neighbour_N < pack.borders[sequence_N + 1])
            safe_N = np.clip(neighbour_N, 0, len(visible_T) - 1)
            columns[name].append(np.where(inside_N & visible_T[safe_N], pack.input_ids[safe_N], HIDDEN))
        num_sequences += len(pack.borders) - 1
    joined = {
        name: np.concatenate(parts).astype(np.int64) if parts else np.empty(0, np.int64)
        for name, parts in columns.items()
    }
    return HiddenTokens(**joined)
