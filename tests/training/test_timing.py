"""Every second is attributed once, and the yardstick is this machine."""

import time

import pytest
import torch

from spanwise.training import timing
from spanwise.training.timing import SECTIONS, SectionTimer, Stopwatch, flop_utilisation, matmul_peak


def test_sections_and_the_rest_add_up_to_the_whole():
    timer = SectionTimer(torch.device("cpu"))
    with timer.section("data"):
        time.sleep(0.02)
    for _ in range(2):
        with timer.section("forward"):
            time.sleep(0.01)
    times = timer.take()

    assert times["data"] >= 0.02 and times["forward"] >= 0.02
    assert times["data"] + times["forward"] + times["other"] == pytest.approx(times["total"])
    assert timer.take().keys() == {*SECTIONS, "other", "total"}


def test_a_section_that_fails_is_still_counted():
    timer = SectionTimer(torch.device("cpu"))
    with pytest.raises(KeyError), timer.section("data"):
        raise KeyError
    assert timer.take()["data"] > 0


def test_the_peak_is_measured_once_and_utilisation_is_a_share_of_it():
    peak = matmul_peak("cpu", "fp32", torch.get_num_threads(), size=128, seconds=0.02)

    assert 1e8 < peak < 1e14
    assert matmul_peak("cpu", "fp32", torch.get_num_threads(), size=128, seconds=0.02) == peak
    assert flop_utilisation(peak / 100, 25.0, peak) == pytest.approx(0.25)


def test_a_stopwatch_counts_from_begin_to_end():
    watch = Stopwatch(torch.device("cpu"))
    time.sleep(0.01)
    watch.stop()
    seconds = watch.seconds()
    time.sleep(0.01)

    assert watch.is_done() and 0.01 <= seconds == watch.seconds()


def test_the_peak_is_that_of_the_fastest_of_three_sizes(monkeypatch):
    """Beside other work the largest product is interrupted, and the smallest tells what the machine can do."""
    rates = {32: 90.0, 64: 50.0, 128: 30.0}
    monkeypatch.setattr(timing, "_product_rate", lambda device, dtype, size, seconds: rates.pop(size))
    assert matmul_peak.__wrapped__("cpu", "fp32", 1, size=128) == 90.0
    assert not rates
