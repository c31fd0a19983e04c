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


def test_training_files_may_be_repeated_and_kept_apart_from_a_test_set(run, world, tmp_path, capsys):
    train = str(world.folder / "train.json")
    far = tmp_path / "far.json"
    answers = [{"text": "Geese", "answer_start": 0}]
    paragraph = {
        "context": "Geese fly south in autumn and north in spring.",
        "qas": [{"id": "1", "question": "Who flies?", "answers": answers}],
    }
    far.write_text(json.dumps({"version": "1.1", "data": [{"title": "t", "paragraphs": [paragraph]}]}))
    arguments = ["finetune", "qa", "--model", str(run / "final"), "--train", train, "--train", str(far)]
    arguments += ["--not-from", str(far), "--set", "training.num_epochs=null", "--set", "training.max_steps=1"]
    assert main([*arguments, "--out", str(tmp_path / "out")]) == 0
    told = capsys.readouterr().out
    assert f"{far}: 1 of 1 paragraphs" in told and f"{train}: 0 of 12 paragraphs" in told
    assert list(json.loads((tmp_path / "out" / "recipe.json").read_text())["train"]) == ["1", "2"]


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
