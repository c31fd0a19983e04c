"""A mean only where all seeds are there, verdicts by direction, whiskers, curves, no text of a user as markup."""

import json
from pathlib import Path

import pydantic
from toy_record import toy_record

from spanwise.reporting.markdown import markdown
from spanwise.reporting.page import render
from spanwise.studies.budget import Budget
from spanwise.studies.page import bars, charts, costs_table, differences_table, facts, means_table, study_page
from spanwise.studies.record import StudyRecord

KEPT = Path(__file__).parents[2] / "records" / "spans"


def texts(table):
    return [[cell.plain for cell in row] for row in table.rows]


def row_of(table, label):
    return next(row for row in texts(table) if label in row[0])


def test_a_mean_stands_with_its_deviation_and_a_reason_stands_in_its_place():
    table = means_table(toy_record(), main=True)
    assert table.columns == ("figure", "random weights", "a", "b")
    assert row_of(table, "f1")[1:3] == ["11.00 ± 1.00", "51.00 ± 1.00"]
    assert row_of(table, "broken")[3] == "– (seed 2: b-2 diverged)"
    assert row_of(table, "loss")[2] == "3.100 ± 0.100"  # three digits of a loss


def test_figures_that_no_arm_can_have_are_left_out():
    labels = [row[0] for row in texts(means_table(toy_record(), main=False))]
    assert len(labels) == 1 and "lacking" in labels[0]


def test_differences_have_an_interval_and_a_verdict_by_direction():
    between = differences_table(toy_record(), main=True, control=False)
    found = {row[0]: row for row in texts(between)}
    assert found["label of f1"][1:3] == ["b - a", "+10.17 %"] and found["label of f1"][4] == "better"
    assert found["label of loss"][2].startswith("-") and found["label of loss"][4] == "better"
    assert found["label of broken"][2:] == ["–", "–", "seed 2: b-2 diverged"]
    assert [cell.tone for cell in between.rows[0]] == ["", "", "", "", "good"]
    against = differences_table(toy_record(), main=True, control=True)
    assert {row[1] for row in texts(against)} == {"a - random weights", "b - random weights"}


def test_costs_show_the_state_of_every_seed():
    assert texts(costs_table(toy_record()))[1][-1] == "0 finished, 1 finished, 2 diverged"


def test_the_text_says_what_was_equal_what_diverged_and_the_command():
    sentences = "\n".join(facts(toy_record()))
    assert "Every arm reads 900 tokens. Seeds: 0, 1, 2." in sentences
    assert "b-2 diverged: not-a-number at step 3" in sentences
    assert "Files of the probes: chunks: train.txt." in sentences
    assert "several places, whose last digits may differ: device cpu, torch 2; device cuda, torch 3." in sentences
    assert "b begin with values counted in the text, which random weights are without" in sentences
    text = markdown(study_page(toy_record()))
    assert "spanwise study toy --out x" in text and "masking.p: 0.2 → 0.3" in text and "450: 4.000" in text
    compute = toy_record(budget=Budget(kind="compute", value=2e14, tokens={"a": 900, "b": 450}))
    assert "2e+14 training operations; tokens: a 900, b 450" in facts(compute)[0]
    by_arm = toy_record(budget=Budget(kind="tokens", tokens={"a": 900, "b": 450}))
    assert "Tokens that the arms read: a 900, b 450." in facts(by_arm)[0]


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
    assert [group.label for group in groups] == ["label of f1", "label of broken"]  # nats have no bars


def test_a_chart_has_training_and_held_out_text_of_every_arm():
    assert [line.label for line in charts(toy_record())[0].lines] == ["a", "a, held out"]


def test_an_arm_that_diverged_before_its_first_log_line_has_no_curve_and_the_chart_says_so():
    record = toy_record()
    assert charts(record)[0].note.endswith("No curve of b: a seed diverged before it had logged a step.")
    curve = record.curves["mlm"]["a"]
    assert "No curve" not in charts(toy_record(curves={"mlm": {"a": curve, "b": curve}}))[0].note


def test_a_kept_result_of_an_earlier_version_gives_the_tables_that_were_kept_with_it():
    kept = json.loads((KEPT / "result.json").read_text(encoding="utf-8"))
    text = markdown(study_page(pydantic.TypeAdapter(StudyRecord).validate_python(kept)))
    before = (KEPT / "table.md").read_text(encoding="utf-8").splitlines()
    rows = [line for line in before if line.startswith("| ") and ("±" in line or " to " in line)]
    assert len(rows) > 50 and [row for row in rows if row not in text] == []
