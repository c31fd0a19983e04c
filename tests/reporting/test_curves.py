"""Charts keep their ends, leave out what is not a number, and have round ticks."""

import math

import pytest

from spanwise.reporting.curves import MAX_POINTS, Line, draw_chart, draw_growth, nice_ticks, short_number


def coordinates(line):
    return [tuple(float(part) for part in point.split(",")) for point in line.points.split()]


def test_a_falling_curve_goes_from_top_left_to_bottom_right():
    chart = draw_chart("t", [Line(label="a", x=[0, 1, 2], y=[6.0, 5.0, 4.0])], x_label="x", y_label="y")

    (x0, y0), _, (x2, y2) = coordinates(chart.lines[0])
    assert (x0, x2) == (0.0, 1000.0)
    assert y0 < y2
    assert chart.lines[0].last == "4.00"


def test_one_point_is_a_level_across_the_whole_width():
    lines = [Line(label="a", x=[0, 10], y=[1, 2]), Line(label="unigram", x=[0], y=[1.5])]

    level = draw_chart("t", lines, x_label="x", y_label="y").lines[1]

    (x0, y0), (x1, y1) = coordinates(level)
    assert (x0, x1) == (0.0, 1000.0) and y0 == y1 and level.dashed


def test_values_that_are_no_numbers_are_left_out_and_nothing_left_is_no_chart():
    chart = draw_chart("t", [Line(label="a", x=[0, 1, 2], y=[1.0, math.nan, 3.0])], x_label="x", y_label="y")

    assert len(coordinates(chart.lines[0])) == 2
    assert draw_chart("t", [Line(label="a", x=[0], y=[math.inf])], x_label="x", y_label="y") is None


def test_long_curves_are_thinned_and_keep_their_last_point():
    chart = draw_chart("t", [Line(label="a", x=range(10_000), y=range(10_000))], x_label="x", y_label="y")

    points = coordinates(chart.lines[0])
    assert len(points) <= MAX_POINTS + 1
    assert points[-1][0] == 1000.0


def test_all_points_lie_inside_the_box():
    lines = [Line(label=str(k), x=[0, 3, 7], y=[k, -k, 0.37 * k]) for k in range(1, 5)]

    for line in draw_chart("t", lines, x_label="x", y_label="y").lines:
        assert all(-0.1 <= value <= 1000.1 for point in coordinates(line) for value in point)


@pytest.mark.parametrize(("low", "high"), [(0, 1), (5.93, 8.31), (-3e-5, 2e-5), (7, 7), (0, 4_100_000)])
def test_ticks_are_few_and_hold_the_range(low, high):
    ticks, bottom, top = nice_ticks(low, high, widen=True)

    assert 2 <= len(ticks) <= 8
    assert bottom <= low and top >= high


def test_numbers_are_written_short():
    assert [short_number(value) for value in (0, 0.05, 12, 1500, 2_000_000)] == ["0", "0.05", "12", "1.5 k", "2 M"]


def growth_lines():
    return [
        Line(label="a", x=[16, 128, 1024], y=[10.0, 20.0, 30.0], low=[8.0, None, 29.0], high=[12.0, None, 31.0]),
        Line(label="b", x=[16, 128, 1024], y=[5.0, 15.0, 40.0], tone="boundary"),
    ]


def test_equal_factors_are_equal_distances_and_every_size_is_a_tick():
    chart = draw_growth("t", growth_lines(), x_label="x", y_label="y")
    (x0, _), (x1, _), (x2, _) = coordinates(chart.lines[0])
    assert x1 - x0 == pytest.approx(x2 - x1, abs=0.2) and 0 < x0 < x2 < 1000
    assert [tick.label for tick in chart.x_ticks] == ["16", "128", "1,024"]
    assert x0 / 10 == pytest.approx(chart.x_ticks[0].percent, abs=1)


def test_intervals_stand_at_their_points_and_lines_beside_one_another():
    first, second = draw_growth("t", growth_lines(), x_label="x", y_label="y").lines
    points = coordinates(first)
    assert len(first.whiskers) == 2 and not second.whiskers
    for whisker, (x, y) in zip(first.whiskers, (points[0], points[2]), strict=True):
        assert whisker.x == pytest.approx(x, abs=0.1) and whisker.top < y < whisker.bottom
    assert coordinates(second)[0][0] > points[0][0]


def test_one_size_is_no_growth():
    assert draw_growth("t", [Line(label="a", x=[16], y=[1.0])], x_label="x", y_label="y") is None
