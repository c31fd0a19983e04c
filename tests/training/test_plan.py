"""The length of a run is one of four, recorded before it is obeyed, and a budget is met."""

import json

import pytest
from toy import ToySource

from spanwise.errors import CheckpointError, ConfigError
from spanwise.training.plan import BudgetClock, Plan, TrainingOptions, count_steps, read_plan
from spanwise.training.schedule import PlanLine


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
    assert len(read_plan(tmp_path / "plan.jsonl")[0]) == 1
    (tmp_path / "plan.jsonl").write_text("{broken\n" + good + "\n" + good + "\n")
    with pytest.raises(CheckpointError, match="line 1"):
        read_plan(tmp_path / "plan.jsonl")


def open_again(path, options, **more):
    return Plan.open(path, TrainingOptions(**options), ToySource(), **more)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('"total_steps": 12', '"total_steps": 10'),
        ('"total_steps": 12', '"total_steps": 17'),
        ('"step": 0', '"step": 9'),
    ],
)
def test_an_edited_line_is_refused_and_never_trained(tmp_path, before, after):
    path = tmp_path / "plan.jsonl"
    Plan.open(path, TrainingOptions(max_steps=12), ToySource())
    path.write_text(path.read_text().replace(before, after))

    with pytest.raises(CheckpointError, match="line 1 does not agree with its checksum"):
        open_again(path, {"max_steps": 12})
    line = json.loads(path.read_text())
    del line["checksum"]  # as an earlier version wrote it: then the recipe decides
    path.write_text(json.dumps(line) + "\n")
    with pytest.raises(CheckpointError, match=r"and the recipe \(max_steps\) with 12 at step 0"):
        open_again(path, {"max_steps": 12})


def test_lines_that_are_moved_left_out_or_of_another_run_are_refused(tmp_path):
    path, budget = tmp_path / "plan.jsonl", {"budget": 100}
    plan = Plan.open(path, TrainingOptions(**budget), ToySource())
    plan.add(10, 500, "measured")
    plan.add(20, 400, "measured again")
    first, second, third = path.read_text().splitlines()
    saved = plan.to_record()

    for lines in ([first, third], [second, third], [first, third, second]):
        path.write_text("\n".join(lines) + "\n")
        with pytest.raises(CheckpointError, match="does not agree with its checksum"):
            open_again(path, budget)
    path.write_text(first + "\n" + second + "\n")
    with pytest.raises(CheckpointError, match=r"has 2 line.*checkpoint knows 3"):
        open_again(path, budget, saved=saved)
    path.unlink()
    with pytest.raises(CheckpointError, match="has 0 line"):
        open_again(path, budget, saved=saved)
    Plan.open(path, TrainingOptions(max_steps=12), ToySource())
    with pytest.raises(CheckpointError, match="belongs to another run"):
        open_again(path, {"max_steps": 13})


@pytest.mark.parametrize(
    ("options", "step", "total", "is_fine"),
    [
        ({"max_steps": 12}, 6, 6, True),  # ended early
        ({"max_steps": 12}, 6, 9, False),
        ({"max_steps": 12}, 12, 12, False),
        ({"budget": 100}, 6, 9, True),
        ({"budget": 100}, 6, 5, False),
    ],
)
def test_a_line_that_no_run_of_the_recipe_adds_is_refused(tmp_path, options, step, total, is_fine):
    path = tmp_path / "plan.jsonl"
    Plan.open(path, TrainingOptions(**options), ToySource()).add(step, total, "x")
    if is_fine:
        assert open_again(path, options).total_steps == total
    else:
        with pytest.raises(CheckpointError, match="which no run of this recipe does"):
            open_again(path, options)


def test_a_plan_of_an_earlier_version_goes_on_and_gets_checksums_for_what_is_added(tmp_path):
    path, said = tmp_path / "plan.jsonl", []
    lines = [{"step": 0, "total_steps": 12, "reason": "max_steps"}]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))

    open_again(path, {"max_steps": 12}, say=said.append).add(6, 6, "ended")

    assert "earlier version" in said[0] and open_again(path, {"max_steps": 12}).total_steps == 6
    path.write_text(path.read_text().replace('"total_steps": 6', '"total_steps": 7'))
    with pytest.raises(CheckpointError, match="line 2"):
        open_again(path, {"max_steps": 12})


