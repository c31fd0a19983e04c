import pytest

from spanwise import recipes
from spanwise.config import override
from spanwise.errors import ConfigError
from spanwise.nn.encoder import Encoder
from spanwise.nn.init import initialize
from spanwise.pretraining.recipe import EncoderShape, InitialWeights, PackedBatch


def test_the_number_of_packs_follows_from_the_tokens_of_a_step():
    assert PackedBatch(tokens_per_step=131_072, max_tokens=16_384).packs_per_step == 8
    assert PackedBatch(tokens_per_step=100, max_tokens=16_384).packs_per_step == 1


def test_a_shape_becomes_a_config_with_the_tokenizers_vocabulary():
    shape = EncoderShape(hidden_size=32, num_layers=1, num_heads=2, intermediate_size=64, norm_eps=1e-5)
    config = shape.config(vocab_size=77)
    assert (config.vocab_size, config.hidden_size, config.norm_eps) == (77, 32, 1e-5)
    with pytest.raises(ConfigError, match="num_heads"):
        EncoderShape(hidden_size=32, num_layers=1, num_heads=5, intermediate_size=64).config(vocab_size=77)


def test_positions_start_as_the_recipe_says():
    config = EncoderShape(hidden_size=32, num_layers=1, num_heads=2, intermediate_size=64).config(vocab_size=77)
    tables = {}
    for positions in ("normal", "sinusoidal"):
        encoder = Encoder(config)
        initialize(encoder, config, seed=0)
        InitialWeights(positions=positions).apply(encoder)
        tables[positions] = encoder.embeddings.position.weight
    assert not tables["normal"].equal(tables["sinusoidal"])
    assert tables["sinusoidal"][0, :16].abs().max() == 0.0  # sine of zero


def test_a_recipe_without_an_objective_is_refused():
    from dataclasses import replace

    with pytest.raises(ConfigError, match="no objective"):
        replace(recipes.spanbert_tiny(), objectives={})


def test_values_change_by_path_and_a_wrong_path_is_answered_by_the_nearest():
    recipe = override(recipes.spanbert_tiny(), ["objectives.sbo.weight=0.5", "masking.p=0.3"])
    assert recipe.objectives["sbo"].weight == 0.5 and recipe.masking.p == 0.3
    with pytest.raises(ConfigError, match="learning_rate"):
        override(recipes.spanbert_tiny(), ["training.lr=1e-3"])
