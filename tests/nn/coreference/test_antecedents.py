"""Scores of pairs equal the paper's formulas written out pair by pair."""

import math

import pytest
import torch
from tests.nn.coreference.small import LargestTensor, small_head

from spanwise.nn.coreference.antecedents import FEW_ROWS, Antecedents, Spans, _chunks, distance_bucket


def test_distances_fall_into_the_papers_buckets():
    expected = [0, 1, 2, 3, 4, 5, 5, 5, 6, 6, *[6] * 6, 7, *[7] * 15, 8, *[8] * 31, 9, 9]
    assert distance_bucket(torch.arange(len(expected))).tolist() == expected
    assert distance_bucket(torch.tensor([10_000])).tolist() == [9]


def spans(k=13, num_speakers=3, seed=0, size=40):
    draw = torch.Generator().manual_seed(seed)
    return Spans(
        vectors_kG=torch.randn(k, size, generator=draw) * 0.3,
        mention_k=torch.randn(k, generator=draw),
        speaker_k=torch.randint(num_speakers, (k,), generator=draw),
        segment_k=torch.arange(k) // 3,
        genre=1,
    )


def coarse_score(scorer, given, i, j):
    bucket = int(distance_bucket(torch.tensor(i - j)))
    product = scorer.source(given.vectors_kG[i]) @ given.vectors_kG[j]
    distance = scorer.coarse_distance_out(scorer.coarse_distance.weight[bucket])[0]
    return given.mention_k[i] + given.mention_k[j] + product + distance


def fine_score(scorer, given, vectors, i, j):
    features = [
        scorer.same_speaker.weight[int(given.speaker_k[i] == given.speaker_k[j])],
        scorer.genre.weight[given.genre],
        scorer.distance.weight[int(distance_bucket(torch.tensor(i - j)))],
        scorer.segments_apart.weight[min(int(given.segment_k[i] - given.segment_k[j]), 2)],
    ]
    pair = torch.cat([vectors[i], vectors[j], vectors[i] * vectors[j], *features])
    return scorer.pair.out(torch.relu(scorer.pair.hidden(pair)))[0]


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_scores_are_those_of_the_formulas_pair_by_pair(depth):
    scorer, given, c = small_head(gated=True).antecedents, spans(), 4
    with torch.no_grad():
        found = scorer(given, num_antecedents=c, depth=depth)
        vectors = given.vectors_kG
        candidates = []
        for i in range(13):
            by_score = sorted(range(i), key=lambda j: -float(coarse_score(scorer, given, i, j)))[:c]
            candidates.append(sorted(by_score))
        for turn in range(depth):
            scores = [
                torch.stack([torch.zeros(()), *(
                    coarse_score(scorer, given, i, j) + fine_score(scorer, given, vectors, i, j) for j in candidates[i]
                )])
                for i in range(13)
            ]  # fmt: skip
            if turn + 1 < depth:
                moved = []
                for i in range(13):
                    chances = torch.softmax(scores[i], 0)
                    mean = chances @ torch.stack([vectors[i], *(vectors[j] for j in candidates[i])])
                    gate = torch.sigmoid(scorer.gate(torch.cat([vectors[i], mean])))
                    moved.append(gate * mean + (1 - gate) * vectors[i])
                vectors = torch.stack(moved)
    for i in range(13):
        valid = found.valid_kc[i]
        assert found.index_kc[i][valid].tolist() == candidates[i]
        torch.testing.assert_close(found.scores_kc[i][valid], scores[i][1:], rtol=1e-4, atol=1e-4)
        assert (found.scores_kc[i][~valid] == -math.inf).all()


@pytest.mark.parametrize("dtype", [None, torch.bfloat16])
def test_scores_in_one_pass_are_those_with_gradients(dtype):
    scorer, given = small_head(gated=True).antecedents, spans(50)
    plain = scorer(given, num_antecedents=9, depth=2, dtype=dtype)
    with torch.no_grad():
        found = scorer(given, num_antecedents=9, depth=2, dtype=dtype)
    assert plain.scores_kc.requires_grad and torch.equal(found.index_kc, plain.index_kc)
    torch.testing.assert_close(found.scores_kc, plain.scores_kc, rtol=1e-4, atol=1e-4 if dtype is None else 0.02)


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_chunks_change_no_score(depth):
    scorer, given = small_head(gated=True).antecedents, spans(50)
    with torch.no_grad():
        whole = scorer(given, num_antecedents=9, depth=depth)
        scorer.chunk_rows, scorer.chunk_pairs = 3, 10
        parts = scorer(given, num_antecedents=9, depth=depth)
        over = scorer(given, num_antecedents=9, depth=depth, overwrite=True)
    assert torch.equal(over.scores_kc, parts.scores_kc)
    assert torch.equal(whole.index_kc, parts.index_kc) and torch.equal(whole.valid_kc, parts.valid_kc)
    torch.testing.assert_close(whole.scores_kc, parts.scores_kc, rtol=1e-5, atol=1e-5)


def test_memory_of_pairs_does_not_grow_with_the_document():
    scorer = small_head().antecedents
    scorer.chunk_pairs = 100
    largest = {}
    for k in (40, 400):
        given, pairs = spans(k), pairs_of(k, 20)
        with torch.no_grad(), LargestTensor(columns=20) as seen:
            scorer._fine(given, pairs, None, refine=False, in_place=False)
        largest[k] = seen.num_elements
    assert largest[400] == largest[40] == 100 * 40


def pairs_of(k, c):
    """The c spans before each of k."""
    index = torch.arange(k)[:, None] - torch.arange(c, 0, -1)
    return Antecedents(index.clamp(min=0), index >= 0, torch.zeros(k, c).masked_fill(index < 0, -torch.inf))


@pytest.mark.parametrize(("k", "c", "rows"), [(1, 1, 100), (40, 40, 25), (300, 50, 20), (60, 50, 1), (33, 33, 500)])
def test_pairs_that_are_scored_are_every_earlier_span_and_hardly_more(k, c, rows):
    chunks = _chunks(k, c, rows, FEW_ROWS)
    assert [i for part, _ in chunks for i in range(part.start, part.stop)] == list(range(k))
    assert all(min(i, c) <= columns for part, columns in chunks for i in range(part.start, part.stop))
    scored = sum((part.stop - part.start) * columns for part, columns in chunks)
    assert scored <= sum(min(i, c) for i in range(k)) + 16 * c and scored <= k * c


def test_same_speaker_is_told_apart_among_fifty_speakers():
    scorer = small_head().antecedents
    with torch.no_grad():
        given = spans(50, num_speakers=50)
        numbers = scorer._feature_numbers(given, torch.arange(50), torch.arange(50).expand(50, 50))
        features = scorer._features(numbers, given.genre)
        assert torch.equal(scorer._all_features(given.genre)[scorer._feature_rows(numbers)], features)
    for i in range(50):
        for j in range(50):
            same = int(given.speaker_k[i] == given.speaker_k[j])
            assert torch.equal(features[i, j, :4], scorer.same_speaker.weight[same])


@pytest.mark.parametrize("k", [0, 1])
def test_a_document_of_one_span_or_none_has_no_antecedent(k):
    found = small_head(gated=True).antecedents(spans(k), num_antecedents=5, depth=2)
    assert found.scores_kc.shape == (k, min(k, 5)) and not found.valid_kc.any()
