"""`spanwise finetune qa`."""

import json
import shutil

import pytest
import torch

import spanwise
from spanwise.cli.main import main
from spanwise.errors import CheckpointError
from spanwise.interop.sources import _tell_taken


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
    assert isinstance(record["recipe"]["training"]["learning_rate"], float) and record["recipe"]["hidden_dropout"] == 0
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
    arguments += ["--licence", "CC BY 4.0", "--licence", "MIT"]
    arguments += ["--not-from", str(far), "--set", "training.num_epochs=null", "--set", "training.max_steps=1"]
    assert main([*arguments, "--out", str(tmp_path / "out")]) == 0
    told = capsys.readouterr().out
    assert f"{far}: 1 of 1 paragraphs" in told and f"{train}: 0 of 12 paragraphs" in told
    learned = json.loads((tmp_path / "out" / "final" / "spanwise.json").read_text())["learned_from"]
    assert [entry["licence"] for entry in learned[-2:]] == ["CC BY 4.0", "MIT"]
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


def test_wherever_a_model_is_asked_for_a_run_folder_will_do(world, run, qa_run, tmp_path, capsys, caplog):
    """Commands and the Python API take the model that the run left, and say which, once."""
    _tell_taken.cache_clear()  # another test's folder may have had this path
    run, qa_run = (shutil.copytree(folder, tmp_path / folder.name) for folder in (run, qa_run))
    train, data = str(world.folder / "train.json"), str(world.folder / "dev.json")
    short = ["--set", "training.num_epochs=null", "--set", "training.max_steps=1"]
    assert (
        main(["finetune", "qa", "--model", str(run), "--train", train, "--out", str(tmp_path / "taught"), *short]) == 0
    )
    assert main(["pretrain", "spanbert-tiny", "--init", str(run), "--data", str(world.folder / "store"), "--out",
                 str(tmp_path / "on"), "--set", "training.max_tokens=null", "--set", "training.max_steps=1",
                 "--set", "format.max_length=64", "--set", "batch.tokens_per_step=256",
                 "--set", "batch.max_tokens=256"]) == 0  # fmt: skip
    assert main(["evaluate", "qa", "--model", str(qa_run), "--data", data]) == 0
    answers = str(tmp_path / "answers.json")
    assert main(["predict", "qa", "--model", str(qa_run), "--input", data, "--output", answers]) == 0
    assert main(["show", "model", str(qa_run)]) == 0
    assert main(["convert", str(run), str(tmp_path / "converted")]) == 0
    asked = dict(question="Who won?", context="Denver won the game in February.")
    with torch.no_grad():
        by_run, by_final = (spanwise.load(folder).encode(["Denver won"])[0] for folder in (run, run / "final"))
    assert torch.equal(by_run, by_final)
    assert spanwise.pipeline("question-answering", model=qa_run)(**asked) == spanwise.pipeline(
        "question-answering", model=qa_run / "final"
    )(**asked)
    assert spanwise.pipeline("fill-mask", model=str(run))("Denver [MASK] the game.")
    taken = [record.getMessage() for record in caplog.records if "is a run folder" in record.getMessage()]
    assert sorted(taken) == sorted(
        f"{folder} is a run folder; its model {folder / 'final'} is taken." for folder in (run, qa_run)
    )


def test_a_run_that_is_not_finished_says_how_to_go_on(world, run, tmp_path, capsys):
    begun = tmp_path / "begun"
    shutil.copytree(run, begun)
    shutil.rmtree(begun / "final")
    train = str(world.folder / "train.json")
    assert main(["finetune", "qa", "--model", str(begun), "--train", train, "--out", str(tmp_path / "qa")]) == 4
    told = capsys.readouterr().err
    assert "not finished" in told and "--resume" in told and "step-000000004" in told
    for use in (spanwise.load, lambda folder: spanwise.pipeline("fill-mask", model=folder)):
        with pytest.raises(CheckpointError, match="not finished"):
            use(begun)
