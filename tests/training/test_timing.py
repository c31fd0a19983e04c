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


@pytest.mark.parametrize(("device", "sizes"), [("cpu", [256, 512, 1024]), ("cuda:0", [1024])])
def test_a_run_is_told_in_shares_of_the_fastest_product_in_the_same_time(monkeypatch, device, sizes):
    asked = {}

    def measured(device_name, precision, threads, size, seconds):
        asked[size] = seconds
        return {256: 50.0, 512: 90.0, 1024: 30.0}[size]

    monkeypatch.setattr(timing, "matmul_peak", measured)
    assert timing.peak_beside_others(device, "fp32", 1) == (90.0 if len(sizes) > 1 else 30.0)
    assert list(asked) == sizes and sum(asked.values()) == pytest.approx(0.2)
