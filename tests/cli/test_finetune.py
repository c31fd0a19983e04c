"""`spanwise finetune qa`."""

import json

from spanwise.cli.main import main


def test_a_fine_tuned_model_and_its_scores_are_left(qa_run):
    assert (qa_run / "final" / "model.safetensors").is_file()
    scores = json.loads((qa_run / "dev_scores.json").read_text())
    assert scores["total"] == 24


def test_random_weights_are_one_option_away_and_json_gives_the_scores(world, run, tmp_path, capfd):
    arguments = ["finetune", "qa", "--model", str(run / "final"), "--train", str(world.folder / "train.json")]
    arguments += [
        "--dev",
        str(world.folder / "dev.json"),
        "--out",
        str(tmp_path / "control"),
        "--reset-weights",
        "--json",
    ]
    assert main([*arguments, "--set", "training.num_epochs=null", "--set", "training.max_steps=1"]) == 0
    printed, told = capfd.readouterr()
    record = json.loads(printed)
    assert record["steps"] == 1 and record["scores"]["total"] == 24
    assert "random weights" in told


def test_another_task_is_answered_with_those_there_are(run, world, tmp_path, capsys):
    arguments = [
        "--model",
        str(run / "final"),
        "--train",
        str(world.folder / "train.json"),
        "--out",
        str(tmp_path / "x"),
    ]
    assert main(["finetune", "poetry", *arguments]) == 2
    assert "qa" in capsys.readouterr().err
    assert not (tmp_path / "x").exists()


def test_damaged_data_and_a_missing_model_have_their_own_statuses(run, world, tmp_path, capsys):
    broken = tmp_path / "broken.json"
    broken.write_text('{"data": [')
    assert (
        main(["finetune", "qa", "--model", str(run / "final"), "--train", str(broken), "--out", str(tmp_path / "a")])
        == 3
    )
    assert "broken.json" in capsys.readouterr().err
    train = str(world.folder / "train.json")
    missing = str(tmp_path / "no model")
    assert main(["finetune", "qa", "--model", missing, "--train", train, "--out", str(tmp_path / "b")]) == 4
    assert "no model" in capsys.readouterr().err
