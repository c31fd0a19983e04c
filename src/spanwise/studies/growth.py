"""The chart of a probe of several sizes: what every model scores against how many examples it has learned from."""

from collections.abc import Sequence

from spanwise.reporting.curves import Chart, Line, draw_growth
from spanwise.reporting.page import tone_of
from spanwise.studies.record import Column, StudyRecord
from spanwise.studies.study import CONTROL

GROWTH_NOTE = (
    "Means over seeds with their 95 % intervals; lines stand a little beside one another. Paired differences are often "
    "surer."
)
FEWEST_SIZES = 3  # that make a line


def growth_charts(record: StudyRecord) -> dict[str, Chart]:
    """Draw, by probe, what every model scores against how many examples it has learned from: three sizes or more."""
    found = {}
    for probe, examples in record.examples.items():
        figures = {figure.key: figure for figure in record.figures if figure.probe == probe and figure.key in examples}
        if len(figures) < FEWEST_SIZES:
            continue
        shown = sorted(figures, key=lambda key: examples[key])
        lines = [
            *(
                growth_line(CONTROL, "control", [(examples[key], figures[key].controls[of]) for key in shown], True)
                for of in dict.fromkeys(record.control_of.values())
            ),
            *(
                growth_line(arm, tone_of(place), [(examples[key], figures[key].arms[arm]) for key in shown])
                for place, arm in enumerate(record.arms)
            ),
        ]
        score = figures[shown[0]].label.rpartition(": ")[2]
        chart = draw_growth(
            f"{probe}: {score} against examples learned from",
            lines,
            x_label="examples (logarithmic)",
            y_label=f"{score}, {figures[shown[0]].unit}",
            note=GROWTH_NOTE,
        )
        if chart is not None:
            found[probe] = chart
    return found


def growth_line(label: str, tone: str, points: Sequence[tuple[int, Column]], dashed: bool = False) -> Line:
    """Return the means that there are, with their intervals."""
    known = [(number, column, column.mean) for number, column in points if column.mean is not None]
    return Line(
        label=label,
        tone=tone,
        dashed=dashed,
        x=[number for number, _, _ in known],
        y=[mean for _, _, mean in known],
        low=[None if column.low is None else clipped(column.low) for _, column, _ in known],
        high=[None if column.high is None else clipped(column.high) for _, column, _ in known],
    )


def clipped(value: float) -> float:
    """Return a per cent value between 0 and 100."""
    return min(100.0, max(0.0, value))
