"""The published numbers stand in the recipe."""

import pytest
from tests.recipes.counts import parameters_of, theirs
from transformers import OpenAIGPTConfig, OpenAIGPTLMHeadModel

from spanwise import recipes


def test_the_recipe_has_the_papers_values():
    gpt1 = recipes.gpt1()
    training = gpt1.training
    assert (training.learning_rate, training.warmup_steps, training.schedule) == (2.5e-4, 2_000, "cosine")
    assert (training.num_epochs, gpt1.batch.tokens_per_step) == (100, 64 * 512)
    assert gpt1.encoder.causal and not gpt1.encoder.embedding_norm and gpt1.encoder.num_token_types == 0
    assert (gpt1.encoder.activation, gpt1.encoder.norm_eps) == ("gelu_tanh", 1e-5)
    assert (gpt1.tokenizer.kind, gpt1.tokenizer.vocab_size) == ("bpe", 40_478)


def test_parameters_are_those_of_the_published_model():
    total = parameters_of(recipes.gpt1())["total"]
    assert total == theirs(OpenAIGPTLMHeadModel, OpenAIGPTConfig())
    assert total == pytest.approx(117e6, rel=0.01)
