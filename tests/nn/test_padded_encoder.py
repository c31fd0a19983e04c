"""An encoder of padded rows behind the packed call: the same states as one sequence at a time, in their places."""

from types import SimpleNamespace

import pytest
import torch
from torch import nn

from spanwise.errors import ConfigError, DataError
from spanwise.nn import padded_encoder
from spanwise.nn.config import EncoderConfig
from spanwise.nn.int8.encoder import prepared_for
from spanwise.nn.padded_encoder import PaddedEncoder
from spanwise.nn.sequences import Sequences

SHAPE = {"hidden_size": 4, "num_layers": 2, "num_heads": 1, "intermediate_size": 4, "max_positions": 40}
LENGTHS = [3, 17, 1, 9, 2, 16]


class Body(nn.Module):
    """Adds the mean of the sequence's words to each, and remembers which shapes it was called with."""

    def __init__(self) -> None:
        super().__init__()
        self.embeddings = nn.Module()
        self.embeddings.words = nn.Embedding(30, 4)
        self.embeddings.types = nn.Embedding(2, 4)
        self.layer = nn.ModuleList([nn.Linear(4, 4), nn.Linear(4, 4)])
        self.last = nn.Linear(4, 4)
        self.shapes = []

    def get_input_embeddings(self):
        return self.embeddings.words

    def forward(self, input_ids, attention_mask, token_type_ids):
        self.shapes.append(tuple(input_ids.shape))
        assert (input_ids[attention_mask == 0] == 7).all()
        states = self.embeddings.words(input_ids) + self.embeddings.types(token_type_ids)
        weights = attention_mask[..., None] / attention_mask.sum(1)[:, None, None]
        states = states + (states * weights).sum(1, keepdim=True)
        for layer in self.layer:
            states = torch.tanh(layer(states))
        return SimpleNamespace(last_hidden_state=self.last(states))


@pytest.fixture
def encoder():
    torch.manual_seed(0)
    return PaddedEncoder(EncoderConfig(vocab_size=30, **SHAPE), Body(), pad_id=7, has_token_types=True)


def pack(lengths):
    torch.manual_seed(1)
    ids = torch.randint(8, 30, (sum(lengths),))
    return ids, torch.randint(0, 2, ids.shape), Sequences.from_lengths(lengths)


@torch.no_grad()
def test_states_are_those_of_each_sequence_alone(encoder):
    ids, types, sequences = pack(LENGTHS)
    packed = encoder(ids, types, sequences)
    assert encoder.body.shapes == [(3, 17), (2, 3), (1, 1)]  # sequences of like length go together
    place = 0
    for length in LENGTHS:
        part = slice(place, place + length)
        alone = encoder(ids[part], types[part], Sequences.from_lengths([length]))
        torch.testing.assert_close(packed[part], alone, atol=1e-6, rtol=0)
        place += length


@torch.no_grad()
def test_without_filler_only_sequences_of_one_length_go_together(encoder):
    encoder.is_padded = False
    ids, types, sequences = pack([3, 5, 3, 4])
    encoder(ids, types, sequences)
    assert encoder.body.shapes == [(1, 5), (1, 4), (2, 3)]


@torch.no_grad()
def test_a_padded_batch_has_a_bound(encoder, monkeypatch):
    ids, types, sequences = pack(LENGTHS)
    whole = encoder(ids, types, sequences)
    encoder.body.shapes.clear()
    monkeypatch.setattr(padded_encoder, "MOST_CELLS", 20)
    torch.testing.assert_close(encoder(ids, types, sequences), whole, atol=1e-6, rtol=0)
    assert encoder.body.shapes[:3] == [(1, 17), (1, 16), (1, 9)] and all(b * n <= 20 for b, n in encoder.body.shapes)


@torch.no_grad()
def test_wanted_rows_alone_come_back(encoder):
    ids, types, sequences = pack(LENGTHS)
    rows = torch.tensor([2, 30, 5])
    found, whole = encoder(ids, types, sequences, rows), encoder(ids, types, sequences)
    assert torch.equal(found[rows], whole[rows]) and int((found != 0).any(1).sum()) == 3


def test_parameters_have_native_names_and_each_comes_once(encoder):
    names = [name for name, _ in encoder.named_parameters()]
    assert names[:2] == ["embeddings.word.weight", "embeddings.rest.types.weight"]
    assert names[2:6] == [f"layers.{n}.{part}" for n in (0, 1) for part in ("weight", "bias")]
    assert names[6:] == ["body.last.weight", "body.last.bias"]
    assert encoder.word_embedding is encoder.body.embeddings.words.weight


def test_gradients_reach_every_parameter(encoder):
    ids, types, sequences = pack(LENGTHS)
    encoder(ids, types, sequences).square().sum().backward()
    assert all(parameter.grad is not None and parameter.grad.abs().sum() > 0 for parameter in encoder.parameters())


def test_what_it_cannot_do_is_refused(encoder):
    with pytest.raises(DataError, match="41 tokens came, but this encoder has 40"):
        encoder(*pack([41]))
    with pytest.raises(ConfigError, match="'int8' is of encoders that this package computes itself; Body runs"):
        prepared_for("int8", encoder)
