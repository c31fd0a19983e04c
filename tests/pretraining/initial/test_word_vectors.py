"""Vectors that are counted: equal to the plain definition, the same at every call, and words of a kind side by side."""

import numpy as np
import pytest

from spanwise.errors import DataError
from spanwise.pretraining.initial import word_vectors
from spanwise.pretraining.initial.word_vectors import neighbour_vectors
from spanwise.pretraining.mixtures.mixture import Mixture, MixturePart, mixture_of

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
    monkeypatch.setattr(word_vectors, "CHUNK", store.num_tokens)
    assert np.array_equal(whole, neighbour_vectors(mixture_of(store), 6), equal_nan=True)
    monkeypatch.setattr(word_vectors, "CHUNK", 500)  # pairs across the borders of chunks are not counted
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
