"""Parts that can't go together are refused by name, before a file is opened or written."""

import os

import pytest

from spanwise.cli.main import main

WRONG = """
from dataclasses import replace
from spanwise import recipes
from spanwise.pretraining.corruption import Symbols
from spanwise.pretraining.masking import GeometricSpans, NoMasking, NoReplacement, Replacement
from spanwise.pretraining.objectives import (
    CausalLM, MaskedLM, NextSentence, ReplacedToken, SentenceOrder, SpanBoundary,
)

NOTHING = dict(masking=NoMasking(), replacement=NoReplacement())
SPANS = dict(masking=GeometricSpans(), replacement=Replacement())
def with_pooler(recipe, **parts):
    return replace(recipe, encoder=replace(recipe.encoder, pooler=True), **parts)
def nsp_on_single_segments():
    return with_pooler(recipes.spanbert_mini(), objectives={"mlm": MaskedLM(), "nsp": NextSentence()})
def nsp_on_swapped_pairs():
    return replace(recipes.albert_mini(), objectives={"mlm": MaskedLM(), "nsp": NextSentence()})
def sop_on_random_pairs():
    return replace(recipes.bert_mini(), objectives={"mlm": MaskedLM(), "sop": SentenceOrder()})
def nsp_without_pooler():
    return replace(recipes.bert_mini(), encoder=replace(recipes.bert_mini().encoder, pooler=False))
def sbo_without_spans():
    return replace(recipes.spanbert_mini(), objectives={"sbo": SpanBoundary()}, **NOTHING)
def clm_on_both_sides():
    return replace(recipes.spanbert_mini(), objectives={"clm": CausalLM()}, **NOTHING)
def clm_on_hidden_tokens():
    return replace(recipes.gpt1_mini(), **SPANS)
def mlm_on_gpt1():
    return replace(recipes.gpt1_mini(), objectives={"mlm": MaskedLM()}, **SPANS)
def rtd_without_generator():
    return replace(recipes.electra_mini(), corruption=Symbols())
def two_losses_of_one_name():
    return replace(recipes.electra_mini(), objectives={"mlm": MaskedLM(), "rtd": ReplacedToken()})
def hides_and_replaces_nothing():
    return replace(recipes.spanbert_mini(), replacement=NoReplacement())
def no_objective():
    return replace(recipes.spanbert_mini(), objectives={})
"""
CROSSES = {
    "nsp_on_single_segments": ["'nsp'", "SingleSegment", "SentencePair"],
    "nsp_on_swapped_pairs": ["'nsp'", "OrderedPair", "SentencePair"],
    "sop_on_random_pairs": ["'sop'", "SentencePair", "OrderedPair"],
    "nsp_without_pooler": ["'nsp'", "encoder.pooler=true"],
    "sbo_without_spans": ["'sbo'", "NoMasking", "GeometricSpans"],
    "clm_on_both_sides": ["'clm'", "encoder.causal=false", "encoder.causal=true"],
    "clm_on_hidden_tokens": ["'clm'", "GeometricSpans", "NoMasking"],
    "mlm_on_gpt1": ["'mlm'", "encoder.causal=true", "CausalLM"],
    "rtd_without_generator": ["'rtd'", "Symbols", "Generator"],
    "two_losses_of_one_name": ["objectives.mlm", "corruption.objectives.mlm"],
    "hides_and_replaces_nothing": ["GeometricSpans", "NoReplacement"],
    "no_objective": ["no objective", "MaskedLM"],
}
VALUES = {
    "spanbert-mini": [
        ("encoder.causal=true", ["'mlm'", "encoder.causal=false"]),
        ("encoder.hidden_size=0", ["encoder.hidden_size", "at least 1"]),
        ("encoder.num_heads=3", ["encoder.num_heads 3", "256"]),
        ("encoder.num_layers=-1", ["encoder.num_layers", "-1"]),
        ("encoder.norm_eps=0", ["encoder.norm_eps", "0"]),
        ("encoder.initializer_range=-0.1", ["encoder.initializer_range", "-0.1"]),
        ("encoder.hidden_dropout=1.5", ["encoder.hidden_dropout", "1.5"]),
        ("encoder.activation=relu", ["encoder.activation", "gelu_tanh"]),
        ("encoder.sharing=some", ["encoder.sharing", "feed_forward"]),
        ("encoder.position_offset=-1", ["encoder.position_offset", "-1"]),
        ("encoder.embedding_size=0", ["encoder.embedding_size", "0"]),
        ("encoder.norm_place=middle", ["encoder.norm_place", "pre"]),
        ("encoder.rotary_base=10000", ["initial.positions 'sinusoidal'", "initial.positions=normal"]),
        ("encoder.rotary_base=-1", ["encoder.rotary_base", "-1"]),
        ("encoder.local_rotary_base=10", ["encoder.local_rotary_base", "encoder.rotary_base"]),
        ("encoder.local_window=0", ["encoder.local_window", "at least 1"]),
        ("encoder.global_every=0", ["encoder.global_every", "at least 1"]),
        ("encoder.embedding_dropout=1", ["encoder.embedding_dropout", "below 1"]),
        ("format.max_length=1024", ["format.max_length 1024", "encoder.max_positions 512"]),
        ("format.max_length=2", ["format.max_length", "at least 3"]),
        ("batch.tokens_per_step=1000000000", ["batch.tokens_per_step 1,000,000,000 is 122,070 packs", "65,536"]),
        ("training.max_steps=99999999999999999999", ["training.max_steps", "at most 1000000000"]),
        ("training.threads=100000", ["training.threads cannot be 100000", "at most 1024"]),
        ("encoder.hidden_size=99999999999999999999", ["encoder.hidden_size", "at most"]),
        ("encoder.num_layers=.nan", ["encoder.num_layers", "valid integer"]),
        ("masking.max_words=1000000000", ["masking.max_words", "at most 1000"]),
        ("batch.max_tokens=100", ["batch.max_tokens 100", "format.max_length 512"]),
        ("masking.ratio=1.5", ["masking.ratio", "1.5"]),
        ("masking.p=0", ["masking.p", "0"]),
        ("replacement.mask=0.9", ["replacement.mask", "add up to 1"]),
        ("objectives.mlm.weight=-1", ["objectives.mlm.weight", "-1"]),
        ("objectives.sbo.num_positions=0", ["num_positions", "0"]),
        ("training.learning_rate=0", ["training.learning_rate", "above 0"]),
    ],
    "electra-mini": [
        ("corruption.size=3", ["corruption.size", "2"]),
        ("corruption.size=0.51", ["corruption.size 0.51", "256"]),
        ("corruption.temperature=0", ["corruption.temperature", "at least 0.000001"]),
    ],
    "spanbert-modern-mini": [
        ("encoder.position_offset=2", ["encoder.position_offset", "rotary"]),
        ("encoder.num_heads=256", ["encoder.rotary_base", "even size"]),
    ],
    "gpt1-mini": [("encoder.causal=false", ["'clm'", "encoder.causal=true"])],
    "albert-mini": [("encoder.num_token_types=1", ["num_token_types 2", "num_token_types 1"])],
}


