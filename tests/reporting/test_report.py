"""One page for one run or many: curves, timing, masks, scores and what differs between the recipes."""

import json

import markupsafe
import pytest

from spanwise.errors import ConfigError, DataError
from spanwise.reporting.report import runs_page, write_report
from spanwise.reporting.runs import read_runs


def test_a_run_becomes_one_page_in_its_folder(tmp_path, write_run):
    run = write_run(tmp_path / "run")

    target = write_report([run], run)

    html = target.read_text(encoding="utf-8")
    assert target == run / "report.html"
    for words in ("mlm loss", "Learning rate", "Where the time went", "hidden stretches", "length of spans", "report"):
        assert words in html


def test_the_out_file_may_be_named(tmp_path, write_run):
    target = write_report([write_run(tmp_path / "run")], tmp_path / "pages" / "my.html")

    assert target.name == "my.html" and target.is_file()


def test_the_command_that_makes_the_page_again_can_be_pasted(tmp_path, write_run):
    run, out = write_run(tmp_path / "my run"), tmp_path / "a page.html"
    html = write_report([run], out).read_text(encoding="utf-8")
    assert markupsafe.escape(f"report '{run}' --out '{out}'") in html


def test_several_runs_stand_side_by_side_and_only_differing_values_are_listed(tmp_path, write_run):
    first, second = write_run(tmp_path / "a"), write_run(tmp_path / "b", steps=3)
    recipe = {"name": "b", "training": {"learning_rate": 0.1}, "extra": 1}
    (second / "recipe.json").write_text(json.dumps(recipe))

    page = runs_page(read_runs([first, second]), tmp_path / "report.html")

    sections = {section.key: section for section in page.sections}
    names = [row[0].text for row in sections["recipes"].blocks[0].rows]
    assert names == ["name", "extra"]
    assert [line.label for line in sections["curves"].blocks[0].lines] == [
        "a", "a, evaluation", "b", "b, evaluation"
    ]  # fmt: skip


def test_scores_of_the_last_evaluation_are_in_the_table(tmp_path, write_run):
    page = runs_page(read_runs([write_run(tmp_path / "a")]), tmp_path / "report.html")

    rows = {row[0].text: row[1].text for row in page.sections[0].blocks[0].rows}
    assert rows["dev f1"] == "12.000" and rows["steps"] == "5"


def test_losses_that_no_training_loss_stands_for_have_charts_of_their_own(tmp_path, write_run):
    run = write_run(tmp_path / "a")
    with (run / "metrics.jsonl").open("a") as file:
        for step in (2, 4):
            numbers = {"loss": 4.0, "mlm_loss": 4.0, "mlm_perplexity": 55.0, "own_loss": 3.0, "general_loss": 2.0}
            file.write(json.dumps({"step": step, "evaluation": numbers}) + "\n")
    page = runs_page(read_runs([run]), tmp_path / "report.html")
    curves = next(section for section in page.sections if section.key == "curves")
    titles = [chart.title for chart in curves.blocks if chart is not None]
    assert [title for title in titles if "loss" in title] == ["mlm loss", "own loss", "general loss"]
    assert "mlm perplexity" not in titles


def test_a_run_that_has_just_begun_makes_a_page_too(tmp_path):
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "metrics.jsonl").write_text("")

    assert write_report([tmp_path / "new"], tmp_path).is_file()


def test_no_run_and_no_log_are_named(tmp_path):
    with pytest.raises(ConfigError, match="at least one"):
        write_report([], tmp_path)
    with pytest.raises(DataError, match="metrics"):
        write_report([tmp_path], tmp_path)
