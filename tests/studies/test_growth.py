"""A line per model over the examples learned from, where a probe has three sizes; random weights are dashed."""

from toy_record import column, figure, toy_record

from spanwise.studies.growth import growth_charts
from spanwise.studies.page import study_page


def record_of(sizes):
    control = column(1.0, 2.0, 3.0)
    figures = [
        figure(f"f1_at_{name}", column(10.0, 11.0, 12.0), column(20.0 + k, 21.0, 22.0), control, label="answers, n: F1")
        for k, name in enumerate(sizes)
    ]
    return toy_record(figures=figures, examples={"chunks": {f"f1_at_{name}": n for name, n in sizes.items()}})


def test_every_model_has_a_line_with_an_interval_at_each_size():
    record = record_of({"16": 16, "128": 128, "all": 5_000})
    chart = growth_charts(record)["chunks"]
    assert [line.label for line in chart.lines] == ["random weights", "a", "b"]
    assert [line.dashed for line in chart.lines] == [True, False, False]
    assert all(len(line.whiskers) == 3 for line in chart.lines)
    assert [tick.label for tick in chart.x_ticks] == ["16", "128", "5,000"] and "F1" in chart.title
    shown = next(section for section in study_page(record).sections if section.key == "figures").shown
    assert chart in shown


def test_two_sizes_and_figures_without_a_mean_are_no_line():
    assert growth_charts(record_of({"16": 16, "128": 128})) == {}
    record = record_of({"16": 16, "128": 128, "all": 5_000})
    lost = [
        figure(one.key, column(reason="not yet"), column(reason="not yet"), column(reason="x"))
        for one in record.figures
    ]
    assert growth_charts(toy_record(figures=lost, examples=record.examples)) == {}
