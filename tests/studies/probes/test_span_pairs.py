"""Span pairs: twins that neither later mention nor distance tells apart, and a probe that finds what is there."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from spanwise.errors import DataError
from spanwise.studies.probes import SpanPairs, span_pairs
from spanwise.studies.probes.span_pairs import (
    area,
    boundary_vectors,
    logistic_scores,
    pair_features,
    pairs_of,
    read_documents,
    thinned,
)


@pytest.fixture
def documents(context_of):
    context = context_of(SpanPairs())
    return read_documents(context.material.files["train"], context.material.store.tokenizer())


def mentions_back(documents, pairs) -> np.ndarray:
    """How many mentions lie between those of a pair, of those that end before the later one begins."""
    found = []
    for document, ((_, end), (start, later_end)) in zip(pairs.document_P, pairs.mentions_P22, strict=True):
        gold = documents[document].gold_M3
        later = int(np.flatnonzero((gold[:, 0] == start) & (gold[:, 1] == later_end))[0])
        ends = [gold[m, 1] for m in range(later) if gold[m, 1] <= start]
        found.append(len(ends) - 1 - ends.index(end))
    return np.array(found)


def test_a_wrong_twin_is_as_far_apart_and_every_mention_is_later_in_one_of_each_kind_at_most(documents):
    pairs = pairs_of(documents, "here")
    assert pairs.same_P.tolist() == [True, False] * (len(pairs.same_P) // 2)
    assert (pairs.mentions_P22[:, 0, 1] <= pairs.mentions_P22[:, 1, 0]).all()  # the earlier one ends before
    back = mentions_back(documents, pairs)
    assert (back[::2] == back[1::2]).all() and len(set(back)) > 1
    for kind in (pairs.same_P, ~pairs.same_P):
        later = np.column_stack([pairs.document_P[kind], pairs.mentions_P22[kind, 1]])
        assert len(np.unique(later, axis=0)) == len(later)
    assert pairs.alike_P.tolist() == pairs.same_P.tolist()  # river is always written "river" here


def test_pairs_are_of_one_cluster_where_they_say_so(documents):
    pairs = pairs_of(documents, "here")
    for document, mentions, same in zip(pairs.document_P, pairs.mentions_P22, pairs.same_P, strict=True):
        cluster = {(start, end): number for start, end, number in documents[document].gold_M3.tolist()}
        first, second = (cluster[tuple(mention)] for mention in mentions.tolist())
        assert (first == second) == same


def test_most_right_pairs_find_a_twin_and_distance_says_nothing():
    """300 mentions of 40 entities, where the same one tends to come again soon: as in real text."""
    draw = np.random.default_rng(0)
    cluster_M = np.minimum(draw.geometric(0.08, 300), 40)
    gold_M3 = np.stack([np.arange(300) * 2, np.arange(300) * 2 + 1, cluster_M], 1)
    twins = list(span_pairs._twins(gold_M3))
    with_earlier = sum(cluster_M[m] in cluster_M[:m] for m in range(300))
    assert len(twins) > 0.8 * with_earlier
    assert all(right[1] - right[0] == wrong[1] - wrong[0] for right, wrong in twins)
    same = [[cluster_M[earlier] == cluster_M[later] for earlier, later in pair] for pair in twins]
    assert same == [[True, False]] * len(twins)


def test_thinning_keeps_twins_together(documents):
    pairs = pairs_of(documents, "here")
    few = thinned(pairs, 6)
    assert len(few.same_P) <= 6 and few.same_P.tolist() == [True, False] * (len(few.same_P) // 2)
    assert len(thinned(pairs, 10**6).same_P) == len(pairs.same_P)


def test_vectors_are_the_states_of_first_and_last_piece_in_their_own_segment(documents, context_of):
    context = context_of(SpanPairs())
    tokenizer = context.material.store.tokenizer()
    pairs = pairs_of(documents, "here")

    def encode(batch):  # the state of a token is its id, and its place in its segment
        place = np.concatenate([np.arange(n) for n in batch.sequences.lengths])
        import torch

        return torch.stack([batch.input_ids.float(), torch.from_numpy(place).float()], 1)

    vectors = boundary_vectors(encode, documents, pairs, tokenizer, 16)
    ids = documents[int(pairs.document_P[-1])].ids_T
    start, end = pairs.mentions_P22[-1, 1]
    assert vectors[-1, 1, [0, 2]].tolist() == [ids[start], ids[end - 1]]
    assert vectors[:, :, [1, 3]].max() < 16
    assert pair_features(vectors).shape == (len(pairs.same_P), 8)


def test_the_logistic_probe_is_scikit_learns():
    draw = np.random.default_rng(3)
    x, weights = draw.normal(size=(300, 6)), draw.normal(size=6)
    same = x @ weights + draw.normal(size=300) > 0
    ours = logistic_scores(x[:200], same[:200], x[200:], penalty=0.05)
    mean, scale = x[:200].mean(0), x[:200].std(0)
    theirs = LogisticRegression(C=1 / (0.05 * 200), tol=1e-8, max_iter=1000).fit((x[:200] - mean) / scale, same[:200])
    np.testing.assert_allclose(ours, theirs.decision_function((x[200:] - mean) / scale), atol=2e-3)
    assert area(ours, same[200:]) == pytest.approx(roc_auc_score(same[200:], ours))
    assert area(np.zeros(100), same[200:]) == 0.5  # all tied


def test_a_model_is_measured_beside_what_is_written_alike(context_of):
    probe = SpanPairs(max_pairs=20)
    context = context_of(probe)
    found = probe.measure(context)
    assert set(found) == {"accuracy", "auc"} and 0 <= found["accuracy"] <= 100
    assert probe.baselines(context.material) == {"written alike": {"accuracy": 100.0, "auc": 100.0}}


def test_documents_without_a_pair_are_refused(documents):
    from dataclasses import replace

    alone = [replace(document, gold_M3=document.gold_M3[:1]) for document in documents]
    with pytest.raises(DataError, match="here has no mention"):
        pairs_of(alone, "here")
