"""Line charts as inline SVG that need no script, keep their letters readable at phone width and follow light or dark.

The plot is stretched to its box while strokes and labels keep their size: labels are HTML, placed in per cent.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

MAX_POINTS = 240  # more can't be seen in a box this wide
NUM_TICKS = 5
NUM_SAMPLES = 6  # points of a line where it can't be drawn


@dataclass(frozen=True, kw_only=True)
class Line:
    """One curve: x and y values of equal length; `tone` names a colour of the page's palette."""

    label: str
    x: Sequence[float]
    y: Sequence[float]
    tone: str = "ours"  # ours, boundary, control, init, unigram, bigram
    dashed: bool = False
    low: Sequence[float | None] = ()  # ends of the interval of each y, where there are any
    high: Sequence[float | None] = ()


@dataclass(frozen=True, kw_only=True)
class Whisker:
    """The interval of a point, in the box of 1000 x 1000: its place from the left, and both ends from the top."""

    x: float
    top: float
    bottom: float


@dataclass(frozen=True, kw_only=True)
class Tick:
    """A mark on an axis."""

    percent: float  # from the left, or from the top
    label: str


@dataclass(frozen=True, kw_only=True)
class DrawnLine:
    """A line in the box of its chart."""

    label: str
    tone: str
    dashed: bool
    points: str  # SVG points in a box of 1000 x 1000
    last: str  # the last value, written out
    samples: str  # a few points in words, as "x: y; x: y"
    whiskers: tuple[Whisker, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Chart:
    """A chart ready for the template."""

    title: str
    x_label: str
    y_label: str
    lines: tuple[DrawnLine, ...]
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    note: str = ""


def draw_chart(title: str, lines: Sequence[Line], *, x_label: str, y_label: str, note: str = "") -> Chart | None:
    """Scale the lines to a common box; values that are not finite are left out; None where nothing is left.

    A line with one point is drawn across the whole width: it is a level, such as a baseline.
    """
    kept = []
    for line in lines:
        points = [xy for xy in zip(line.x, line.y, strict=True) if all(map(math.isfinite, xy))]
        kept += [(line, points)] if points else []
    if not kept:
        return None
    x_values = [x for line, points in kept for x, _ in points if len(points) > 1] or [0.0, 1.0]
    y_values = [y for _, points in kept for _, y in points]
    x_ticks, x_low, x_high = nice_ticks(min(x_values), max(x_values), widen=False)
    y_ticks, y_low, y_high = nice_ticks(min(y_values), max(y_values), widen=True)

    def place_x(x: float) -> float:
        return (x - x_low) / (x_high - x_low)

    def place_y(y: float) -> float:
        return 1 - (y - y_low) / (y_high - y_low)

    drawn = []
    for line, points in kept:
        level = len(points) == 1
        path = [(x_low, points[0][1]), (x_high, points[0][1])] if level else thin(points)
        drawn.append(
            DrawnLine(
                label=line.label,
                tone=line.tone,
                dashed=line.dashed or level,
                points=" ".join(f"{1000 * place_x(x):.1f},{1000 * place_y(y):.1f}" for x, y in path),
                last=f"{points[-1][1]:.2f}",
                samples=sampled(points),
            )
        )
    return Chart(
        title=title,
        x_label=x_label,
        y_label=y_label,
        lines=tuple(drawn),
        x_ticks=tuple(Tick(percent=100 * place_x(x), label=short_number(x)) for x in x_ticks),
        y_ticks=tuple(Tick(percent=100 * place_y(y), label=short_number(y)) for y in y_ticks),
        note=note,
    )


ROOM = 0.04  # of the width, on both sides of the points that a logarithmic chart has
BESIDE = 0.008  # of the width, between points of one x on neighbouring lines


def draw_growth(title: str, lines: Sequence[Line], *, x_label: str, y_label: str, note: str = "") -> Chart | None:
    """Draw a few points per line over a logarithmic x, with their intervals; None where no line has two.

    Every x is a tick. Lines stand a little beside one another, so that intervals at one x can be told apart. All x are
    above 0, and all lines have the same.
    """
    kept = [line for line in lines if len(line.x) > 1]
    if not kept:
        return None
    ends = [y for line in kept for values in (line.y, line.low, line.high) for y in values if y is not None]
    y_ticks, y_low, y_high = nice_ticks(min(ends), max(ends), widen=True)
    places = sorted({x for line in kept for x in line.x})
    first, last = math.log(places[0]), math.log(places[-1])

    def place_x(x: float) -> float:
        return ROOM + (1 - 2 * ROOM) * (math.log(x) - first) / ((last - first) or 1.0)

    def place_y(y: float) -> float:
        return 1 - (y - y_low) / (y_high - y_low)

    drawn = []
    for number, line in enumerate(kept):
        x_places = [1000 * (place_x(x) + BESIDE * (number - (len(kept) - 1) / 2)) for x in line.x]
        intervals = [(x, low, high) for x, low, high in zip(x_places, line.low, line.high, strict=False)]
        drawn.append(
            DrawnLine(
                label=line.label,
                tone=line.tone,
                dashed=line.dashed,
                points=" ".join(f"{x:.1f},{1000 * place_y(y):.1f}" for x, y in zip(x_places, line.y, strict=True)),
                last=f"{line.y[-1]:.2f}",
                samples=sampled(list(zip(line.x, line.y, strict=True))),
                whiskers=tuple(
                    Whisker(x=x, top=1000 * place_y(high), bottom=1000 * place_y(low))
                    for x, low, high in intervals
                    if low is not None and high is not None
                ),
            )
        )
    return Chart(
        title=title,
        x_label=x_label,
        y_label=y_label,
        lines=tuple(drawn),
        x_ticks=tuple(Tick(percent=100 * place_x(x), label=f"{x:,.0f}") for x in places),
        y_ticks=tuple(Tick(percent=100 * place_y(y), label=short_number(y)) for y in y_ticks),
        note=note,
    )


def sampled(points: list[tuple[float, float]]) -> str:
    """Write a few points of a line, evenly chosen, with its ends."""
    chosen = sorted({round(i * (len(points) - 1) / (NUM_SAMPLES - 1)) for i in range(NUM_SAMPLES)})
    return "; ".join(f"{points[index][0]:,.0f}: {points[index][1]:.3f}" for index in chosen)


def thin(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return at most `MAX_POINTS` points: means of neighbours, and the last one as it is."""
    step = math.ceil(len(points) / MAX_POINTS)
    if step == 1:
        return points
    groups = [points[i : i + step] for i in range(0, len(points), step)]
    means = [(sum(x for x, _ in g) / len(g), sum(y for _, y in g) / len(g)) for g in groups]
    return [*means, points[-1]]


def nice_ticks(low: float, high: float, *, widen: bool) -> tuple[list[float], float, float]:
    """Return round tick values and both ends of the axis, which `widen` moves to whole ticks."""
    if high <= low:
        spread = abs(low) * 0.1 or 1.0
        low, high = low - spread, high + spread
    raw = (high - low) / NUM_TICKS
    size = 10 ** math.floor(math.log10(raw))
    step = next(size * factor for factor in (1, 2, 2.5, 5, 10) if size * factor >= raw * 0.999)
    first = math.floor(low / step) if widen else math.ceil(low / step - 1e-9)
    last = math.ceil(high / step) if widen else math.floor(high / step + 1e-9)
    ticks = [index * step for index in range(first, last + 1)]
    return (ticks, ticks[0], ticks[-1]) if widen else (ticks, low, high)


def short_number(value: float) -> str:
    """Write a number shortly: 1500000 -> '1.5 M', 0.05 -> '0.05'."""
    for size, unit in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if abs(value) >= size:
            return f"{value / size:.4g}{unit}"
    return f"{value:.4g}" if abs(value) > 1e-12 else "0"
