"""The second loss of fine-tuning a causal model: guess each token of the text from those before it.

Every token that belongs to a text is guessed, but the first of a sequence that has nothing before it; special tokens
(start, delimiter, extract) are read and not guessed.

Letters: T tokens in the pack, N targets, D hidden size.
Source: Radford et al. 2018 (GPT-1), section 3.2: L3 = L2 + 0.5 L1.
Differs: a mean over the tokens of a step, as in pre-training, where the released code takes each sequence's mean first;
and it guesses the added tokens too, which are no language.
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from spanwise.nn.encoder import Encoder
from spanwise.nn.vocabulary_loss import VocabularyLoss, vocabulary_loss

LANGUAGE = "lm"  # the name of this loss


@dataclass(frozen=True)
class LanguageTargets:
    """Which tokens guess, and what follows each of them: [N] int64 both."""

    positions: Tensor
    ids: Tensor

    @property
    def count(self) -> int:
        return self.positions.shape[0]


def language_targets(input_ids: np.ndarray, lengths: list[int], silent_ids: np.ndarray) -> LanguageTargets:
    """The targets of a pack: ids [T], the lengths of its sequences, and the ids that are not guessed."""
    is_guessed_T = ~np.isin(input_ids, silent_ids)
    is_guessed_T[np.cumsum([0, *lengths[:-1]])] = False
    places_N = np.flatnonzero(is_guessed_T)
    return LanguageTargets(
        positions=torch.from_numpy(places_N - 1), ids=torch.from_numpy(input_ids[places_N].astype(np.int64))
    )


def language_loss(encoder: Encoder, hidden_TD: Tensor, targets: LanguageTargets) -> VocabularyLoss:
    """Cross-entropy summed over the N targets; the decoder is the word table, without bias."""
    table = encoder.word_embedding
    rows_ND = hidden_TD.index_select(0, targets.positions)
    bias = table.new_zeros(table.shape[0])
    return vocabulary_loss(rows_ND, table, bias, targets.ids, encoder.config.vocab_size)
