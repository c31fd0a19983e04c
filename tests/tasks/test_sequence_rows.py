"""Examples of several sequences: laid whole, cut by the rule of BERT, averaged without the filler."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from spanwise.errors import DataError
from spanwise.tasks.batches import EpochBatches, filled
from spanwise.tasks.sequence_rows import ExampleBorders, RowWriter, SequenceRows, longest_first


def popped(first, second, room):
    """BERT's own way: one token at a time."""
    while first + second > room:
        if first > second:
            first -= 1
        else:
            second -= 1
    return first, second


@given(st.integers(0, 40), st.integers(0, 40), st.integers(2, 50))
def test_the_longer_text_gives_up_its_last_tokens_first(first, second, room):
    assert longest_first(first, second, room) == popped(first, second, room)


class Rows(SequenceRows):
    def assemble(self, rows):
        return self.lay(rows, "label", ExampleBorders.of(self.borders_of(rows)))


def make(counts, length=5):
    writer = RowWriter(num_token_types=1)
    for example, count in enumerate(counts):
        ids = np.full(length, example)
        writer.add([(ids, np.ones(length))] * count, num_dropped=example)
    return Rows(**writer.arrays())


def test_every_sequence_has_a_number_of_its_own_that_does_not_depend_on_its_pack():
    rows = make([3, 1, 4])
    (whole,) = EpochBatches(rows, batch_size=3, pack_tokens=99, seed=1).step(0)
    numbers = dict(
        zip(whole.ids, np.split(whole.sequence_ids, rows.borders_of(np.array(whole.ids))[1:-1]), strict=True)
    )
    assert len(set(whole.sequence_ids)) == 8
    for row in range(3):
        assert list(rows.assemble(np.array([row])).sequence_ids) == numbers[row].tolist()
    assert make([1, 1, 1]).assemble(np.array([2, 0])).sequence_ids == (2, 0)


def test_an_example_is_never_parted_by_packs():
    rows = make([3, 1, 4, 2, 3, 1])
    assert rows.lengths_W.tolist() == [15, 5, 20, 10, 15, 5] and rows.num_dropped_W.tolist() == [0, 1, 2, 3, 4, 5]
    for packs in (EpochBatches(rows, batch_size=6, pack_tokens=21, seed=1).step(0),):
        assert len(packs) > 2 and sorted(id for pack in packs for id in pack.ids) == list(range(6))
        for pack in packs:
            wanted = [id for id in pack.ids for _ in range(rows.lengths_W[id])]
            assert pack.input_ids.tolist() == wanted and pack.counts == {"label": len(pack.ids)}
            assert pack.token_type_ids.max() == 0  # an encoder of one token type
            assert pack.targets["label"].num_sequences == len(pack.sequences.lengths)


def test_scores_are_averaged_by_example_and_filler_is_left_out():
    rows = make([2, 1])
    batch = filled(rows.assemble(np.array([0, 1])), 64)
    scores = torch.arange(len(batch.sequences.lengths), dtype=torch.float32)[:, None]
    assert batch.targets["label"].mean(scores).tolist() == [[0.5], [2.0]]
    alone = filled(rows.assemble(np.array([1])), 64)
    assert alone.targets["label"].mean(scores).tolist() == [[0.0]]


def test_an_example_without_a_token_is_named():
    writer = RowWriter(num_token_types=2)
    writer.add([(np.array([1]), np.array([0]))] * 2)
    writer.add([(np.array([], dtype=int), np.array([]))])
    with pytest.raises(DataError, match="example 2"):
        writer.arrays()
    with pytest.raises(DataError, match="no example"):
        RowWriter(num_token_types=2).arrays()


def test_the_longest_sequence_is_not_the_longest_example():
    writer = RowWriter(2)
    ids = np.arange(9, dtype=np.int32)
    writer.add([(ids[:3], ids[:3] * 0), (ids[:4], ids[:4] * 0)])
    writer.add([(ids[:5], ids[:5] * 0)])
    rows = SequenceRows(**writer.arrays())
    assert rows.longest == 5 and rows.lengths_W.max() == 7
