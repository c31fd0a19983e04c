"""Any number of pointers per sequence in tensors whose shapes are the same in every pack.

Sequences that have pointers are laid side by side, each with room for the longest and for the most pointers, so that
all of them are one batched product whose size the host knows before the pack. `ManyPointers` needs no such room, and
has other shapes in each pack.

Letters: T tokens in the pack, P pointers, S sequences that there is room for, K pointers of each, L tokens of each, D
vector size.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from spanwise.nn.losses.pointer import ManyPointers, Pointed, laid_out, products, slots_of
from spanwise.nn.vocabulary_loss import DEAD


@dataclass(frozen=True)
class PaddedPointers:
    """Where pointers and tokens lie; all int64.

    `slots` [P] says which of the S x K slots each pointer has, `token_slots` [T] which of the S x L slots each token;
    the slot behind the last is that of all others. `candidates` [S, K]: how many tokens a pointer may point at, 1 where
    there is none. `longest` is L.
    """

    slots: Tensor
    token_slots: Tensor
    candidates: Tensor
    longest: int

    @classmethod
    def of(
        cls, pointers: ManyPointers, shape: tuple[int, int, int], num_pointers: int, num_tokens: int
    ) -> PaddedPointers:
        """Lay out pointers in a shape (S, K, L) that has room for all, with `num_pointers` P and `num_tokens` T.

        Raises: ValueError where there is too little room.
        """
        rows, most, longest = shape
        counts, lengths = np.array(pointers.counts, dtype=np.int64), np.array(pointers.lengths, dtype=np.int64)
        asked = np.flatnonzero(counts)
        sizes = (len(asked), counts.max(initial=0), lengths.max(initial=0), counts.sum(), lengths.sum())
        if any(size > room for size, room in zip(sizes, (*shape, num_pointers, num_tokens), strict=True)):
            raise ValueError(f"{sizes} sequences, pointers and tokens have too little room in {shape}")
        row = np.full(len(counts), rows)
        row[asked] = np.arange(len(asked))
        candidates = np.ones((rows, most), dtype=np.int64)
        for number, sequence in enumerate(asked):
            candidates[number, : counts[sequence]] = lengths[sequence]
        return cls(
            slots=torch.from_numpy(slots_of(row, counts, most, rows * most, num_pointers)),
            token_slots=torch.from_numpy(slots_of(row, lengths, longest, rows * longest, num_tokens)),
            candidates=torch.from_numpy(candidates),
            longest=longest,
        )

    def scores(self, queries: Tensor, tokens: Tensor) -> Tensor:
        """Return the product of each pointer's query [P, D] with the tokens [T, D] of its sequence: [S, K, L] float32,
        minus infinity behind its last token."""
        rows, most = self.candidates.shape
        scores_SKL = products(
            laid_out(queries, self.slots, rows, most), laid_out(tokens, self.token_slots, rows, self.longest)
        )
        place_L = torch.arange(self.longest, device=tokens.device)
        return scores_SKL.masked_fill(place_L >= self.candidates.unsqueeze(-1), -torch.inf)

    def point(self, scores: Tensor, gold: Tensor) -> Pointed:
        """Return how each slot, by its scores, stands to its gold token [S, K], which is counted in its sequence.

        A slot whose gold token is DEAD has a log-probability of 0 and is never on top. Both are [S x K].
        """
        scores_XL, gold_X = scores.flatten(0, 1), gold.flatten()
        log_p_X = -F.cross_entropy(scores_XL, gold_X, ignore_index=DEAD, reduction="none")
        fixed_XL = scores_XL.detach()
        gold_score_X = fixed_XL.gather(1, gold_X.clamp(min=0).unsqueeze(1)).squeeze(1)
        return Pointed(log_p_X, (gold_score_X >= fixed_XL.amax(1)) & (gold_X != DEAD))
