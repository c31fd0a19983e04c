import dataclasses
from pathlib import Path

import pytest
from tests.nn.toy import toy_config

import spanwise.nn.config
from spanwise.errors import ConfigError
from spanwise.nn.config import EncoderConfig


def test_at_most_thirty_fields_each_documented_with_the_systems_that_differ():
    names = [field.name for field in dataclasses.fields(EncoderConfig)]
    lines = Path(spanwise.nn.config.__file__).read_text(encoding="utf-8").splitlines()
    assert len(names) <= 30
    for name in names:
        assert any(line.startswith(f"    {name}:") and "  # " in line for line in lines), name


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"num_layers": 0}, "num_layers"),
        ({"hidden_size": 30}, "does not divide"),
        ({"hidden_dropout": 1.0}, "hidden_dropout"),
        ({"attention_dropout": -0.1}, "attention_dropout"),
        ({"num_token_types": -1}, "num_token_types"),
        ({"position_offset": -1}, "position_offset"),
        ({"embedding_size": 0}, "embedding_size"),
        ({"sharing": "some"}, "sharing"),
        ({"norm_eps": 0.0}, "norm_eps"),
        ({"norm_eps": float("nan")}, "norm_eps"),
        ({"initializer_range": -0.1}, "initializer_range"),
    ],
)
def test_senseless_values_are_refused_by_name(changes, named):
    with pytest.raises(ConfigError, match=named):
        toy_config(**changes)


@pytest.mark.parametrize(("size", "width", "is_factorised"), [(None, 32, False), (32, 32, False), (8, 8, True)])
def test_embeddings_are_factorised_where_their_width_is_not_that_of_the_layers(size, width, is_factorised):
    config = toy_config(embedding_size=size)
    assert config.embedding_width == width and config.is_factorised == is_factorised
