"""Steps of labelled examples: every example once an epoch, whatever the packs."""

import numpy as np
import pytest
import torch

from spanwise.errors import ConfigError
from spanwise.tasks.batches import MIN_PACK_TOKENS, EpochBatches, OfEpoch, Packing, filled, prediction_packs
from spanwise.tasks.classification.features import LabelledRows
from spanwise.tasks.qa.features import make_windows
from spanwise.tasks.sequence_rows import RowWriter


@pytest.fixture(scope="module")
def windows(tokenizer, squad20):
    return make_windows(squad20, tokenizer, max_length=48, doc_stride=8, max_question_tokens=16)


@pytest.mark.parametrize("pack_tokens", [10, 100, 10_000])
def test_an_epoch_visits_every_example_once_in_steps_of_the_batch_size(windows, pack_tokens):
    source = EpochBatches(windows, batch_size=7, pack_tokens=pack_tokens, seed=3)
    for epoch in (0, 1):
        steps = [source.step(epoch * source.steps_per_epoch + k) for k in range(source.steps_per_epoch)]
        sizes = [sum(len(batch.ids) for batch in step) for step in steps]
        assert sizes[:-1] == [7] * (len(steps) - 1) and sum(sizes) == len(windows)
        assert sorted(row for step in steps for batch in step for row in batch.ids) == list(range(len(windows)))
        longest = int(windows.lengths_W.max())
        assert all(batch.num_tokens <= max(pack_tokens, longest) for step in steps for batch in step)


def test_a_step_is_a_function_of_its_index_and_seed_and_not_of_the_packs(windows):
    def rows(seed, pack_tokens, indexes):
        source = EpochBatches(windows, batch_size=5, pack_tokens=pack_tokens, seed=seed)
        found = {index: [row for batch in source.step(index) for row in batch.ids] for index in indexes}
        return [found[index] for index in sorted(found)]

    assert rows(1, 64, range(9)) == rows(1, 4096, reversed(range(9)))
    assert rows(1, 64, range(9)) != rows(2, 64, range(9))


def test_what_an_epoch_shares_is_made_once_and_again_for_another():
    asked = []
    kept = OfEpoch(lambda epoch: asked.append(epoch) or epoch)
    assert [kept(epoch) for epoch in (0, 0, 1, 1, 0)] == [0, 0, 1, 1, 0] and asked == [0, 1, 0]


def test_position_counts_epochs(windows):
    source = EpochBatches(windows, batch_size=5, pack_tokens=64, seed=0)
    assert source.position(0) == {"epoch": 0.0} and source.position(source.steps_per_epoch) == {"epoch": 1.0}


def test_a_batch_of_nothing_is_an_error(windows):
    with pytest.raises(ConfigError, match="batch_size"):
        EpochBatches(windows, batch_size=0, pack_tokens=64, seed=0)


def test_prediction_goes_through_all_examples_in_order(windows):
    packs = list(prediction_packs(windows, Packing(100)))
    assert [row for batch in packs for row in batch.ids] == list(range(len(windows)))


def test_small_packs_get_filler_that_is_counted_as_padding(windows):
    batch = windows.assemble(np.array([0]))
    large = filled(batch, batch.num_tokens + 13)
    assert large.sequences.lengths == (*batch.sequences.lengths, 13)
    assert (large.num_tokens, large.num_padding) == (batch.num_tokens, 13)
    assert torch.equal(large.input_ids[: batch.num_tokens], batch.input_ids)
    assert filled(batch, 5) is batch
    assert all(len(pack.input_ids) >= MIN_PACK_TOKENS for pack in prediction_packs(windows, Packing(10)))


def test_features_that_change_with_the_epoch_are_asked_for_each_one(windows):
    class Halves:
        """Every other window in odd epochs."""

        lengths_W = windows.lengths_W[:4]

        def __len__(self):
            return 4

        def assemble(self, rows):
            raise AssertionError("only those of an epoch are laid into packs")

        def at_epoch(self, epoch, seed):
            assert seed == 5
            parts = np.arange(4) + 4 * (epoch % 2)
            return type("Shown", (), {
                "lengths_W": windows.lengths_W[parts],
                "assemble": lambda self, rows: windows.assemble(parts[rows]),
            })()  # fmt: skip

    source = EpochBatches(Halves(), batch_size=4, pack_tokens=10_000, seed=5)
    for epoch in (0, 1, 2):
        assert sorted(source.step(epoch)[0].ids) == [row + 4 * (epoch % 2) for row in range(4)]


@pytest.mark.parametrize("pack_tokens", [64, 200, 4096])
def test_prediction_fills_packs_by_tokens_not_by_rows_and_keeps_the_order(pack_tokens):
    """Two hundred texts of 3 to 60 tokens: as few packs as the budget allows in file order, each text once."""
    rng = np.random.default_rng(0)
    writer = RowWriter(2)
    for length in rng.integers(3, 60, size=200):
        ids = rng.integers(5, 99, size=length)
        writer.add([(ids, ids * 0)])
    rows = LabelledRows(**writer.arrays())
    packs = list(prediction_packs(rows, Packing(pack_tokens)))
    assert [id for pack in packs for id in pack.ids] == list(range(200))
    sizes = [pack.num_tokens for pack in packs]
    assert max(sizes) <= pack_tokens and len({len(pack.ids) for pack in packs}) > 1
    following = rows.lengths_W[[packs[k + 1].ids[0] for k in range(len(packs) - 1)]]
    assert all(size + more > pack_tokens for size, more in zip(sizes, following, strict=False))  # the next had no room
    assert sum(pack.num_padding for pack in packs) <= MIN_PACK_TOKENS * len(packs)


def test_packs_of_a_fixed_shape_have_one_size_and_spare_rows(windows):
    packing = Packing(200, is_fixed=True)
    packs = list(prediction_packs(windows, packing))
    assert {len(pack.input_ids) for pack in packs} == {200} and len(packs) > 1
    assert all(pack.num_padding >= 16 for pack in packs)
    assert [row for pack in packs for row in pack.ids] == list(range(len(windows)))


def test_what_is_longer_than_a_fixed_pack_stands_alone_in_whole_multiples(windows):
    packing = Packing(40, is_fixed=True)
    lengths = [len(pack.input_ids) for pack in prediction_packs(windows, packing)]
    assert max(windows.lengths_W) > 24 and all(length % 40 == 0 for length in lengths)
    assert packing.borders(np.array([10, 100, 5, 6])) == [(0, 1), (1, 2), (2, 4)]
