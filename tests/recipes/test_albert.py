"""The published numbers stand in the recipes."""

import pytest
from tests.recipes.counts import parameters_of, theirs
from transformers import AlbertConfig, AlbertForPreTraining

from spanwise import recipes

SIZES = {
    "albert-base": (12, 768, 12, 3_072, 12e6),
    "albert-large": (24, 1_024, 16, 4_096, 18e6),
    "albert-xlarge": (24, 2_048, 16, 8_192, 60e6),
    "albert-xxlarge": (12, 4_096, 64, 16_384, 235e6),
}


@pytest.mark.parametrize("name", SIZES)
def test_parameters_are_those_of_the_published_models(name):
    """The paper rounds, and prints 235 M where its released model has 223 M."""
    layers, hidden, heads, intermediate, published = SIZES[name]
    config = AlbertConfig(
        vocab_size=30_000,
        embedding_size=128,
        hidden_size=hidden,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        intermediate_size=intermediate,
        num_hidden_groups=1,
    )
    found = parameters_of(recipes.find(name))
    assert found["total"] == theirs(AlbertForPreTraining, config)
    assert found["encoder"] == pytest.approx(published, rel=0.06)


def test_the_recipes_have_the_papers_values():
    base = recipes.albert_base()
    training = base.training
    assert (training.optimizer, training.learning_rate) == ("lamb", 1.76e-3)
    assert (training.warmup_steps, training.max_steps) == (3_125, 125_000)
    assert base.batch.packs_per_step * base.batch.max_tokens == 4_096 * 512
    assert (base.masking.max_words, base.masking.ratio) == (3, 0.15)
    assert (base.tokenizer.kind, base.tokenizer.vocab_size, base.tokenizer.cased) == ("unigram", 30_000, False)
    assert (base.encoder.embedding_size, base.encoder.sharing) == (128, "all")
    assert set(base.objectives) == {"mlm", "sop"} and base.format.swapped_share == 0.5
    assert recipes.albert_xxlarge().encoder.hidden_dropout == 0.0


def test_the_sharing_of_table_4_costs_the_parameters_it_prints():
    """E = 128: all 12 M, attention 64 M, feed-forward 38 M, none 89 M; the pooler is 0.6 M of ours."""
    printed = {"": 12, "-shared-attention": 64, "-shared-feed-forward": 38, "-not-shared": 89}
    found = {name: parameters_of(recipes.find(f"albert-base{name}"))["encoder"] / 1e6 for name in printed}
    assert found == {name: pytest.approx(millions, abs=0.7) for name, millions in printed.items()}