def refused(recipe, tmp_path, capsys, *more):
    """The one line that a refused recipe is answered with; nothing was read or written."""
    out = tmp_path / "run"
    assert main(["pretrain", recipe, "--data", str(tmp_path / "not-there"), "--out", str(out), *more]) == 2
    assert not os.path.exists(out)
    return capsys.readouterr().err


@pytest.mark.parametrize("function", CROSSES)
def test_a_senseless_cross_is_refused_and_both_parts_are_named(function, tmp_path, capsys):
    file = tmp_path / f"wrong_{function}.py"
    file.write_text(WRONG)
    told = refused(f"{file}:{function}", tmp_path, capsys)
    assert [word for word in CROSSES[function] if word not in told] == [], told


@pytest.mark.parametrize("recipe, change, words", [(name, *row) for name, rows in VALUES.items() for row in rows])
def test_a_value_out_of_range_is_refused_and_named(recipe, change, words, tmp_path, capsys):
    told = refused(recipe, tmp_path, capsys, "--set", change)
    assert [word for word in words if word not in told] == [], told


@pytest.mark.parametrize("kind, tag", [("named-entities", "entities"), ("noun-phrases", "noun-phrases")])
def test_phrases_are_refused_on_a_store_without_tags_and_the_cure_is_told(kind, tag, world, tiny, tmp_path, capsys):
    store, out = str(world.folder / "store"), str(tmp_path / "run")
    assert main(["pretrain", f"spanbert-ablation-{kind}", "--data", store, "--out", out, *tiny]) == 3
    assert f"spanwise prepare --tag {tag}" in capsys.readouterr().err
    assert not os.path.exists(tmp_path / "run" / "checkpoints")
