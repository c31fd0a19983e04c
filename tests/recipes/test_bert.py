"""The published numbers stand in the recipes."""

import pytest
from tests.recipes.counts import parameters_of, theirs
from transformers import BertConfig, BertForPreTraining

from spanwise import recipes
from spanwise.config import override
from spanwise.pretraining.masking import WholeWords


def test_the_base_recipe_is_the_papers():
    base = recipes.bert_base()
    assert (base.encoder.num_layers, base.encoder.hidden_size, base.encoder.num_heads) == (12, 768, 12)
    assert (base.tokenizer.kind, base.tokenizer.vocab_size, base.tokenizer.cased) == ("wordpiece", 30_522, False)
    assert (base.masking.ratio, base.replacement.mask, base.replacement.random, base.replacement.keep) == (
        0.15, 0.8, 0.1, 0.1,
    )  # fmt: skip
    assert (base.replacement.unit, base.num_maskings) == ("token", 10)
    assert base.batch.packs_per_step * base.batch.max_tokens == 256 * 512
    training = base.training
    assert (training.learning_rate, training.warmup_steps, training.max_steps) == (1e-4, 10_000, 1_000_000)
    assert (training.adam_beta1, training.adam_beta2, training.adam_epsilon) == (0.9, 0.999, 1e-6)
    assert (training.weight_decay, training.max_grad_norm) == (0.01, 1.0)
    assert (base.format.random_share, base.format.short_sequence_share) == (0.5, 0.1)


@pytest.mark.parametrize(
    ("recipe", "config", "published"),
    [
        (recipes.bert_base(), {}, 110e6),
        (
            recipes.bert_large(),
            {"hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16, "intermediate_size": 4096},
            340e6,
        ),
    ],
)
def test_parameters_are_those_of_the_published_models(recipe, config, published):
    found = parameters_of(recipe)
    assert found["total"] == theirs(BertForPreTraining, BertConfig(**config))
    assert found["encoder"] == pytest.approx(published, rel=0.015)


def test_whole_word_twins_differ_in_what_they_hide_alone():
    base, twin = recipes.bert_base(), recipes.bert_base_whole_word()
    assert isinstance(twin.masking, WholeWords) and twin.encoder == base.encoder and twin.training == base.training
    assert twin.name == "bert-base-whole-word" and recipes.bert_large_whole_word().encoder.num_layers == 24


def test_the_short_phase_is_a_stated_difference_with_its_command():
    (line,) = (line for line in recipes.bert_base().differences if "--set " in line)
    settings = [word.rstrip(".") for word in line.split() if word.startswith("length_warmup.")]
    warmup = override(recipes.bert_base(), settings).length_warmup
    assert (warmup.steps, warmup.max_length) == (900_000, 128)


@pytest.mark.parametrize("name", ["bert-small", "bert-mini"])
def test_small_ones_advise_no_warm_up_that_is_longer_than_their_run(name):
    differences = recipes.find(name).differences
    assert not [line for line in differences if "length_warmup" in line]
    assert [line for line in differences if "512 tokens" in line]
