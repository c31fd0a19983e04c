"""A run that begins from its text: words counted, biases by frequency, everything else as it would have been."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from toy_electra import electra

from spanwise.errors import DataError
from spanwise.pretraining.initial import from_text
from spanwise.pretraining.initial.from_text import begin_from_text, neighbour_vectors, set_bias
from spanwise.pretraining.mixtures.mixture import Mixture, MixturePart, mixture_of
from spanwise.pretraining.ready import VECTORS_NAME
from spanwise.pretraining.recipe import InitialWeights
from spanwise.pretraining.run import pretrain
from spanwise.pretraining.system import build_model
from spanwise.recipes import spanbert_tiny
from spanwise.runtime.progress import RunLog

FIRST = 5  # ids before are special


def by_definition(
    texts: list[tuple[np.ndarray, float]], num_ids: int, num_columns: int
) -> tuple[np.ndarray, np.ndarray]:
    """Ids seen often enough, and their vectors by whole matrices, counted pair by pair; each text with its weight."""
    counts = np.zeros((num_ids, num_ids))
    for ids, weight in texts:
        for distance in (1, 2):
            np.add.at(counts, (ids[:-distance], ids[distance:]), weight / distance)
    counts += counts.T
    known = np.flatnonzero(sum(np.bincount(ids, minlength=num_ids) for ids, _ in texts) >= 5)
    counts = counts[np.ix_(known, known)]
    words = counts.sum(1)
    context = words**0.75 / (words**0.75).sum()
    with np.errstate(divide="ignore"):
        pmi = np.maximum(np.log(counts / (words[:, None] * context)), 0)
    values, vectors = np.linalg.eigh((pmi + pmi.T) / 2)
    order = np.argsort(-np.abs(values))[:num_columns]
    expected = vectors[:, order] * np.sqrt(np.abs(values[order]))
    expected -= expected.mean(0)
    return known, expected / expected.std()


def same_but_for_signs(found: np.ndarray, expected: np.ndarray) -> bool:
    signs = np.sign((found * expected).sum(0))  # a vector's sign is free
    return np.allclose(found, expected * signs, atol=2e-3)


def test_vectors_are_the_largest_eigenvalues_of_positive_pmi(store):
    ids = store.gather(np.array([0]), np.array([store.num_tokens])).astype(np.int64)
    known, expected = by_definition([(ids, 1.0)], store.vocabulary.size, 8)

    found = neighbour_vectors(mixture_of(store), 8)

    assert np.flatnonzero(~np.isnan(found).any(1)).tolist() == known.tolist()
    assert same_but_for_signs(found[known], expected)
    assert found[known].std() == pytest.approx(1, abs=1e-3)


def test_the_same_text_gives_the_same_vectors_also_in_parts(store, monkeypatch):
    whole = neighbour_vectors(mixture_of(store), 6)
    assert np.array_equal(whole, neighbour_vectors(mixture_of(store), 6), equal_nan=True)
    monkeypatch.setattr(from_text, "CHUNK", store.num_tokens)
    assert np.array_equal(whole, neighbour_vectors(mixture_of(store), 6), equal_nan=True)
    monkeypatch.setattr(from_text, "CHUNK", 500)  # pairs across the borders of chunks are not counted
    parts = neighbour_vectors(mixture_of(store), 6)
    both = ~np.isnan(whole).any(1) & ~np.isnan(parts).any(1)
    assert parts.shape == whole.shape and both.all() == (~np.isnan(whole).any(1)).all()


def test_a_store_weighs_as_much_as_its_share(write_store):
    """A third of the tokens at two thirds of the reading: a pair there counts four times as much as one elsewhere."""
    draw = np.random.default_rng(1)
    short, long = (FIRST + np.minimum(draw.geometric(0.2, size), 12) for size in (2_000, 4_000))
    parts = [
        MixturePart(store=write_store([[ids]]), share=share, name="") for ids, share in ((short, 2 / 3), (long, 1 / 3))
    ]
    known, expected = by_definition([(short, 4.0), (long, 1.0)], FIRST + 13, 3)

    found = neighbour_vectors(Mixture(parts=tuple(parts)), 3)[known]

    assert same_but_for_signs(found, expected)
    assert not same_but_for_signs(found, by_definition([(short, 1.0), (long, 1.0)], FIRST + 13, 3)[1])


def test_words_of_a_kind_are_neighbours(write_store):
    """Kinds follow each other in turn; within a kind all ids are drawn alike, so an id's nearest one is of its kind."""
    draw = np.random.default_rng(0)
    kind_T = np.arange(6_000) % 3
    ids = FIRST + 10 * kind_T + draw.integers(0, 10, len(kind_T))
    vectors = neighbour_vectors(mixture_of(write_store([[ids]])), 3)[FIRST : FIRST + 30]
    alike = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    near = alike @ alike.T - 2 * np.eye(30)
    assert (near.argmax(1) // 10 == np.arange(30) // 10).all()


def test_a_text_of_few_ids_has_as_many_columns_as_they_allow_and_one_of_two_is_refused(write_store):
    draw = np.random.default_rng(0)
    small = write_store([[draw.integers(5, 12, 300)]])
    vectors = neighbour_vectors(mixture_of(small), 16)
    assert vectors.shape[1] == 6 and np.isfinite(vectors[5:12]).all()
    with pytest.raises(DataError, match=r"only 2 ids stand 5 times .* initial.words='normal'"):
        neighbour_vectors(mixture_of(write_store([[np.array([5, 6] * 20)]])), 4)


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


def test_a_generator_too_begins_with_the_counts(store, tmp_path):
    recipe = electra()
    recipe = replace(recipe, initial=InitialWeights(biases="unigram"))
    model = build_model(recipe, store.vocabulary.size)
    begin_from_text(model, recipe, mixture_of(store), tmp_path / VECTORS_NAME, RunLog(None, stream=None))
    bias = model.corruption.heads["mlm"].bias.detach()
    expected = torch.zeros_like(bias)
    set_bias(expected, torch.from_numpy(store.vocabulary.unigram_counts).double(), store.num_tokens)
    assert expected.any() and torch.equal(bias, expected)
