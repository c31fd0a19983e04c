"""Scores of pairs equal the paper's formulas written out pair by pair."""

import math

import pytest
import torch
from tests.nn.coreference.small import small_head

from spanwise.nn.coreference.antecedents import Spans, distance_bucket


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
        sizes = []
        handle = scorer.pair.out.register_forward_pre_hook(lambda _, given, to=sizes: to.append(given[0].numel()))
        with torch.no_grad():
            scorer(spans(k), num_antecedents=20, depth=1)
        handle.remove()
        largest[k] = max(sizes)
    assert largest[400] == largest[40] == 100 * 14


@pytest.mark.parametrize(("k", "c", "rows"), [(1, 1, 100), (40, 40, 25), (300, 50, 20), (60, 50, 1), (33, 33, 500)])
def test_pairs_that_are_scored_are_every_earlier_span_and_hardly_more(k, c, rows):
    scorer = small_head().antecedents
    scorer.chunk_pairs = rows * c
    chunks = scorer._chunks(k, c)
    assert [i for part, _ in chunks for i in range(part.start, part.stop)] == list(range(k))
    assert all(min(i, c) <= columns for part, columns in chunks for i in range(part.start, part.stop))
    scored = sum((part.stop - part.start) * columns for part, columns in chunks)
    assert scored <= sum(min(i, c) for i in range(k)) + 16 * c and scored <= k * c


def test_same_speaker_is_told_apart_among_fifty_speakers():
    scorer = small_head().antecedents
    with torch.no_grad():
        given = spans(50, num_speakers=50)
        features = scorer._features(given, torch.arange(50), torch.arange(50).expand(50, 50))[..., :4]
    for i in range(50):
        for j in range(50):
            same = int(given.speaker_k[i] == given.speaker_k[j])
            assert torch.equal(features[i, j], scorer.same_speaker.weight[same])


@pytest.mark.parametrize("k", [0, 1])
def test_a_document_of_one_span_or_none_has_no_antecedent(k):
    found = small_head(gated=True).antecedents(spans(k), num_antecedents=5, depth=2)
    assert found.scores_kc.shape == (k, min(k, 5)) and not found.valid_kc.any()
