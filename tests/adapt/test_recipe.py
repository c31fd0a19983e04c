"""What an adaptation learns follows from what the start is and has."""

from dataclasses import replace

import pytest

from spanwise.adapt.options import Length
from spanwise.adapt.recipe import adaptation_recipe, fresh_heads, heads_recipe, learning_rate_for
from spanwise.interop.huggingface import read_folder
from spanwise.pretraining.masking import MaskingMixture, QuestionTokens, TwoMaskings
from spanwise.pretraining.system import check


@pytest.fixture(scope="module")
def nano():
    return read_folder("spanwise-mini")


def recipe_of(checkpoint, objective="spans", **options):
    return adaptation_recipe(checkpoint, objective, seed=1, length=Length(steps=100), **options)


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


@pytest.mark.parametrize("objective", ["selection", "both"])
def test_a_pointer_that_the_start_lacks_is_taught_on_the_same_questions(nano, objective):
    recipe = recipe_of(nano, objective)
    check(recipe)
    assert fresh_heads(recipe, nano) == ()
    lacking = replace(nano, heads={name: head for name, head in nano.heads.items() if name != "span_selection"})
    assert fresh_heads(recipe, lacking) == ("span_selection",)
    heads = heads_recipe(recipe, ("span_selection",), Length(steps=25))
    check(heads)
    assert heads.masking == recipe.masking and isinstance(heads.replacement, QuestionTokens)
    both = isinstance(recipe.masking, TwoMaskings)
    assert both == (objective == "both") and (not both or isinstance(recipe.masking.then, MaskingMixture))


def test_fresh_heads_are_taught_alone_with_the_encoder_still(nano):
    bare = replace(nano, heads={"mlm": nano.heads["mlm"]})
    recipe = recipe_of(bare)
    assert fresh_heads(recipe, bare) == ("sbo",)
    heads = heads_recipe(recipe, ("sbo",), Length(seconds=9.0))
    check(heads)
    assert heads.frozen == "encoder" and list(heads.objectives) == ["sbo"]
    assert heads.training.length == ("budget", 9.0) and heads.training.eval_every is None
