"""Rows are computed once each, whatever the number of threads and whoever has them."""

from __future__ import annotations

import functools
import os
import random
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from spanwise.runtime import row_threads
from spanwise.runtime.row_threads import FEWEST_ROWS, in_parts, num_parts


@pytest.fixture(params=[1, 2, 3])
def threads(request):
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    yield request.param
    torch.set_num_threads(before)


@pytest.fixture(params=["torch's threads", "kept threads"], autouse=True)
def owner(request, monkeypatch):
    if request.param == "kept threads":
        monkeypatch.setattr(row_threads, "_region_of_torch", lambda: None)
    return request.param


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
    assert threading.get_ident() in found and len(set(found)) == threads


def test_an_error_in_any_part_reaches_the_caller(threads):
    def loop(part, first, last):
        if last == 100:
            raise IndexError("last part")

    with pytest.raises(IndexError, match="last part"):
        in_parts(loop, 100)


def test_ctrl_c_is_never_lost(threads):
    """Signals at any moment: each is raised where the loop was called, and the loop works again afterwards."""
    draw, caught = random.Random(0), 0

    def interrupt(ready, seconds):
        ready.wait()
        time.sleep(seconds)
        os.kill(os.getpid(), signal.SIGINT)

    for _ in range(60):
        ready = threading.Event()
        sender = threading.Thread(target=interrupt, args=(ready, draw.uniform(0, 2e-3)))
        sender.start()
        try:
            ready.set()
            while True:
                assert sum(in_parts(lambda _, first, last: last - first, 1000)) == 1000
        except KeyboardInterrupt:
            caught += 1
        sender.join()
    assert caught == 60


def test_after_an_error_no_further_part_begins():
    before, begun = torch.get_num_threads(), []
    torch.set_num_threads(2)

    def call(part):
        begun.append(part)
        if part < 2:
            raise IndexError("one of the first")
        time.sleep(0.05)

    try:
        with pytest.raises(IndexError, match="one of the first"):
            row_threads.side_by_side([functools.partial(call, part) for part in range(20)])
    finally:
        torch.set_num_threads(before)
    assert len(begun) <= 4 or not row_threads.shares_threads()


def test_callers_in_several_threads_keep_their_rows_apart(threads):
    def rows(number):
        return [(number, first, last) for first, last in in_parts(lambda _, *rows: rows, 50 + number)]

    with ThreadPoolExecutor(4) as callers:
        found = list(callers.map(rows, range(40)))
    for number, parts in enumerate(found):
        assert {caller for caller, _, _ in parts} == {number}
        assert [row for _, first, last in parts for row in range(first, last)] == list(range(50 + number))


@pytest.mark.skipif(sys.platform != "linux", reason="torch has another library for its threads there")
def test_the_threads_are_those_of_torch():
    """A loop in parts starts no thread where torch has computed before."""
    program = """
import os, torch
from spanwise.runtime.row_threads import in_parts
torch.set_num_threads(3)
torch.ones(1000, 1000).sum()
before = len(os.listdir("/proc/self/task"))
in_parts(lambda part, first, last: part, 1000)
print(before, len(os.listdir("/proc/self/task")))
"""
    out = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=120)
    before, after = map(int, out.stdout.split())
    assert before >= 3 and after == before


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forked processes")
def test_a_forked_process_computes_its_parts_too(threads):
    in_parts(lambda part, first, last: part, 1000)
    child = os.fork()
    if not child:
        found = in_parts(lambda part, first, last: last - first, 1000)
        os._exit(0 if sum(found) == 1000 else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
