"""The record of a masking counts everything and keeps the first sequences in their own coordinates."""

import json

import numpy as np

from spanwise.pretraining.collate import Masked
from spanwise.pretraining.mask_record import MAX_SEQUENCES, mask_record
from spanwise.pretraining.masking.merge import hidden_tokens
from spanwise.pretraining.packs import Pack, Spans


def make_masked():
    ids = np.arange(12)
    maskable = np.ones(12, dtype=bool)
    maskable[[0, 6, 7, 11]] = False
    pack = Pack(
        input_ids=ids,
        token_type_ids=np.zeros(12, dtype=np.int64),
        borders=np.array([0, 7, 12]),
        maskable=maskable,
        starts_word=maskable,
        block_ids=np.array([0, 1]),
    )
    spans = Spans(sequence=np.array([0, 0, 1]), start=np.array([1, 4, 8]), end=np.array([3, 6, 9]))
    return Masked(pack=pack, spans=spans, hidden=hidden_tokens(pack, spans), input_ids=ids)


def test_spans_are_in_the_coordinates_of_their_own_sequence():
    record = mask_record([make_masked(), make_masked()])

    assert record["lengths"] == [7, 5, 7, 5]
    assert record["spans"] == [[0, 1, 3], [0, 4, 6], [1, 1, 2], [2, 1, 3], [2, 4, 6], [3, 1, 2]]
    assert json.loads(json.dumps(record)) == record


def test_all_spans_are_counted_although_few_sequences_are_kept():
    record = mask_record([make_masked()] * 20)

    assert len(record["lengths"]) == MAX_SEQUENCES
    assert record["span_lengths"] == {"1": 20, "2": 40}
    assert (record["num_hidden"], record["num_tokens"], record["num_spans"]) == (100, 160, 60)
    assert max(span[0] for span in record["spans"]) == MAX_SEQUENCES - 1
