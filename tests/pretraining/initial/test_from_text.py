"""A run that begins from its text: words counted, biases by frequency, everything else as it would have been."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from spanwise.errors import DataError
from spanwise.pretraining.initial.from_text import begin_from_text, set_bias
from spanwise.pretraining.mixtures.mixture import mixture_of
from spanwise.pretraining.ready import VECTORS_NAME
from spanwise.pretraining.recipe import InitialWeights
from spanwise.pretraining.run import pretrain
from spanwise.pretraining.system import build_model
from spanwise.recipes import spanbert_tiny
from spanwise.runtime.progress import RunLog


def recipe_with(initial: InitialWeights, hidden_size: int = 16):
    recipe = spanbert_tiny()
    shape = dict(hidden_size=hidden_size, num_layers=1, num_heads=2, intermediate_size=32, max_positions=64)
    return replace(
        recipe,
        encoder=replace(recipe.encoder, **shape),
        format=replace(recipe.format, max_length=64),
        batch=replace(recipe.batch, tokens_per_step=128, max_tokens=128),
        initial=initial,
        training=replace(recipe.training, max_tokens=None, max_steps=4, threads=1),
    )


COUNTED = InitialWeights(positions="sinusoidal", words="neighbours", biases="unigram", std=0.1)


def test_words_and_biases_come_from_the_text_and_the_rest_is_untouched(tiny_store, tmp_path):
    recipe = recipe_with(COUNTED)
    plain, model = (build_model(recipe, tiny_store.vocabulary.size) for _ in range(2))
    begin_from_text(model, recipe, mixture_of(tiny_store), tmp_path / "v.safetensors", RunLog(None))

    counts = tiny_store.vocabulary.unigram_counts
    words = model.encoder.word_embedding.detach()
    before = plain.encoder.word_embedding.detach()
    rare = torch.from_numpy(counts < 5)
    num_ids = len(counts)
    assert torch.equal(words[:num_ids][rare], before[:num_ids][rare])  # [MASK] and its like stay random
    assert words[:num_ids][~rare].std().item() == pytest.approx(0.1, rel=0.05)
    assert before[:num_ids].std().item() == pytest.approx(0.1, rel=0.1)  # random rows are as large
    for name in model.heads:
        bias = model.heads[name].bias.detach()[:num_ids].numpy()
        expected = np.log(counts / counts.sum() + 1 / tiny_store.num_tokens)
        assert bias == pytest.approx(expected - expected.mean(), abs=1e-4)
    changed = {k for k, v in model.state_dict().items() if not torch.equal(v, plain.state_dict()[k])}
    assert {name.rsplit(".", 1)[-1] for name in changed} == {"weight", "bias"} and len(changed) == 3


def test_a_run_keeps_its_vectors_and_goes_on_bit_for_bit(tiny_store, tmp_path):
    recipe = recipe_with(COUNTED)
    whole = pretrain(recipe, out=tmp_path / "whole", data=tiny_store.path, log=RunLog(None))
    part = replace(recipe, training=replace(recipe.training, save_every=2))
    pretrain(part, out=tmp_path / "part", data=tiny_store.path, log=RunLog(None))
    for later in (tmp_path / "part" / "checkpoints").glob("step-*4"):  # as if it had been stopped after step 2
        for path in sorted(later.rglob("*"), reverse=True):
            path.unlink() if path.is_file() else path.rmdir()
        later.rmdir()
    assert (tmp_path / "part" / VECTORS_NAME).exists()
    again = pretrain(part, out=tmp_path / "part", data=tiny_store.path, resume=True, log=RunLog(None))
    assert (again.final / "model.safetensors").read_bytes() == (whole.final / "model.safetensors").read_bytes()


def test_a_small_text_sets_the_columns_it_can(tiny_store, tmp_path):
    recipe = recipe_with(COUNTED, hidden_size=512)
    plain, model = (build_model(recipe, tiny_store.vocabulary.size) for _ in range(2))
    begin_from_text(model, recipe, mixture_of(tiny_store), tmp_path / "v.safetensors", RunLog(None))
    same = (model.encoder.word_embedding == plain.encoder.word_embedding).all(dim=0)
    num_set = int((~same).sum())
    assert 20 < num_set < 300 and not same[:num_set].any() and same[num_set:].all()


def test_a_text_without_counts_is_told(tiny_store, tmp_path):
    recipe = recipe_with(InitialWeights(biases="unigram"))
    vocabulary = replace(tiny_store.vocabulary, unigram_counts=np.zeros_like(tiny_store.vocabulary.unigram_counts))
    mixture = SimpleNamespace(vocabulary=vocabulary, parts=[])
    with pytest.raises(DataError, match=r"take initial\.biases='zero'"):
        begin_from_text(build_model(recipe, vocabulary.size), recipe, mixture, tmp_path / "v", RunLog(None))


def test_an_id_that_was_never_seen_has_a_bias_too():
    bias = torch.zeros(5)
    set_bias(bias, torch.tensor([6.0, 3.0, 1.0, 0.0]), 10)
    assert bias[4] == 0  # a padded row
    assert torch.allclose((bias[0] - bias[3]).exp(), torch.tensor(7.0))  # seven times to once
    assert bias[:4].mean().abs() < 1e-6
