"""Span Boundary Objective: guess every hidden token from the two visible tokens around its span.

Source: Joshi et al. 2020 (SpanBERT), section 3.2, and the released code.
Letters: T tokens in the pack, D hidden size, M spans, N targets.
"""

from dataclasses import dataclass, fields
from typing import ClassVar, Literal

import numpy as np
import torch
from torch import Tensor

from spanwise.config import part
from spanwise.config.ranges import Rows, Weight, Width
from spanwise.nn.encoder import Encoder
from spanwise.nn.heads.span_boundary import SpanBoundaryHead
from spanwise.nn.vocabulary_loss import VocabularyLoss, vocabulary_loss
from spanwise.pretraining.masking.merge import gaps
from spanwise.pretraining.packs import Hidden, Pack, Spans
from spanwise.runtime.compiled import njit


@dataclass(frozen=True, kw_only=True)
class SpanBoundaryTargets:
    """N hidden tokens of a pack, in order of position, each with the boundary of its span."""

    capacity: ClassVar[str] = "targets"
    label: ClassVar[str] = "ids"

    left: Tensor  # [N] int64, place of the visible token before the span
    right: Tensor  # [N] int64, place of the visible token after the span
    position_index: Tensor  # [N] int64, row of the position table: 0 at the span's first token
    ids: Tensor  # [N] int64, what stood at the hidden token

    @property
    def count(self) -> int:
        return self.left.shape[0]

    @property
    def rows(self) -> Tensor:
        """The tokens that the head reads: N left ones, then N right ones."""
        return torch.cat((self.left, self.right))


class SpanBoundaryScorer(SpanBoundaryHead):
    """The head with its loss; parameters are those of `SpanBoundaryHead`."""

    def __init__(self, encoder: Encoder, num_positions: Rows, position_size: Width) -> None:
        super().__init__(encoder.config, encoder.word_embedding, num_positions, position_size)
        self.vocab_size = encoder.config.vocab_size

    def forward(self, hidden: Tensor, targets: SpanBoundaryTargets, per_row: bool = False) -> VocabularyLoss:
        """Return the loss summed over the N targets; hidden [T, D]. `per_row` adds the N single losses."""
        # one lookup for both: the gradient of each is as large as `hidden`
        left_ND, right_ND = hidden.index_select(0, targets.rows).split([targets.count] * 2)
        rows_ND = self.transform(left_ND, right_ND, targets.position_index)
        return vocabulary_loss(rows_ND, self.weight, self.bias, targets.ids, self.vocab_size, per_row=per_row)


@part("span_boundary")
class SpanBoundary:
    """Cross-entropy of every hidden token, read from the boundary of its span and its place in it.

    With `edges="special"` and `beyond="last"` every hidden token is a target, as in the paper's equation: a span
    that begins or ends a sequence has [CLS] or [SEP] as boundary, and tokens from the `num_positions`-th on share the
    table's last row. Merged spans of more than 30 tokens are some 0.03 % at 510 tokens, so 30 rows serve all but a
    few; the released code has 15 and leaves out both kinds (`edges="skip"`, `beyond="skip"`), 2.3 % of its targets.
    """

    name: ClassVar[str] = "sbo"
    needs: ClassVar[frozenset[str]] = frozenset({"spans", "bidirectional"})

    weight: Weight = 1.0
    num_positions: Rows = 30  # rows of the position table
    position_size: Width = 200
    edges: Literal["special", "skip"] = "special"
    beyond: Literal["last", "skip"] = "last"

    def targets(self, pack: Pack, spans: Spans, hidden: Hidden) -> SpanBoundaryTargets:
        """Return the targets of a pack. A span at the edge of a sequence without a special there has none."""
        left_N, right_N, index_N, kept_N = _targets(
            pack.borders,
            pack.maskable,
            spans.sequence,
            *gaps(spans),  # where spans of groups touch, the borders of all are those of the whole gap
            hidden.position,
            hidden.span,
            self.num_positions,
            self.edges == "special",
            self.beyond == "last",
        )
        columns = (left_N, right_N, index_N, hidden.original_ids)
        if not kept_N.all():
            columns = tuple(column[kept_N] for column in columns)
        names = [one.name for one in fields(SpanBoundaryTargets)]
        return SpanBoundaryTargets(**dict(zip(names, map(torch.from_numpy, columns), strict=True)))

    def build(self, encoder: Encoder) -> SpanBoundaryScorer:
        """Return the head, its decoder tied to the encoder's word embedding."""
        return SpanBoundaryScorer(encoder, self.num_positions, self.position_size)


@njit
def _targets(
    borders, maskable_T, sequence_M, start_M, end_M, position_N, span_N, num_positions, special_edges, share_last
):
    has_boundary_M = np.empty(len(start_M), dtype=np.bool_)
    for m in range(len(start_M)):
        s, left, right = sequence_M[m], start_M[m] - 1, end_M[m]
        inside = (left >= borders[s]) and (right < borders[s + 1])
        has_boundary_M[m] = inside and (special_edges or (maskable_T[left] and maskable_T[right]))
    left_N, right_N, index_N = np.empty((3, len(position_N)), dtype=np.int64)
    kept_N = np.empty(len(position_N), dtype=np.bool_)
    for i in range(len(position_N)):  # no branches here: where spans end can't be predicted
        m = span_N[i]
        left = start_M[m] - 1
        index = position_N[i] - left - 1
        left_N[i] = left
        right_N[i] = end_M[m]
        index_N[i] = min(index, num_positions - 1)
        kept_N[i] = has_boundary_M[m] & (share_last | (index < num_positions))
    return left_N, right_N, index_N, kept_N
