import pytest

from spanwise import recipes
from spanwise.config import override
from spanwise.errors import ConfigError
from spanwise.nn.config import EncoderConfig
from spanwise.nn.encoder import Encoder
from spanwise.nn.init import initialize
from spanwise.pretraining.recipe import InitialWeights, PackedBatch, identity_record


def test_the_number_of_packs_follows_from_the_tokens_of_a_step():
    assert PackedBatch(tokens_per_step=131_072, max_tokens=16_384).packs_per_step == 8
    assert PackedBatch(tokens_per_step=100, max_tokens=16_384).packs_per_step == 1


def test_only_another_number_of_packs_than_the_recipes_own_makes_another_run():
    recipe = recipes.spanbert_large()
    plain = identity_record(recipe)
    assert recipe.batch.packs == "auto" and "packs" not in plain["batch"]
    assert identity_record(override(recipe, ["batch.packs=8"])) == plain
    assert identity_record(override(recipe, ["batch.packs=2"]))["batch"]["packs"] == 2
    for wrong in ("0", "many", str(2**17)):
        with pytest.raises(ConfigError, match=r"batch\.packs"):
            override(recipe, [f"batch.packs={wrong}"])


def test_a_shape_becomes_a_config_with_the_tokenizers_vocabulary():
    shape = EncoderConfig(hidden_size=32, num_layers=1, num_heads=2, intermediate_size=64, norm_eps=1e-5)
    config = shape.for_vocabulary(77)
    assert (config.vocab_size, config.hidden_size, config.norm_eps) == (77, 32, 1e-5)
    with pytest.raises(ConfigError, match="num_heads"):
        EncoderConfig(hidden_size=32, num_layers=1, num_heads=5, intermediate_size=64).for_vocabulary(77)


def test_positions_start_as_the_recipe_says():
    config = EncoderConfig(hidden_size=32, num_layers=1, num_heads=2, intermediate_size=64).for_vocabulary(77)
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


def test_a_run_that_began_before_encoders_had_more_values_goes_on():
    """Its record lacks what recipes have gained since then; a value that is set is recorded."""
    recipe = recipes.spanbert_tiny()
    record = identity_record(recipe)
    assert record["encoder"] == {
        "part": "encoder_shape",
        "hidden_size": 128,
        "num_layers": 2,
        "num_heads": 2,
        "intermediate_size": 512,
        "max_positions": 512,
        "num_token_types": 2,
        "activation": "gelu",
        "norm_eps": 1e-12,
        "hidden_dropout": 0.1,
        "attention_dropout": 0.0,
        "initializer_range": 0.02,
        "pooler": False,
        "embedding_size": None,
        "sharing": "none",
        "causal": False,
        "position_offset": 0,
        "embedding_norm": True,
    }
