"""What an adaptation learns follows from what the start is and has."""

from dataclasses import replace

import pytest

from spanwise.adapt.options import Length
from spanwise.adapt.recipe import adaptation_recipe, choose_objective, fresh_heads, heads_recipe, learning_rate_for
from spanwise.errors import CheckpointError, ConfigError
from spanwise.interop.huggingface import read_folder
from spanwise.pretraining.masking import GeometricSpans, MaskingMixture, SubwordTokens, WholeWords
from spanwise.pretraining.system import check


@pytest.fixture(scope="module")
def nano():
    return read_folder("spanwise-nano")


def recipe_of(checkpoint, objective="spans", **options):
    return adaptation_recipe(checkpoint, objective, seed=1, length=Length(steps=100), **options)


def test_the_objective_is_what_the_start_has_learned(nano):
    assert choose_objective("auto", nano) == "spans"
    assert choose_objective("auto", replace(nano, heads={"mlm": nano.heads["mlm"]})) == "mlm"
    assert choose_objective("auto", replace(nano, heads={})) == "mlm"
    assert choose_objective("spans", replace(nano, heads={})) == "spans"
    with pytest.raises(ConfigError, match="auto, spans or mlm"):
        choose_objective("mln", nano)
    with pytest.raises(CheckpointError, match="left to right"):
        choose_objective("auto", replace(nano, config=replace(nano.config, causal=True)))


def test_masks_are_the_starts_own_where_its_record_says_them(nano):
    learned = recipe_of(nano).masking
    assert isinstance(learned, MaskingMixture) and learned.ratio == 0.3
    assert isinstance(recipe_of(nano, whole_words=True).masking, GeometricSpans)
    unknown = replace(nano, record={"recipe": {"masking": {"part": "of_another_time"}}})
    assert isinstance(recipe_of(unknown).masking, GeometricSpans)
    assert isinstance(recipe_of(replace(nano, record={}), "mlm").masking, SubwordTokens)
    assert isinstance(recipe_of(replace(nano, record={}), "mlm", whole_words=True).masking, WholeWords)
    tagged = replace(nano, record={"recipe": {**nano.record["recipe"], "word_unit": "morpheme"}})
    assert isinstance(recipe_of(tagged).masking, GeometricSpans)  # morphemes would need a tagged store


def test_the_rate_is_small_warms_up_falls_to_zero_and_follows_the_width(nano):
    training, shape = recipe_of(nano).training, nano.config
    assert training.schedule == "linear" and 0 < training.warmup_steps < 1 and training.optimizer == "adamw"
    rates = [learning_rate_for(replace(shape, hidden_size=size)) for size in (256, 768, 1024)]
    assert rates[1] == pytest.approx(1e-4) and rates[0] > rates[1] > rates[2]


def test_the_recipe_keeps_the_shape_and_the_sizes_of_heads(nano):
    recipe = recipe_of(nano)
    check(recipe)
    assert recipe.encoder == replace(nano.config, vocab_size=0) and recipe.format.max_length == 256
    assert recipe.objectives["sbo"].num_positions == nano.heads["sbo"]["positions.weight"].shape[0]
    short = replace(nano, config=replace(nano.config, max_positions=64))
    assert recipe_of(short).format.max_length == 64
    assert fresh_heads(recipe, nano) == ()


def test_fresh_heads_are_taught_alone_with_the_encoder_still(nano):
    bare = replace(nano, heads={"mlm": nano.heads["mlm"]})
    recipe = recipe_of(bare)
    assert fresh_heads(recipe, bare) == ("sbo",)
    heads = heads_recipe(recipe, ("sbo",), Length(seconds=9.0))
    check(heads)
    assert heads.frozen == "encoder" and list(heads.objectives) == ["sbo"]
    assert heads.training.length == ("budget", 9.0) and heads.training.eval_every is None
