"""Causal language modelling: every token guesses the one that follows it.

Source: Radford et al. 2018 (GPT-1), section 3.1; decoder tied to the word embedding, without transform and without
bias. Letters: T tokens in the pack, S sequences, D hidden size, N = T - S targets.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from spanwise.config import part
from spanwise.config.ranges import Weight
from spanwise.errors import ConfigError
from spanwise.nn.encoder import Encoder
from spanwise.nn.heads.lm import TiedDecoder
from spanwise.nn.vocabulary_loss import VocabularyLoss, vocabulary_loss
from spanwise.pretraining.packs import Hidden, Pack, Spans
from spanwise.runtime.compiled import njit


@dataclass(frozen=True, kw_only=True)
class CausalLMTargets:
    """All tokens of a pack but the last of each sequence, in order, with the id of the token after each."""

    capacity: ClassVar[str] = "tokens"
    label: ClassVar[str] = "ids"

    positions: Tensor  # [N] int64, the token that guesses
    ids: Tensor  # [N] int64, what follows it; special tokens are guessed like others

    @property
    def count(self) -> int:
        return self.positions.shape[0]


class CausalLMScorer(TiedDecoder):
    """The word table as decoder; it has no parameter of its own."""

    def __init__(self, encoder: Encoder) -> None:
        super().__init__(encoder.word_embedding, bias=False)
        self.vocab_size = encoder.config.vocab_size

    def forward(self, hidden: Tensor, targets: CausalLMTargets, per_row: bool = False) -> VocabularyLoss:
        """Return the loss summed over the N targets; hidden [T, D]. `per_row` adds the N single losses."""
        rows_ND = hidden.index_select(0, targets.positions)
        return vocabulary_loss(rows_ND, self.weight, self.bias, targets.ids, self.vocab_size, per_row=per_row)


@part("causal_lm")
class CausalLM:
    """Cross-entropy of every token but the first of its sequence, read at the token before it."""

    name: ClassVar[str] = "clm"
    needs: ClassVar[frozenset[str]] = frozenset({"causal", "whole_text"})

    weight: Weight = 1.0

    def targets(self, pack: Pack, spans: Spans | None = None, hidden: Hidden | None = None) -> CausalLMTargets:
        """Return the targets of a pack. A sequence of one token has none."""
        positions_N, ids_N = _next_tokens(pack.borders, pack.input_ids)
        return CausalLMTargets(positions=torch.from_numpy(positions_N), ids=torch.from_numpy(ids_N))

    def targets_per_token(self, length: float) -> float:
        """Targets that a token of a sequence of `length` tokens has: a sequence has one fewer than tokens."""
        return (length - 1.0) / length

    def build(self, encoder: Encoder) -> CausalLMScorer:
        """Return the decoder. Raises: ConfigError where word vectors and hidden states differ in size."""
        embedding_size, hidden_size = encoder.word_embedding.shape[1], encoder.config.hidden_size
        if embedding_size != hidden_size:
            raise ConfigError(
                f"objective '{self.name}' reads hidden states of {hidden_size} by word vectors of {embedding_size}; "
                "set encoder.embedding_size to null."
            )
        return CausalLMScorer(encoder)


@njit
def _next_tokens(borders, input_ids_T):
    positions_N = np.empty(len(input_ids_T), dtype=np.int64)
    ids_N = np.empty(len(input_ids_T), dtype=np.int64)
    n = 0
    for s in range(len(borders) - 1):
        for t in range(borders[s], borders[s + 1] - 1):
            positions_N[n] = t
            ids_N[n] = input_ids_T[t + 1]
            n += 1
    return positions_N[:n], ids_N[:n]
