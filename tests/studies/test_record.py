"""The record names its runs, and those of them that diverged."""

from toy_record import toy_record


def test_runs_are_named_by_arm_and_seed():
    assert [name for name, _ in toy_record().runs] == ["a-0", "a-1", "a-2", "b-0", "b-1", "b-2"]
    assert toy_record().diverged == ["b-2"]
