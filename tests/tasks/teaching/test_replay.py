"""Old examples among the new: their share, their order, and a run that goes on with them."""

import numpy as np
import pytest
import torch

from spanwise.data.batch import Batch
from spanwise.data.order import permutation
from spanwise.errors import CheckpointError, ConfigError
from spanwise.nn.sequences import Sequences
from spanwise.tasks.run import finetune
from spanwise.tasks.teaching.replay import OLD_SEQUENCES, ReplayBatches

FAST = ["training.max_steps=4", "batch_size=2", "training.precision=fp32", "training.threads=1"]


class Rows:
    """Examples of three tokens that say which they are."""

    def __init__(self, name, number):
        self.name, self.lengths_W = name, np.full(number, 3)

    def __len__(self):
        return len(self.lengths_W)

    def assemble(self, rows):
        nothing = torch.zeros(3 * len(rows), dtype=torch.int64)
        return Batch(
            input_ids=nothing,
            token_type_ids=nothing,
            sequences=Sequences.from_lengths([3] * len(rows)),
            ids=[(self.name, int(row)) for row in rows],
            sequence_ids=tuple(int(row) for row in rows),
        )


def epoch(batches, number):
    steps = range(number * batches.steps_per_epoch, (number + 1) * batches.steps_per_epoch)
    return [id for step in steps for batch in batches.step(step) for id in batch.ids]


def batches(**changes):
    options = {"share": 0.25, "batch_size": 4, "pack_tokens": 6, "seed": 3, **changes}
    return ReplayBatches(Rows("new", 12), Rows("old", 6), **options)


def test_an_epoch_has_all_new_examples_and_the_share_of_old_ones():
    seen = epoch(batches(), 0)
    assert sorted(row for name, row in seen if name == "new") == list(range(12))
    assert sum(name == "old" for name, _ in seen) == 4  # of 16


def test_an_old_example_draws_nothing_that_a_new_one_draws():
    packs = [pack for step in range(8) for pack in batches().step(step)]
    drawn = {
        name: {n for pack in packs if pack.ids[0][0] == name for n in pack.sequence_ids} for name in ("new", "old")
    }
    assert len(drawn["new"]) == 12 and drawn["old"] == {OLD_SEQUENCES + row for row in range(6)}


def test_every_old_example_comes_before_any_comes_again():
    source = batches()
    drawn = [row for number in range(3) for name, row in epoch(source, number) if name == "old"]
    assert sorted(drawn) == sorted([*range(6)] * 2)


def test_the_order_of_examples_is_that_of_all_earlier_versions():
    drawn = [row for number in range(3) for name, row in epoch(batches(), number) if name == "old"]
    assert drawn == [2, 5, 1, 3, 0, 3, 2, 4, 1, 5, 0, 4]
    first, second = ([pack.ids for pack in batches().step(step)] for step in (0, 1))
    assert first == [[("new", 11), ("new", 1)], [("new", 10), ("new", 8)]]
    assert second == [[("new", 5), ("new", 3)], [("old", 2), ("old", 5)]]


def test_an_epoch_is_shuffled_once_whatever_the_number_of_its_steps(monkeypatch):
    drawn = []

    def counted(seed, number, size):
        drawn.append((seed, number, size))
        return permutation(seed, number, size)

    monkeypatch.setattr("spanwise.tasks.teaching.replay.permutation", counted)
    source = batches()
    epoch(source, 1)  # old examples 4 to 7: of two turns
    assert len(drawn) == len(set(drawn)) == 3


def test_a_step_is_a_function_of_its_index_and_processes_share_it():
    def ids(packs):
        return [pack.ids for pack in packs]

    one, other = batches(), batches()
    for step in (5, 2, 7):
        assert ids(one.step(step)) == ids(other.step(step))
        shares = [ids(one.step(step, rank, 2)) for rank in (0, 1)]
        assert sorted([*shares[0], *shares[1]]) == sorted(ids(one.step(step)))
    assert epoch(batches(seed=4), 0) != epoch(batches(), 0)


def test_a_run_with_old_data_learns_its_labels_too_and_goes_on_only_with_it(pretrained_folder, tmp_path):
    (tmp_path / "new.conll").write_text("Ada B-PER\nran O\n\n" * 3)
    (tmp_path / "old.conll").write_text("Seoul B-LOC\nis O\n\n" * 3)
    asked = {"model": pretrained_folder, "train": tmp_path / "new.conll", "out": tmp_path / "run", "overrides": FAST}
    result = finetune("tagging", **asked, replay=tmp_path / "old.conll")
    assert result.task.labels == ("O", "B-LOC", "I-LOC", "B-PER", "I-PER")
    with pytest.raises((CheckpointError, ConfigError), match="replay"):
        finetune("tagging", **asked, resume=True)
    asked |= {"out": tmp_path / "other", "overrides": [*FAST, "replay_share=0.5"]}
    with pytest.raises(ConfigError, match=r"replay_share=0.5 .* --replay"):
        finetune("tagging", **asked)


def test_dev_data_may_have_labels_of_the_old_data_and_of_the_head(pretrained_folder, tmp_path):
    for name, labels in {"old": "ab", "new": "cd", "further": "ce", "dev": "ac"}.items():
        rows = "".join(f"The river {label}\t{label}\n" for label in labels)
        (tmp_path / f"{name}.tsv").write_text(f"text\tlabel\n{rows}")
    asked = {"dev": tmp_path / "dev.tsv", "overrides": FAST}
    first = finetune(
        "classification",
        model=pretrained_folder,
        train=tmp_path / "new.tsv",
        replay=tmp_path / "old.tsv",
        out=tmp_path / "first",
        **asked,
    )
    assert set(first.task.labels) == set("abcd")
    further = finetune(
        "classification", model=first.final, train=tmp_path / "further.tsv", out=tmp_path / "further", **asked
    )
    assert set(further.task.labels) == set("abcde") and "accuracy" in further.scores
