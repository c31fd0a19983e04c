"""Candidates scored from projections of pieces equal the network over each span's own vector."""

import numpy as np
import pytest
import torch
from tests.nn.coreference.small import LargestTensor, small_document, small_head

from spanwise.nn.coreference.spans import attention_weights


def test_a_spans_vector_is_its_ends_its_width_and_the_attended_mean():
    head = small_head().spans
    hidden, _ = small_document()
    start, end = torch.tensor([3, 7]), torch.tensor([4, 12])
    vectors = head.vectors(hidden, start, end)
    for row, (a, b) in enumerate([(3, 4), (7, 12)]):
        weights = torch.softmax(head.attention(hidden[a:b])[:, 0], 0)
        expected = torch.cat([hidden[a], hidden[b - 1], head.width.weight[b - a - 1], weights @ hidden[a:b]])
        torch.testing.assert_close(vectors[row], expected)
    assert vectors.shape[1] == head.vector_size == 3 * 12 + 4


def test_scores_of_all_candidates_equal_those_of_their_vectors():
    head = small_head().spans
    hidden, document = small_document(200)
    start, end = torch.from_numpy(document.start_N), torch.from_numpy(document.end_N)
    with torch.no_grad():
        one_by_one = [head.vectors(hidden, start[k : k + 1], end[k : k + 1]) for k in range(len(start))]
        expected = head.mention_scores(torch.cat(one_by_one), start, end)
    found = head.candidate_scores(hidden, document.start_N, document.end_N)
    np.testing.assert_allclose(found, expected.numpy(), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("chunks", [(1, 1), (7, 10), (64, 1000)])
def test_chunks_change_no_score(chunks):
    head = small_head().spans
    hidden, document = small_document(150)
    whole = head.candidate_scores(hidden, document.start_N, document.end_N)
    head.chunk_spans, head.chunk_pieces = chunks
    parts = head.candidate_scores(hidden, document.start_N, document.end_N)
    np.testing.assert_allclose(parts, whole, rtol=1e-5, atol=1e-5)


def test_candidates_are_scored_without_dropout_while_training_and_the_mode_comes_back():
    head = small_head(dropout=0.5).spans
    hidden, document = small_document()
    expected = head.candidate_scores(hidden, document.start_N, document.end_N)
    head.train()
    assert np.array_equal(head.candidate_scores(hidden, document.start_N, document.end_N), expected)
    assert head.training and head.mention.training


def test_memory_of_scoring_does_not_grow_with_the_document():
    head = small_head().spans
    head.chunk_spans, head.chunk_pieces = 64, 64
    for num_pieces in (300, 3000):
        hidden, document = small_document(num_pieces)
        with LargestTensor() as seen:
            head.candidate_scores(hidden, document.start_N, document.end_N)
        assert 64 * 14 <= seen.num_elements <= 64 * (64 + head.max_width)


def test_attention_stays_inside_the_span_however_large_the_logits():
    logits = torch.tensor([500.0, -500.0, 0.0, 300.0])
    weights = attention_weights(logits, torch.tensor([1, 0]), torch.tensor([3, 4]))
    torch.testing.assert_close(weights, torch.tensor([[0.0, 0.0, 1.0, 0.0], [1.0, 0.0, 0.0, 0.0]]))


def test_no_candidate_gives_no_score():
    head = small_head().spans
    none = np.zeros(0, dtype=np.int64)
    assert head.candidate_scores(torch.randn(5, 12), none, none).shape == (0,)
    assert head.vectors(torch.randn(5, 12), torch.zeros(0).long(), torch.zeros(0).long()).shape == (0, 40)
