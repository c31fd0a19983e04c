"""The published numbers stand in the recipes."""

import pytest
from tests.recipes.counts import parameters_of, theirs
from transformers import ElectraConfig, ElectraForMaskedLM, ElectraForPreTraining

from spanwise import recipes

SIZES = {
    "electra-small": (12, 256, 4, 1_024, 128, 64, 14e6),
    "electra-base": (12, 768, 12, 3_072, 768, 256, 110e6),
    "electra-large": (24, 1_024, 16, 4_096, 1_024, 256, 335e6),
}


@pytest.mark.parametrize("name", SIZES)
def test_parameters_of_both_halves_are_those_of_the_published_classes(name):
    """The paper prints 14 M for a small discriminator of 13.5 M."""
    layers, hidden, heads, intermediate, embedding, generator, published = SIZES[name]

    def config(width, num_heads, wide):
        return ElectraConfig(
            vocab_size=30_522,
            embedding_size=embedding,
            hidden_size=width,
            num_hidden_layers=layers,
            num_attention_heads=num_heads,
            intermediate_size=wide,
        )

    found = parameters_of(recipes.find(name))
    assert found["encoder"] + found["by_head"]["rtd"] == theirs(
        ElectraForPreTraining, config(hidden, heads, intermediate)
    )
    tables = (30_522 + 512 + 2 + 2) * embedding  # words, positions, token types, LayerNorm: the encoder's
    small = config(generator, max(1, generator // 64), 4 * generator)
    assert found["by_head"]["generator"] == theirs(ElectraForMaskedLM, small) - tables
    assert found["encoder"] == pytest.approx(published, rel=0.04)


def test_the_recipes_have_the_papers_values():
    small, base, large = recipes.electra_small(), recipes.electra_base(), recipes.electra_large()
    rates = [(r.training.learning_rate, r.training.max_steps, r.batch.tokens_per_step) for r in (small, base, large)]
    assert rates == [(5e-4, 1_000_000, 128 * 128), (2e-4, 766_000, 256 * 512), (2e-4, 400_000, 2_048 * 512)]
    assert [r.format.max_length for r in (small, base, large)] == [128, 512, 512]
    assert [r.masking.ratio for r in (small, base, large)] == [0.15, 0.15, 0.25]
    for recipe in (small, base, large):
        assert (recipe.replacement.mask, recipe.replacement.random, recipe.replacement.keep) == (0.85, 0.0, 0.15)
        assert recipe.objectives["rtd"].weight == 50.0 and recipe.corruption.objectives["mlm"].weight == 1.0
        assert (recipe.corruption.temperature, recipe.corruption.disallow_correct) == (1.0, False)
        assert recipe.training.warmup_steps == 10_000
        assert (recipe.format.single_segment_share, recipe.format.short_sequence_share) == (0.1, 0.05)
