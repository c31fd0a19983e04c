"""Sinusoids as the first values of the position table."""

import pytest
import torch

from spanwise.nn.config import EncoderConfig
from spanwise.nn.encoder import Encoder
from spanwise.nn.init import initialize
from spanwise.nn.sinusoids import set_sinusoidal_positions, sinusoids


def test_the_inner_product_of_two_positions_depends_on_their_distance_alone():
    table = sinusoids(200, 64).double()
    products = table @ table.T
    for distance in (0, 1, 7, 40):
        diagonal = products.diagonal(distance)
        assert torch.allclose(diagonal, diagonal[0].expand_as(diagonal), atol=1e-4)
    assert products[0, 0] > products[0, 1] > products[0, 7]


@pytest.mark.parametrize("hidden_size", [64, 66])
def test_the_table_has_the_variance_of_random_weights_and_nothing_else_changes(hidden_size):
    config = EncoderConfig(
        vocab_size=50, hidden_size=hidden_size, num_layers=1, num_heads=2, intermediate_size=32, initializer_range=0.02
    )
    encoder = Encoder(config)
    initialize(encoder, config, seed=0)
    before = {name: value.clone() for name, value in encoder.state_dict().items()}
    set_sinusoidal_positions(encoder)
    assert encoder.embeddings.position.weight.square().mean().sqrt().item() == pytest.approx(0.02, rel=1e-3)
    changed = [name for name, value in encoder.state_dict().items() if not torch.equal(value, before[name])]
    assert changed == ["embeddings.position.weight"]
