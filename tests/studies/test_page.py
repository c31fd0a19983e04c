"""The page has every table, whiskers and curves, and no text of a user as markup."""

from toy_record import toy_record

from spanwise.reporting.page import render
from spanwise.studies.page import bars, charts, study_page


def test_the_page_has_figures_differences_curves_costs_and_the_command():
    html = render(study_page(toy_record()))
    assert "51.00 <small>± 1.00</small>" in html
    for words in ("b - a", "+10.17 %", "mlm loss", "spanwise study toy --out x", "b-2 diverged"):
        assert words in html
    assert "<b>better</b>" not in html and "&lt;b&gt;better" in html


def test_bars_carry_the_interval_of_the_mean_and_leave_out_what_has_none():
    groups = bars(toy_record())[0].groups
    assert [bar.label for bar in groups[0].bars] == ["random weights", "a", "b"]
    assert groups[0].bars[1].low < 51 < groups[0].bars[1].high
    assert [bar.label for bar in groups[1].bars] == ["random weights", "a"]  # b diverged


def test_a_chart_has_training_and_held_out_text_of_every_arm():
    assert [line.label for line in charts(toy_record())[0].lines] == ["a", "a, held out"]


def test_an_arm_that_diverged_before_its_first_log_line_has_no_curve_and_the_chart_says_so():
    record = toy_record()
    assert charts(record)[0].note.endswith("No curve of b: a seed diverged before it had logged a step.")
    record["curves"]["mlm"]["b"] = record["curves"]["mlm"]["a"]
    assert "No curve" not in charts(record)[0].note
