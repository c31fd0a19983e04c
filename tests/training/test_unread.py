"""Which steps are read when depends on step numbers alone."""

import torch

from spanwise.runtime.device import HostCopy
from spanwise.training.step import Begun
from spanwise.training.unread import MOST_UNREAD, STEPS_AHEAD, Unread, UnreadSteps


def read_after_each(device: str, steps: int, log_every: int) -> list[list[int]]:
    """Return the numbers of the steps that are read after each step was begun."""
    unread, found = UnreadSteps(torch.device(device)), []
    for step in range(1, steps + 1):
        begun = Begun(step, [], {}, [], HostCopy(torch.zeros(1)))
        unread.add(Unread(begun, 0.1 if step % log_every == 0 else None, steps))
        found.append([one.begun.step for one in unread.take_due()])
    found.append([one.begun.step for one in unread.take_all()])
    return found


def test_a_cpu_reads_a_log_line_at_once():
    assert read_after_each("cpu", 5, 2) == [[], [1, 2], [], [3, 4], [], [5]]


def test_a_gpu_is_some_steps_ahead_of_its_log_line():
    found = read_after_each("cuda", 12, 5)

    assert [len(steps) for steps in found] == [0, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 7]
    assert found[4 + STEPS_AHEAD] == [1, 2, 3, 4, 5]
    assert read_after_each("cuda", 6, 1)[-2:] == [[2], [3, 4, 5, 6]]


def test_no_more_than_a_few_steps_gather_without_a_log_line():
    for device, ahead in (("cpu", 0), ("cuda", STEPS_AHEAD)):
        found = read_after_each(device, MOST_UNREAD + 1, 1_000)
        assert found[-2] == list(range(1, MOST_UNREAD + 2 - ahead)) and not any(found[:-2])
