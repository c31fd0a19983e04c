"""The length of a run is one of four, recorded before it is obeyed, and a budget is met."""

import json

import pytest
from toy import ToySource

from spanwise.errors import CheckpointError, ConfigError
from spanwise.training.plan import BudgetClock, Plan, TrainingOptions, count_steps, read_plan


def test_the_options_that_matter_most_have_the_papers_values():
    options = TrainingOptions()

    assert (options.adam_epsilon, options.weight_decay, options.max_grad_norm) == (1e-6, 0.01, 1.0)
    assert (options.adam_beta1, options.adam_beta2, options.schedule) == (0.9, 0.999, "linear")


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"max_steps": 3, "num_epochs": 1}, "keep one"),
        ({"warmup_steps": 2.5}, "share below 1"),
        ({"keep": 0}, "keep"),
        ({"learning_rate": 0}, "learning_rate"),
        ({"adam_beta2": 1.0}, "adam_beta2"),
        ({"schedule": "polynomial"}, "linear"),
    ],
)
def test_options_that_cannot_work_are_refused(values, said):
    with pytest.raises(ConfigError, match=said):
        TrainingOptions(**values)


def test_a_run_without_a_length_is_refused():
    with pytest.raises(ConfigError, match=r"training\.max_steps"):
        count_steps(TrainingOptions(), ToySource())


@pytest.mark.parametrize(
    ("values", "steps"),
    [
        ({"max_steps": 7}, 7),
        ({"num_epochs": 2}, 20),
        ({"num_epochs": 0.25}, 3),
        ({"max_tokens": 48}, 1),
        ({"max_tokens": 49}, 2),
        ({"budget": 60}, None),
    ],
)
def test_tokens_and_epochs_become_an_exact_number_of_steps(values, steps):
    assert count_steps(TrainingOptions(**values), ToySource(packs=2, tokens=24, epoch_steps=10)) == steps


def test_a_plan_is_recorded_and_read_back(tmp_path):
    options = TrainingOptions(budget=100)
    plan = Plan.open(tmp_path / "plan.jsonl", options, ToySource())
    plan.add(10, 500, "measured")

    again = Plan.open(tmp_path / "plan.jsonl", options, ToySource())

    assert again.lines == plan.lines and again.total_steps == 500
    assert again.total_after(9) == plan.lines[0].total_steps


def test_a_cut_last_line_is_left_out_and_damage_before_it_is_an_error(tmp_path):
    good = json.dumps({"step": 0, "total_steps": 9, "reason": "x"})
    (tmp_path / "plan.jsonl").write_text(good + '\n{"step": 5, "tot')
    assert len(read_plan(tmp_path / "plan.jsonl")) == 1
    (tmp_path / "plan.jsonl").write_text("{broken\n" + good + "\n" + good + "\n")
    with pytest.raises(CheckpointError, match="line 1"):
        read_plan(tmp_path / "plan.jsonl")


def test_a_warm_up_longer_than_the_run_is_refused(tmp_path):
    with pytest.raises(ConfigError, match="leaves no step"):
        Plan.open(tmp_path / "plan.jsonl", TrainingOptions(max_steps=10, warmup_steps=10), ToySource())


@pytest.mark.parametrize("seconds_a_step", [0.005, 0.2, 1.0, 7.0])
def test_a_budget_is_met_with_the_schedule_finished(tmp_path, seconds_a_step):
    options = TrainingOptions(budget=60, learning_rate=1.0, eval_every=100)
    plan, clock, step = Plan.open(tmp_path / "plan.jsonl", options, ToySource()), BudgetClock(eval_every=100), 0
    clock.evaluation, clock.saving = 0.5, 0.25
    while step < plan.total_after(step):
        step += 1
        spent = seconds_a_step * (1.5 if step == 1 else 1.0 + 0.2 * (step % 2))
        clock.add_step(spent)
        clock.used += spent + (0.5 if step % 100 == 0 else 0.0)
        plan.revise(step, clock)

    whole = clock.used + 0.5 + 2 * 0.25
    assert 60 * 0.9 - seconds_a_step < whole <= 60 * 1.01 + 1.5 * seconds_a_step
    assert plan.learning_rate(step) == pytest.approx(0.0, abs=1e-9)


def test_a_slow_evaluation_leaves_time_for_training():
    clock = BudgetClock(used=30.0)
    clock.evaluation, clock.saving = 30.0, 1.0
    clock.add_step(0.1)

    assert clock.steps_left(60.0) == pytest.approx(200, abs=1)
    clock.used += 20.0
    assert clock.steps_left(60.0) == 0


def test_recorded_lines_are_obeyed_and_not_added_to_while_steps_are_done_again(tmp_path):
    options = TrainingOptions(budget=60)
    plan = Plan.open(tmp_path / "plan.jsonl", options, ToySource())
    plan.add(50, 100, "measured before the crash")
    clock = BudgetClock()
    clock.add_step(0.1)
    for step in range(1, 51):
        plan.revise(step, clock)

    assert len(plan.lines) == 2
