"""A chart as a picture is one sound SVG document that says all that the chart says and fetches nothing."""

import re
from xml.etree import ElementTree

from spanwise.reporting.curves import Line, draw_growth
from spanwise.reporting.picture import chart_svg


def test_the_picture_has_lines_intervals_ticks_and_escaped_letters():
    lines = [
        Line(label="a <b> & c", x=[16, 128], y=[1.0, 2.0], low=[0.5, 1.5], high=[1.5, 2.5]),
        Line(label="d", x=[16, 128], y=[2.0, 3.0], dashed=True),
    ]
    drawn = chart_svg(draw_growth("F1 & more", lines, x_label="questions", y_label="F1, %"))
    root = ElementTree.fromstring(drawn)
    space = "{http://www.w3.org/2000/svg}"
    words = " ".join(element.text or "" for element in root.iter(f"{space}text"))
    assert all(word in words for word in ("F1 & more", "a <b> & c", "16", "128", "questions", "F1, %"))
    assert len(list(root.iter(f"{space}polyline"))) == 2
    assert len([line for line in root.iter(f"{space}line") if line.get("class") == "interval"]) == 2
    assert not re.search(r"(href|src)=|url\(", drawn)
