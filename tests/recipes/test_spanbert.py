"""The published numbers stand in the recipes."""

import math

import pytest

from spanwise import recipes


def test_the_large_recipe_is_the_papers():
    large = recipes.spanbert_large()
    assert (large.encoder.num_layers, large.encoder.hidden_size, large.encoder.num_heads) == (24, 1024, 16)
    assert large.tokenizer.vocab_size == 28_996 and large.tokenizer.cased
    assert (large.masking.p, large.masking.max_words, large.masking.ratio) == (0.2, 10, 0.15)
    assert (large.replacement.mask, large.replacement.random, large.replacement.keep) == (0.8, 0.1, 0.1)
    assert large.replacement.unit == "span"
    assert large.batch.packs_per_step * large.batch.max_tokens == 131_072
    assert (large.training.learning_rate, large.training.warmup_steps) == (1e-4, 10_000)
    assert large.training.max_steps == 2_400_000
    assert set(large.objectives) == {"mlm", "sbo"} and large.objectives["sbo"].weight == 1.0


def test_the_base_recipe_is_the_authors():
    base = recipes.spanbert_base()
    assert base.batch.packs_per_step * base.batch.max_tokens == 2_048 * 512
    assert (base.training.learning_rate, base.training.max_steps) == (5e-4, 300_000)


@pytest.mark.parametrize("name", ["spanbert-base-original", "spanbert-large-original"])
def test_the_original_twins_keep_the_released_codes_choices_and_say_so(name):
    recipe = recipes.find(name)
    assert (recipe.masking.start, recipe.masking.end) == ("tokens", "budget")
    boundary = recipe.objectives["sbo"]
    assert (boundary.num_positions, boundary.edges, boundary.beyond) == (15, "skip", "skip")
    assert any("released code" in line for line in recipe.differences)


def test_the_default_recipes_give_every_hidden_token_both_losses(tiny_store):
    from dataclasses import replace

    from spanwise.pretraining.system import training_source

    recipe = recipes.spanbert_base()
    recipe = replace(
        recipe,
        format=replace(recipe.format, max_length=64),
        batch=replace(recipe.batch, tokens_per_step=512, max_tokens=512),
    )
    for batch in training_source(recipe, tiny_store).step(0):
        assert batch.counts["mlm"] == batch.counts["sbo"] > 0


def test_the_published_rate_rises_by_a_ten_thousandth_a_step(tmp_path):
    from spanwise.training.schedule import PlanLine, learning_rate

    large = recipes.spanbert_large().training
    plan = [PlanLine(step=0, total_steps=large.max_steps, reason="")]

    def rate(step):
        return learning_rate(step, plan, peak=large.learning_rate, warmup=large.warmup_steps, shape=large.schedule)

    assert rate(1) == pytest.approx(1e-8) and rate(10_000) == pytest.approx(1e-4)
    assert rate(2_400_000) == 0.0
    assert math.isclose(rate(1_205_000), 0.5e-4, rel_tol=1e-3)
