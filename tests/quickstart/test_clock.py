"""The budget is split without a rest, and stages are added up."""

import pytest

from spanwise.quickstart.clock import LEAST_SECONDS, Stage, StageClock, share


class Hands:
    """A clock that is set by hand."""

    def __init__(self):
        self.time = 100.0

    def __call__(self):
        return self.time


def test_all_shares_together_are_the_time_that_is_left():
    for columns in (2, 3):
        parts = [share(400.0, name, columns) for name in ("pretrain", "measure", "score")]
        assert sum(parts) + columns * share(400.0, "finetune", columns) == pytest.approx(400.0)
        assert max(parts) == parts[0]


def test_a_stage_gets_a_little_time_even_when_none_is_left():
    assert share(-50.0, "pretrain", 2) == LEAST_SECONDS


def test_what_ended_stages_saved_or_overdrew_is_shared_by_the_others():
    done = ["pretrain", "measure"]
    for left in (200.0, 20.0):
        later = share(left, "score", 2, done=done) + 2 * share(left, "finetune", 2, done=done)
        assert later == pytest.approx(left)
    assert share(30.0, "score", 2, done=[*done, "finetune"]) == pytest.approx(30.0)


def test_stages_are_added_up_in_their_order():
    hands = Hands()
    clock = StageClock(60.0, now=hands)

    for name, seconds in (("prepare", 2.0), ("score", 3.0), ("prepare", 1.5)):
        with clock.stage(name):
            hands.time += seconds

    assert clock.stages() == [Stage(name="prepare", seconds=3.5), Stage(name="score", seconds=3.0)]
    assert clock.elapsed == 6.5


def test_a_reserve_is_kept_for_the_end():
    hands = Hands()
    clock = StageClock(100.0, began=90.0, now=hands)

    assert clock.elapsed == 10.0
    assert clock.left == pytest.approx(100.0 - 10.0 - 2.0 - 2.0)
