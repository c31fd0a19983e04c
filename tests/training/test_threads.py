"""A resumed run takes the threads of before only where they can give the same bits."""

import pytest
import torch

from spanwise.training.threads import keep_threads


@pytest.mark.parametrize(
    ("state", "now", "taken"),
    [
        ({"numerics": {"threads": 3}}, 1, 3),
        ({"numerics": {"threads": 3}}, 2, None),
        ({"numerics": {"threads": 3, "processes": 2}}, 2, 3),
        ({"numerics": {"threads": 3, "exact_sums": True}, "processes": 2}, 2, 3),
        ({"numerics": {"threads": 3, "exact_sums": True}, "processes": 2}, 1, None),
        ({"numerics": {"threads": 8}}, 1, 4),
    ],
)
def test_threads_are_kept_with_the_number_of_processes_and_never_more_than_there_are_cores(
    state, now, taken, monkeypatch
):
    said, set_to = [], []
    monkeypatch.setattr("spanwise.training.threads.num_usable_cores", lambda: 4)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 1)
    monkeypatch.setattr(torch, "set_num_threads", set_to.append)

    keep_threads(state, now, said.append)

    assert set_to == ([] if taken is None else [taken])
    assert len(said) == (taken == 4) and all("8 threads; this process takes 4 threads" in line for line in said)
