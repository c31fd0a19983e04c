"""Vectors that are counted: equal to the plain definition, the same at every call, and words of a kind side by side."""

import numpy as np
import pytest

from spanwise.errors import DataError
from spanwise.pretraining.initial import word_vectors
from spanwise.pretraining.initial.word_vectors import neighbour_vectors

FIRST = 5  # ids before are special


def by_definition(ids: np.ndarray, num_ids: int) -> tuple[np.ndarray, np.ndarray]:
    """Ids seen often enough, and their symmetrised positive PMI, counted pair by pair."""
    counts = np.zeros((num_ids, num_ids))
    for i in range(len(ids)):
        for distance in (1, 2):
            if i + distance < len(ids):
                counts[ids[i], ids[i + distance]] += 1 / distance
                counts[ids[i + distance], ids[i]] += 1 / distance
    known = np.flatnonzero(np.bincount(ids, minlength=num_ids) >= 5)
    counts = counts[np.ix_(known, known)]
    words = counts.sum(1)
    context = words**0.75 / (words**0.75).sum()
    with np.errstate(divide="ignore"):
        pmi = np.maximum(np.log(counts / (words[:, None] * context)), 0)
    return known, (pmi + pmi.T) / 2


def test_vectors_are_the_largest_eigenvalues_of_positive_pmi(store):
    ids = store.gather(np.array([0]), np.array([store.num_tokens])).astype(np.int64)
    known, pmi = by_definition(ids, store.vocabulary.size)
    values, vectors = np.linalg.eigh(pmi)
    order = np.argsort(-np.abs(values))[:8]
    expected = vectors[:, order] * np.sqrt(np.abs(values[order]))
    expected -= expected.mean(0)
    expected /= expected.std()

    found = neighbour_vectors([store], 8)

    assert np.flatnonzero(~np.isnan(found).any(1)).tolist() == known.tolist()
    signs = np.sign((found[known] * expected).sum(0))  # a vector's sign is free
    assert found[known] == pytest.approx(expected * signs, abs=2e-3)
    assert found[known].std() == pytest.approx(1, abs=1e-3)


def test_the_same_text_gives_the_same_vectors_also_in_parts(store, monkeypatch):
    whole = neighbour_vectors([store], 6)
    assert np.array_equal(whole, neighbour_vectors([store], 6), equal_nan=True)
    monkeypatch.setattr(word_vectors, "CHUNK", store.num_tokens)
    assert np.array_equal(whole, neighbour_vectors([store], 6), equal_nan=True)
    monkeypatch.setattr(word_vectors, "CHUNK", 500)  # pairs across the borders of chunks are not counted
    parts = neighbour_vectors([store], 6)
    both = ~np.isnan(whole).any(1) & ~np.isnan(parts).any(1)
    assert parts.shape == whole.shape and both.all() == (~np.isnan(whole).any(1)).all()


def test_words_of_a_kind_are_neighbours(write_store):
    """Kinds follow each other in turn; within a kind all ids are drawn alike, so an id's nearest one is of its kind."""
    draw = np.random.default_rng(0)
    kind_T = np.arange(6_000) % 3
    ids = FIRST + 10 * kind_T + draw.integers(0, 10, len(kind_T))
    vectors = neighbour_vectors([write_store([[ids]])], 3)[FIRST : FIRST + 30]
    alike = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    near = alike @ alike.T - 2 * np.eye(30)
    assert (near.argmax(1) // 10 == np.arange(30) // 10).all()


def test_a_text_of_few_ids_has_as_many_columns_as_they_allow_and_one_of_two_is_refused(write_store):
    draw = np.random.default_rng(0)
    small = write_store([[draw.integers(5, 12, 300)]])
    vectors = neighbour_vectors([small], 16)
    assert vectors.shape[1] == 6 and np.isfinite(vectors[5:12]).all()
    with pytest.raises(DataError, match=r"only 2 ids stand 5 times .* initial.words='normal'"):
        neighbour_vectors([write_store([[np.array([5, 6] * 20)]])], 4)
