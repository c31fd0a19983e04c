"""`spanwise evaluate qa`."""

import json

from spanwise.cli.main import main


def test_scores_are_those_of_the_fine_tuning_run(world, qa_run, tmp_path, capsys):
    out = tmp_path / "scores.json"
    arguments = ["evaluate", "qa", "--model", str(qa_run / "final"), "--data", str(world.folder / "dev.json")]
    assert main([*arguments, "--out", str(out), "--json"]) == 0
    scores = json.loads(capsys.readouterr().out)
    assert scores == json.loads(out.read_text())
    assert scores["f1"] == json.loads((qa_run / "dev_scores.json").read_text())["f1"]


def test_a_person_gets_a_table(world, qa_run, capsys):
    assert main(["evaluate", "qa", "--model", str(qa_run / "final"), "--data", str(world.folder / "dev.json")]) == 0
    printed = capsys.readouterr().out
    assert "exact match" in printed and "unanswerable" in printed


def test_a_model_without_the_head_is_refused(world, run, capsys):
    assert main(["evaluate", "qa", "--model", str(run / "final"), "--data", str(world.folder / "dev.json")]) == 4
    assert "qa" in capsys.readouterr().err


def test_several_files_are_scored_each_under_its_name(world, qa_run, tmp_path, capsys):
    train, dev = (str(world.folder / name) for name in ("train.json", "dev.json"))
    arguments = ["evaluate", "qa", "--model", str(qa_run / "final"), "--data", train, dev]
    assert main([*arguments, "--json"]) == 0
    scores = json.loads(capsys.readouterr().out)
    assert set(scores) == {"train", "dev"}
    assert scores["dev"]["f1"] == json.loads((qa_run / "dev_scores.json").read_text())["f1"]
    assert main(arguments) == 0
    printed = capsys.readouterr().out
    assert printed.index("train:") < printed.index("dev:")
