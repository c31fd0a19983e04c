"""A chart as an SVG file of its own, for pages that show pictures: no script, light or dark as the reader has it."""

from spanwise.reporting.curves import Chart
from spanwise.reporting.page import environment


def chart_svg(chart: Chart) -> str:
    """Return the chart with axes, legend and note as one SVG document, 720 wide."""
    return environment().get_template("chart.svg.j2").render(chart=chart, height=352 + 20 * len(chart.lines))
