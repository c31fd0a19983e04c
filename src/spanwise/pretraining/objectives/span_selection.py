"""Recurring span selection: every question token points at the start and the end of the occurrence that stands.

Source: Ram et al. 2021 (Splinter), sections 3 and 4.2: the mean of two cross-entropies over the tokens of the sequence.
Letters: T tokens in the pack, S sequences, P questions, D hidden size, L tokens of a sequence.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from spanwise.config import part
from spanwise.config.ranges import Weight
from spanwise.errors import ConfigError
from spanwise.nn.encoder import Encoder
from spanwise.nn.heads.span_selection import SpanSelectionHead
from spanwise.nn.losses.loss_sum import LossSum
from spanwise.nn.losses.padded_pointers import PaddedPointers
from spanwise.nn.losses.pointer import MOST_PADDING, ManyPointers
from spanwise.nn.sequences import Sequences
from spanwise.nn.vocabulary_loss import DEAD
from spanwise.pretraining.objectives.base import Capacities
from spanwise.pretraining.packs import Hidden, Pack, Spans

MOST_QUESTIONS, SHARE = 30, 0.15  # of a sequence, and per token of it; only for the cost, the masking decides


@dataclass(frozen=True, kw_only=True)
class SpanSelectionTargets:
    """The P questions of a pack in order, with the first and the last token of each one's answer."""

    questions: Tensor  # [P] int64, places in the pack
    first: Tensor  # [P] int64
    last: Tensor  # [P] int64
    pointers: ManyPointers  # over the tokens of each question's own sequence, all of them, questions too

    @property
    def count(self) -> int:
        return self.questions.shape[0]

    # Keys are made of all tokens of a sequence, so it names no `rows`.

    def sizes(self) -> dict[str, int]:
        """What they need of each capacity."""
        counts = self.pointers.counts
        pointing = sum(count > 0 for count in counts)
        return {"pointers": self.count, "pointing": pointing, "pointers_of_one": max(counts, default=0)}

    def in_shape(self, capacities: Capacities) -> SpanSelectionTargets | PaddedSelectionTargets:
        """Return the targets in the shape of all packs of a run. They stay as they are where sequences are so short
        that most of it would be padding."""
        num_rows, most, longest = capacities.pointing, capacities.pointers_of_one, capacities.longest
        if num_rows * longest > MOST_PADDING * capacities.tokens:
            return self
        num_pointers = capacities.pointers
        pointers = PaddedPointers.of(self.pointers, (num_rows, most, longest), num_pointers, capacities.tokens)
        slots_P, lengths = pointers.slots[: self.count], np.array(self.pointers.lengths, dtype=np.int64)
        starts_P = torch.from_numpy(np.repeat(np.cumsum(lengths) - lengths, self.pointers.counts))
        ends = []
        for gold_P in (self.first, self.last):
            gold_X = torch.full((num_rows * most,), DEAD)
            gold_X[slots_P] = gold_P - starts_P
            ends.append(gold_X.view(num_rows, most))
        questions_P = F.pad(self.questions, (0, num_pointers - self.count))
        return PaddedSelectionTargets(questions=questions_P, first=ends[0], last=ends[1], pointers=pointers)


@dataclass(frozen=True, kw_only=True)
class PaddedSelectionTargets:
    """The same in one shape: answers by the slots of their questions, counted in their sequence, [S, K] int64."""

    capacity: ClassVar[str] = "pointers"

    questions: Tensor  # [P] int64, places in the pack
    first: Tensor
    last: Tensor
    pointers: PaddedPointers

    @property
    def count(self) -> int:
        return self.questions.shape[0]


class SpanSelectionScorer(SpanSelectionHead):
    """The head with its loss; parameters are those of `SpanSelectionHead`."""

    def forward(  # type: ignore[override]
        self, hidden: Tensor, targets: SpanSelectionTargets | PaddedSelectionTargets
    ) -> LossSum:
        """Return the loss summed over the P questions, half for each end; hidden [T, D]. Right is who finds both."""
        starts, ends = super().forward(hidden, targets.questions, targets.pointers)
        start, end = targets.pointers.point(starts, targets.first), targets.pointers.point(ends, targets.last)
        loss, num_correct = -(start.log_p + end.log_p).sum() / 2, (start.on_top & end.on_top).sum()
        return LossSum(sum=loss, num_correct=num_correct, is_log_likelihood=True)


@part("span_selection")
class SpanSelection:
    """Cross-entropy of the start and of the end of a question's answer, halved and added."""

    name: ClassVar[str] = "span_selection"
    needs: ClassVar[frozenset[str]] = frozenset({"questions", "bidirectional"})

    weight: Weight = 1.0

    def targets(self, pack: Pack, spans: Spans | None = None, hidden: Hidden | None = None) -> SpanSelectionTargets:
        """Return the questions of a pack. Raises: ConfigError where its replacement wrote none."""
        asked = pack.questions
        if asked is None:
            raise ConfigError("this pack has no questions; replace spans by QuestionTokens().")
        has_answer_P = np.zeros(len(asked.start), dtype=bool)
        answers_P2 = np.zeros((len(asked.start), 2), dtype=np.int64)
        if asked.group is not None and asked.kept is not None:
            answers_P2 = asked.kept[asked.group]
            has_answer_P = answers_P2[:, 0] >= 0
        first_P, past_P = answers_P2[has_answer_P].T
        counts_S = np.bincount(asked.sequence[has_answer_P], minlength=len(pack.block_ids))
        return SpanSelectionTargets(
            questions=torch.from_numpy(asked.start[has_answer_P]),
            first=torch.from_numpy(np.ascontiguousarray(first_P)),
            last=torch.from_numpy(past_P - 1),
            pointers=ManyPointers.of(counts_S.tolist(), Sequences.from_lengths(np.diff(pack.borders))),
        )

    def targets_per_token(self, length: float) -> float:
        """Questions that a token of a sequence of `length` tokens has at most, by Splinter's numbers."""
        return min(SHARE * length, MOST_QUESTIONS) / length

    def weights_per_token(self, head: nn.Module, length: float) -> float:
        """Return the weights that a token of a sequence of `length` meets: each token is transformed twice, a question
        twice more and by both forms, and then meets the rows of all tokens, twice."""
        assert isinstance(head, SpanSelectionHead)
        width = head.start.in_features
        return 2.0 * width**2 + self.targets_per_token(length) * (4.0 * width**2 + 2.0 * length * width)

    def build(self, encoder: Encoder) -> SpanSelectionScorer:
        """Return the head."""
        return SpanSelectionScorer(encoder.config)
