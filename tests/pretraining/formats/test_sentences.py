"""Units are sentences; one that no block holds is cut, and nothing is lost."""

from __future__ import annotations

import numpy as np
import pytest
from toy_blocks import cut

from spanwise.pretraining.formats.sentences import starts_of, units_of, whole_sentences


@pytest.mark.parametrize("room", [1, 7, 39, 1000])
@pytest.mark.parametrize("options", [{}, {"shard_bytes": 200}])
def test_units_are_the_sentences_cut_by_the_written_rule(documents, write_store, room, options):
    store = write_store(documents, **options)
    may_start = store.vocabulary.starts_word | store.vocabulary.is_special

    units = units_of(store, room)

    pieces = [[cut(sentence, room, may_start) for sentence in document] for document in documents]
    expected = [len(piece) for document in pieces for sentence in document for piece in sentence]
    assert units.lengths.tolist() == expected
    assert np.diff(units.document_ends, prepend=0).tolist() == [sum(map(len, document)) for document in pieces]
    assert units.starts[-1] + units.lengths[-1] == store.num_tokens


def test_sentences_are_joined_while_there_is_room_and_never_over_a_document(write_store):
    store = write_store([[[5] * 3, [5] * 4, [5] * 3], [[5] * 2], [[5] * 7, [5]]])

    assert whole_sentences(units_of(store, 7), 7).tolist() == [7, 3, 2, 7, 1]


def test_starts_lie_end_to_end():
    assert starts_of(np.array([3, 0, 2])).tolist() == [0, 3, 3]
    assert starts_of(np.zeros(0, dtype=np.int64)).tolist() == []
