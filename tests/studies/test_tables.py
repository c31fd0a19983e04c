"""The tables: a mean only where all seeds are there, verdicts by direction, and what was equal for all arms."""

from toy_record import toy_record

from spanwise.studies.tables import costs_table, differences_table, facts, markdown, means_table


def row_of(table, label):
    return next(row for row in table.rows if label in row[0])


def test_a_mean_stands_with_its_deviation_and_a_reason_stands_in_its_place():
    table = means_table(toy_record(), main=True)
    assert table.columns == ("figure", "random weights", "a", "b")
    assert row_of(table, "f1")[1:3] == ("11.00 ± 1.00", "51.00 ± 1.00")
    assert row_of(table, "broken")[3] == "– (seed 2: b-2 diverged)"
    assert row_of(table, "loss")[2] == "3.100 ± 0.100"  # three digits of a loss


def test_figures_that_no_arm_can_have_are_left_out():
    labels = [row[0] for row in means_table(toy_record(), main=False).rows]
    assert len(labels) == 1 and "lacking" in labels[0]


def test_differences_have_an_interval_and_a_verdict_by_direction():
    between = differences_table(toy_record(), main=True, control=False)
    found = {row[0]: row for row in between.rows}
    assert found["label of f1"][1:3] == ("b - a", "+10.17 %") and found["label of f1"][4] == "better"
    assert found["label of loss"][2].startswith("-") and found["label of loss"][4] == "better"
    assert found["label of broken"][2:] == ("–", "–", "seed 2: b-2 diverged")
    assert between.tones[0] == "good"
    against = differences_table(toy_record(), main=True, control=True)
    assert {row[1] for row in against.rows} == {"a - random weights", "b - random weights"}


def test_costs_show_the_state_of_every_seed():
    assert costs_table(toy_record()).rows[1][-1] == "0 finished, 1 finished, 2 diverged"


def test_the_text_tells_what_was_equal_what_diverged_and_the_command():
    told = "\n".join(facts(toy_record()))
    assert "Every arm reads 900 tokens. Seeds: 0, 1, 2." in told and "b-2 diverged: not-a-number at step 3" in told
    assert "Files of the probes: chunks: train.txt." in told
    assert "several places, whose last digits may differ: device cpu, torch 2; device cuda, torch 3." in told
    assert "b begin with values counted in the text, which random weights are without" in told
    text = markdown(toy_record())
    assert "spanwise study toy --out x" in text and "masking.p: 0.2 → 0.3" in text and "450: 4.000" in text
    compute = {**toy_record(), "budget": {"kind": "compute", "value": 2e14, "tokens": {"a": 900, "b": 450}}}
    assert "2e+14 training operations; tokens: a 900, b 450" in facts(compute)[0]