def test_after_a_line_that_a_crash_cut_a_plan_can_be_added_to_and_read_again(tmp_path):
    path = tmp_path / "plan.jsonl"
    Plan.open(path, TrainingOptions(budget=100), ToySource())
    path.write_text(path.read_text() + '{"step": 10, "tot')

    open_again(path, {"budget": 100}).add(10, 500, "measured")

    assert open_again(path, {"budget": 100}).total_steps == 500
    path.write_text('{"step": 0, "tot')
    assert open_again(path, {"max_steps": 3}).total_steps == 3 and len(read_plan(path)[0]) == 1


def test_blank_lines_of_a_plan_cost_no_record(tmp_path):
    path = tmp_path / "plan.jsonl"
    Plan.open(path, TrainingOptions(budget=100), ToySource()).add(10, 500, "measured")
    text = path.read_text()
    for written in ("\n" + text, text.replace("\n", "\n\n"), text.replace("\n", "\n  \n") + '{"step": 20, "tot'):
        path.write_text(written)
        assert open_again(path, {"budget": 100}).total_steps == 500
        assert path.read_text() == text
    open_again(path, {"budget": 100}).add(20, 600, "measured")
    assert open_again(path, {"budget": 100}).total_steps == 600


@pytest.mark.parametrize(
    "value",
    [
        {"threads": 100_000},
        {"max_steps": 99_999_999_999_999_999_999},
        {"max_tokens": 10**20},
        {"num_epochs": float("inf")},
        {"budget": float("nan")},
        {"learning_rate": float("inf")},
        {"seed": 2**64},
        {"keep": 10**9},
    ],
)
def test_every_number_has_a_range(value):
    with pytest.raises(ConfigError, match=next(iter(value))):
        TrainingOptions(**value)


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


def test_evaluations_at_shares_of_a_run_come_as_often_as_asked_and_at_the_end(tmp_path):
    for total, share in ((40, 0.125), (41, 0.125), (9, 0.25), (7, 0.1), (100, 1 / 3)):
        plan = Plan(None, [PlanLine(step=0, total_steps=total, reason="")], TrainingOptions(eval_every=share))
        due = [step for step in range(total + 1) if plan.evaluation_is_due(step)]
        assert due[-1] == total and len(due) == min(total, round(1 / share))
        assert all(
            abs(step - (number + 1) * share * total) < 1 + 1e-9 for number, step in enumerate(due[:3]) if total > 9
        )
    plan = Plan(None, [PlanLine(step=0, total_steps=10, reason="")], TrainingOptions(eval_every=4))
    assert [step for step in range(11) if plan.evaluation_is_due(step)] == [4, 8]
    assert not Plan(None, [PlanLine(step=0, total_steps=9, reason="")], TrainingOptions()).evaluation_is_due(9)


def test_a_revision_moves_no_evaluation_that_was(tmp_path):
    options = TrainingOptions(eval_every=0.25, budget=60)
    plan = Plan(None, [PlanLine(step=0, total_steps=100, reason="")], options)
    before = [plan.evaluation_is_due(step) for step in range(31)]
    plan.add(30, 50, "it is slower")
    assert [plan.evaluation_is_due(step) for step in range(31)] == before
    assert [step for step in range(51) if plan.evaluation_is_due(step)] == [25, 36, 43, 50]


def test_a_budget_holds_evaluations_at_shares_of_the_run(tmp_path):
    options = TrainingOptions(budget=60, learning_rate=1.0, eval_every=0.125)
    plan, clock, step, evaluations = Plan.open(tmp_path / "plan.jsonl", options, ToySource()), BudgetClock(), 0, 0
    clock.evaluation, clock.saving, clock.used = 2.0, 0.25, 2.0
    while step < plan.total_after(step):
        step += 1
        clock.add_step(0.1)
        is_due = plan.evaluation_is_due(step)
        evaluations += is_due
        clock.used += 0.1 + 2.0 * is_due
        plan.revise(step, clock)

    assert evaluations == 8
    assert 52 < clock.used + 2 * 0.25 <= 61


@pytest.mark.parametrize("every", [0, -1, 2.5, 0.0])
def test_an_eval_every_that_is_neither_steps_nor_a_share_is_refused(every):
    with pytest.raises((ConfigError, ValueError), match="eval_every"):
        TrainingOptions(eval_every=every)
