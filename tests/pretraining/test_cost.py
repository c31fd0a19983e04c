"""What systems cost: every group counted once, shared tables with their owner."""

from dataclasses import replace

import pytest
from test_system import small

from spanwise.nn.flops import masked_lm_head_parameters, training_flops_per_token
from spanwise.pretraining.corruption import Generator
from spanwise.pretraining.cost import count_parameters, parameters_by_head, training_flops
from spanwise.pretraining.objectives import ReplacedToken
from spanwise.pretraining.system import build_model, outline_model


def electra():
    return replace(small(), objectives={"rtd": ReplacedToken()}, corruption=Generator(size=0.5))


def test_the_outline_has_the_shapes_of_the_model_that_is_built():
    outline, built = outline_model(electra(), 100), build_model(electra(), 100)
    shapes = [{name: tuple(p.shape) for name, p in model.named_parameters()} for model in (outline, built)]
    assert shapes[0] == shapes[1]
    assert all(parameter.is_meta for parameter in outline.parameters())


def test_a_generator_is_counted_without_the_tables_it_shares():
    recipe, V = electra(), 1_001
    model = outline_model(recipe, V)
    D, G = 32, 16  # hidden sizes; the tables are as wide as the encoder
    layer = 4 * (G * G + G) + 2 * 4 * G * G + 4 * G + G + 4 * G
    projection, head = D * G + G, (G * D + D) + 2 * D + V
    counts = parameters_by_head(model)
    assert counts == {"rtd": D * D + D + D + 1, "generator": recipe.encoder.num_layers * layer + projection + head}
    padded = sum(parameter.numel() for parameter in model.parameters())
    rows = 1_024 - V  # of the table, and of the generator's bias
    assert count_parameters(model.encoder, V) + sum(counts.values()) == padded - rows * D - rows


def test_operations_are_those_of_both_halves():
    recipe, V = electra(), 1_000
    model = outline_model(recipe, V)
    found = training_flops(recipe, model, length=64.0, attended=64.0, text_share=0.5)
    config, own = model.encoder.config, model.corruption.encoder.config
    encoder = training_flops_per_token(config, 64.0, [(1.0, 32 * 32 + 32)])
    generator = training_flops_per_token(own, 64.0, [(0.15 * 0.5, masked_lm_head_parameters(own))])
    assert found == pytest.approx(encoder + generator)
