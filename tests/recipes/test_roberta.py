"""The published numbers stand in the recipes."""

import pytest
from tests.recipes.counts import parameters_of, theirs
from transformers import RobertaConfig, RobertaForMaskedLM

from spanwise import recipes
from spanwise.pretraining.formats import DocSentences, FullSentences, SegmentPair

LARGE = {"hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16, "intermediate_size": 4096}


def test_both_sizes_have_the_papers_values():
    base, large = recipes.roberta_base(), recipes.roberta_large()
    assert (base.training.learning_rate, base.training.warmup_steps) == (6e-4, 24_000)
    assert (large.training.learning_rate, large.training.warmup_steps) == (4e-4, 30_000)
    for recipe in (base, large):
        training = recipe.training
        assert (training.max_steps, training.adam_beta2, training.adam_epsilon) == (500_000, 0.98, 1e-6)
        assert (training.weight_decay, training.max_grad_norm) == (0.01, 0.0)
        assert recipe.batch.packs_per_step * recipe.batch.max_tokens == 8_192 * 512
        assert isinstance(recipe.format, FullSentences) and recipe.num_maskings is None
        assert (recipe.tokenizer.kind, recipe.tokenizer.vocab_size) == ("byte-bpe", 50_265)
        assert set(recipe.objectives) == {"mlm"}


@pytest.mark.parametrize(
    ("recipe", "config", "published"),
    [(recipes.roberta_base(), {}, 125e6), (recipes.roberta_large(), LARGE, 355e6)],
)
def test_parameters_are_those_of_the_published_models(recipe, config, published):
    theirs_of = RobertaConfig(
        vocab_size=50_265, max_position_embeddings=514, type_vocab_size=1, layer_norm_eps=1e-5, **config
    )
    found = parameters_of(recipe)
    assert found["total"] == theirs(RobertaForMaskedLM, theirs_of)
    assert found["total"] == pytest.approx(published, rel=0.01)


def test_the_four_formats_of_table_2_are_recipes():
    formats = {name: recipes.find(f"roberta-base{name}").format for name in ("", "-doc-sentences", "-segment-pair")}
    sentences = recipes.roberta_base_sentence_pair().format
    assert [type(part) for part in formats.values()] == [FullSentences, DocSentences, SegmentPair]
    assert (formats["-segment-pair"].sentences, sentences.sentences) == ("many", "one")
    for name in ("-segment-pair", "-sentence-pair"):
        recipe = recipes.find(f"roberta-base{name}")
        assert set(recipe.objectives) == {"mlm", "nsp"} and recipe.training.learning_rate == 1e-4
