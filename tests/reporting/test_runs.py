"""Run folders are read as they are: whole, in progress, or with a last line cut by a crash."""

import json

import pytest

from spanwise.errors import DataError
from spanwise.reporting.runs import read_run, read_runs


def test_curves_are_drawn_over_tokens_and_missing_values_left_out(tmp_path, write_run):
    run = read_run(write_run(tmp_path / "a", cut=True))

    assert run.loss_names == ["mlm", "sbo"]
    assert run.curve("mlm") == ([100, 200, 300, 400, 500], [8.0, 7.0, 6.0, 5.0, 4.0])
    assert run.curve("sbo") == ([], [])
    assert run.evaluation_curve("mlm_loss") == ([0, 500], [9.0, 4.0])


def test_an_evaluation_between_two_logged_steps_has_the_tokens_between_theirs(tmp_path):
    lines = [{"step": step, "tokens": 100 * step, "losses": {"mlm": 1.0}} for step in (10, 20)]
    lines += [{"step": step, "evaluation": {"mlm_loss": 2.0}} for step in (0, 4, 10, 15, 20)]
    (tmp_path / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert read_run(tmp_path).evaluation_curve("mlm_loss") == ([0, 400, 1000, 1500, 2000], [2.0] * 5)
    assert read_run(tmp_path).evaluation_curve("sbo_loss") == ([], [])


def test_time_and_speed_are_read_from_all_lines(tmp_path, write_run):
    run = read_run(write_run(tmp_path / "a"))

    assert run.seconds_by_section == {"forward": 5.0, "data": 2.5}
    assert run.tokens_per_second == 150.0


def test_runs_of_one_name_are_told_apart(tmp_path, write_run):
    paths = [write_run(tmp_path / parent / "run") for parent in ("x", "y")]

    assert [run.name for run in read_runs(paths)] == ["x/run", "y/run"]


def test_a_folder_without_a_log_is_named(tmp_path):
    with pytest.raises(DataError, match=r"metrics\.jsonl"):
        read_run(tmp_path)


def test_a_damaged_recipe_does_not_spoil_the_report(tmp_path, write_run):
    path = write_run(tmp_path / "a")
    (path / "recipe.json").write_text("{")

    assert read_run(path).recipe == {}


def test_a_run_that_has_logged_nothing_yet_is_told_from_a_wrong_folder(tmp_path):
    with pytest.raises(DataError, match="as named by --out"):
        read_run(tmp_path)
    (tmp_path / "plan.jsonl").write_text("")
    with pytest.raises(DataError, match="logged no step yet"):
        read_run(tmp_path)


def test_lines_that_lack_what_a_curve_needs_are_passed_over(tmp_path, write_run):
    path = write_run(tmp_path / "a")
    lines = ['{"losses": {"mlm": 1.0}}', '{"step": 3, "losses": {"mlm": 1.0}}', '{"evaluation": {"loss": 1}}']
    lines += ['{"step": 2, "evaluation": {"loss": "x", "mlm_loss": []}}', '{"step": 2, "losses": {"mlm": "x"}}']
    with (path / "metrics.jsonl").open("a") as file:
        file.write("".join(line + "\n" for line in lines))
    run, plain = read_run(path), read_run(write_run(tmp_path / "b"))

    assert run.curve("mlm") == plain.curve("mlm")
    assert run.evaluation_curve("mlm_loss") == plain.evaluation_curve("mlm_loss")
    assert run.evaluation_curve("loss") == plain.evaluation_curve("loss")
