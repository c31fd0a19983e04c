"""Numbers and times are written for people."""

from spanwise.quickstart.page import clock, round_figure


def test_times_are_minutes_and_seconds_in_both_languages():
    assert [clock(seconds, "en") for seconds in (0.44, 43.2, 480, 475)] == ["0.4 s", "43 s", "8 min 00 s", "7 min 55 s"]
    assert [clock(seconds, "ko") for seconds in (43.2, 480, 475)] == ["43초", "8분", "7분 55초"]


def test_large_figures_are_rounded_to_one_digit():
    assert [round_figure(value) for value in (0, 7, 78_643, 961_000)] == ["0", "7", "80,000", "1,000,000"]
