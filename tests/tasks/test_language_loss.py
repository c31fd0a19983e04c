"""The next token's loss of fine-tuning: the text's own tokens, and the mean that the step takes of it."""

import numpy as np
import torch
import torch.nn.functional as F

from spanwise.interop.checkpoint import build_encoder
from spanwise.interop.huggingface import read_folder
from spanwise.nn.sequences import Sequences
from spanwise.tasks.language_loss import language_loss, language_targets

START, MIDDLE, END = 97, 98, 99


def test_the_tokens_of_texts_are_guessed_and_the_added_ones_are_not():
    ids = np.array([START, 5, 6, MIDDLE, 7, END, START, 8, END])
    targets = language_targets(ids, [6, 3], np.array([START, MIDDLE, END]))
    assert targets.positions.tolist() == [0, 1, 3, 6] and targets.ids.tolist() == [5, 6, 7, 8] and targets.count == 4


def test_without_a_start_token_the_first_of_each_sequence_is_not_guessed():
    targets = language_targets(np.array([5, 6, 7, 8]), [1, 3], np.array([], dtype=np.int64))
    assert targets.positions.tolist() == [1, 2] and targets.ids.tolist() == [7, 8]


def test_the_loss_is_the_cross_entropy_of_those_tokens(causal_folder):
    encoder = build_encoder(read_folder(causal_folder)).eval()
    ids = np.array([9, 10, 11, 12, 13, 14])
    hidden_TD = encoder(torch.from_numpy(ids), torch.zeros(6, dtype=torch.int64), Sequences.from_lengths([4, 2]))
    found = language_loss(encoder, hidden_TD, language_targets(ids, [4, 2], np.array([12])))
    logits = F.linear(hidden_TD[[0, 1, 4]], encoder.word_embedding)[:, : encoder.config.vocab_size]
    expected = F.cross_entropy(logits, torch.tensor([10, 11, 14]), reduction="sum")
    torch.testing.assert_close(found.sum, expected)
