"""Rows are computed once each, whatever the number of threads."""

from __future__ import annotations

import threading

import pytest
import torch

from spanwise.runtime.row_threads import FEWEST_ROWS, in_parts, num_parts


@pytest.fixture(params=[1, 2, 3])
def threads(request):
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    yield request.param
    torch.set_num_threads(before)


@pytest.mark.parametrize("num_rows", [0, 1, 15, 16, 47, 48, 1000])
def test_parts_cover_every_row_once_and_in_order(threads, num_rows):
    parts = in_parts(lambda part, first, last: (part, first, last), num_rows)
    assert len(parts) == num_parts(num_rows) <= threads
    assert [part for part, _, _ in parts] == list(range(len(parts)))
    assert [row for _, first, last in parts for row in range(first, last)] == list(range(num_rows))


def test_few_rows_stay_in_the_calling_thread(threads):
    found = in_parts(lambda *_: threading.get_ident(), 2 * FEWEST_ROWS - 1)
    assert found == [threading.get_ident()]


def test_every_part_has_a_thread_of_its_own(threads):
    meeting = threading.Barrier(threads, timeout=10)
    found = in_parts(lambda *_: (meeting.wait(), threading.get_ident())[1], threads * FEWEST_ROWS)
    assert found[0] == threading.get_ident() and len(set(found)) == threads


def test_an_error_in_any_part_reaches_the_caller(threads):
    def loop(part, first, last):
        if last == 100:
            raise IndexError("last part")

    with pytest.raises(IndexError, match="last part"):
        in_parts(loop, 100)
