"""`spanwise pretrain`."""

import json
import os
import shlex
import signal
import subprocess
import sys

from spanwise.cli.main import main
from spanwise.cli.pretrain import next_steps
from spanwise.training.loop import TrainingResult

LENGTH = ["--set", "training.max_tokens=null", "--set", "training.max_steps=3"]


def test_a_run_leaves_a_model_that_loads(run):
    import spanwise

    model = spanwise.load(run / "final")
    assert model.encode(["Denver won the game."])[0].shape[1] == 16
    assert (run / "metrics.jsonl").is_file() and (run / "recipe.json").is_file()


def test_text_alone_is_enough_and_the_answer_can_be_json(world, tiny, tmp_path, capfd):
    text = str(world.folder / "text.txt")
    assert (
        main(["pretrain", "spanbert-tiny", "--text", text, "--out", str(tmp_path / "run"), *tiny, *LENGTH, "--json"])
        == 0
    )
    printed, told = capfd.readouterr()
    record = json.loads(printed)
    assert record["steps"] == 3 and record["tokens"] > 0
    assert "Learning a wordpiece vocabulary" in told
    assert (tmp_path / "run" / "tokenizer" / "tokenizer.json").is_file()


def test_a_length_given_takes_the_place_of_the_recipes_own(world, tiny, tmp_path, capfd):
    """Tokens among them: the recipes for one machine are counted in tokens."""
    for name, value, steps in [("max_tokens", 1000, 5), ("max_steps", 2, 2), ("num_epochs", 0.01, 1)]:
        out = tmp_path / name
        data = ["--data", str(world.folder / "store"), "--out", str(out), "--json"]
        assert main(["pretrain", "spanbert-tiny", *data, *tiny, "--set", f"training.{name}={value}"]) == 0
        record = json.loads(capfd.readouterr().out)
        assert record["steps"] == steps, name
    recipe = json.loads((tmp_path / "max_steps" / "recipe.json").read_text())
    assert recipe["training"]["max_tokens"] is None


def test_a_refused_call_is_corrected_and_given_again(world, tiny, tmp_path, capsys):
    out = tmp_path / "run"
    call = ["pretrain", "spanbert-tiny", "--data", str(world.folder / "store"), "--out", str(out), *tiny, *LENGTH]
    assert main([*call, "--set", "training.warmup_steps=50"]) == 2
    assert "leaves no step" in capsys.readouterr().err
    assert main([*call, "--set", "training.warmup_steps=1"]) == 0
    assert json.loads((out / "recipe.json").read_text())["training"]["warmup_steps"] == 1


def test_several_stores_are_read_by_their_shares(world, tiny, tmp_path, capfd):
    text, tokenizer, store = (str(world.folder / name) for name in ("text.txt", "tokenizer", "store"))
    assert (
        main(["prepare", text, "--tokenizer", tokenizer, "--out", str(tmp_path / "other"), "--lines", "sentences"]) == 0
    )
    out = str(tmp_path / "run")
    data = ["--data", f"{store}:0.25", "--data", f"{tmp_path / 'other'}:0.75"]
    assert (
        main(["pretrain", "spanbert-tiny", *data, "--out", out, *tiny, *LENGTH, "--set", "training.log_every=1"]) == 0
    )
    assert "Reading store 25.0%, other 75.0% of the tokens." in capfd.readouterr().out
    assert main(["show", "run", out, "--json"]) == 0
    epochs = json.loads(capfd.readouterr().out)["epochs"]
    assert epochs.keys() == {"store", "other"} and all(value > 0 for value in epochs.values())
    assert main(["show", "run", out]) == 0
    assert "store 0." in capfd.readouterr().out
    assert main(["pretrain", "spanbert-tiny", "--data", store, "--data", f"{store}:1", "--out", out + "2", *tiny]) == 2
    assert "has no share" in capfd.readouterr().err


def test_a_run_folder_that_is_done_is_not_written_over(world, run, tiny, capsys):
    before = (run / "metrics.jsonl").read_bytes()
    arguments = ["pretrain", "spanbert-tiny", "--data", str(world.folder / "store"), "--out", str(run), *tiny, *LENGTH]
    assert main(arguments) == 2
    assert "finished" in capsys.readouterr().err
    assert (run / "metrics.jsonl").read_bytes() == before


def test_wrong_use_is_told_before_anything_is_written(world, tmp_path, capsys):
    store, out = str(world.folder / "store"), str(tmp_path / "run")
    for arguments, words in [
        (["spanbert-tinny", "--data", store], "spanbert-tiny"),
        (["spanbert-tiny"], "either data"),
        (["spanbert-tiny", "--data", store, "--budget", "soon"], "20min"),
        (["spanbert-tiny", "--data", store, "--set", "training.learning_rat=1"], "learning_rate"),
        (["spanbert-tiny", "--data", store, "--set", "training.num_train_epochs=1"], "num_epochs"),
        (["spanbert-tiny", "--data", store, "--config", "nowhere.yaml"], "nowhere.yaml"),
        (["spanbert-tiny", "--data", store, "--language", "ko"], "a store is read already"),
        (["spanbert-tiny", "--data", store, "--token-rows", "random"], "--add-tokens"),
    ]:
        assert main(["pretrain", *arguments, "--out", out]) == 2
        assert words in capsys.readouterr().err
        assert not os.path.exists(out)


def test_a_vocabulary_grows_by_the_tokens_of_a_file(world, run, tiny, tmp_path, capsys):
    """The store is made with the same file; the weights go on with rows for both new tokens."""
    tokens = tmp_path / "tokens.txt"
    tokens.write_text("Februaryan\nfourteen points\n")
    text, tokenizer = str(world.folder / "text.txt"), str(world.folder / "tokenizer")
    made = ["prepare", text, "--tokenizer", tokenizer, "--add-tokens", str(tokens), "--out", str(tmp_path / "store")]
    assert main(made) == 0
    grow = ["--init", str(run / "final"), "--add-tokens", str(tokens), "--longer-positions", "tile"]
    grow += [*tiny, "--set", "encoder.max_positions=80", *LENGTH]
    call = ["pretrain", "spanbert-tiny", "--data", str(tmp_path / "store"), "--out", str(tmp_path / "run"), *grow]
    assert main(call) == 0
    assert "Added 2 tokens" in capsys.readouterr().out
    before, after = (json.loads((folder / "final" / "config.json").read_text()) for folder in (run, tmp_path / "run"))
    assert after["vocab_size"] == before["vocab_size"] + 2 and after["max_position_embeddings"] == 80
    assert main(["pretrain", "spanbert-tiny", "--data", str(world.folder / "store"), *call[4:]]) == 2
    other = [
        "pretrain",
        "spanbert-tiny",
        "--data",
        str(world.folder / "store"),
        "--out",
        str(tmp_path / "other"),
        *grow,
    ]
    assert main(other) == 3
    assert "--add-tokens FILE" in capsys.readouterr().err


def test_a_store_that_does_not_exist_is_bad_data(tmp_path, tiny, capsys):
    arguments = [
        "pretrain",
        "spanbert-tiny",
        "--data",
        str(tmp_path / "no-store"),
        "--out",
        str(tmp_path / "run"),
        *tiny,
    ]
    assert main(arguments) == 3
    assert "no-store" in capsys.readouterr().err


def test_ctrl_c_saves_with_status_75_and_the_told_command_goes_on(world, tiny, tmp_path):
    out = tmp_path / "run"
    arguments = ["pretrain", "spanbert-tiny", "--data", str(world.folder / "store"), "--out", str(out), *tiny]
    arguments += [
        "--set",
        "training.max_tokens=null",
        "--set",
        "training.max_steps=100000",
        "--set",
        "training.log_every=1",
    ]
    child = subprocess.Popen(
        [sys.executable, "-m", "spanwise", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert any(line.startswith("step 1/") for line in child.stdout)
    child.send_signal(signal.SIGINT)
    _, told = child.communicate(timeout=60)
    assert child.returncode == 75
    assert "--resume" in told and "Traceback" not in told
    assert list((out / "checkpoints").glob("step-*"))


def test_what_is_told_to_do_next_fits_the_model():
    masked, causal = (next_steps("runs/my model/final", is_causal=is_causal) for is_causal in (False, True))
    assert masked[0].endswith("show masks --text '...' --span 1:3 --model 'runs/my model/final'")
    assert "finetune qa --model 'runs/my model/final'" in masked[1]
    selecting = next_steps("final", is_causal=False, fills_blanks=False)
    assert selecting[0] == "Next: spanwise show model final" and "finetune qa --model final" in selecting[1]
    command = shlex.split(causal[0].removeprefix("Next: "))
    assert command[:2] == ["python3", "-c"]
    compile(command[2], "told", "exec")
    assert "'text-generation', model='runs/my model/final'" in command[2] and "--recipe gpt-1" in causal[1]


def test_what_only_fine_tuning_settles_is_refused_before_a_file_is_read(tmp_path, capsys):
    command = ["pretrain", "spanbert-tiny", "--text", str(tmp_path / "none.txt"), "--out", str(tmp_path / "run")]
    assert main([*command, "--set", "training.learning_rate=auto"]) == 2
    assert "training.learning_rate is auto, which fine-tuning alone settles" in capsys.readouterr().err
    assert main([*command, "--set", "training.num_epochs=auto"]) == 2
    assert "training.num_epochs is auto, which fine-tuning alone settles" in capsys.readouterr().err


def test_a_model_whose_blanks_a_generator_fills_is_not_asked_to_fill_them(tmp_path, monkeypatch, capsys):
    def pretend(recipe, *, out, **options):
        measured = {"losses": {}, "evaluation": {}, "first_evaluation": {}}
        return TrainingResult(steps=1, tokens=1, seconds=1.0, final=out / "final", **measured)

    monkeypatch.setattr("spanwise.pretraining.run.pretrain", pretend)
    for recipe, told in (("electra-mini", "spanwise show model"), ("spanbert-tiny", "spanwise show masks")):
        assert main(["pretrain", recipe, "--text", "none.txt", "--out", str(tmp_path / recipe)]) == 0
        assert f"Next: {told}" in capsys.readouterr().out


def test_a_budget_and_another_length_are_not_both_taken(tmp_path, capsys):
    length = ["--budget", "20min", "--set", "training.max_steps=100"]
    assert main(["pretrain", "spanbert-tiny", "--text", "none.txt", "--out", str(tmp_path / "run"), *length]) == 2
    assert "budget 1200 s and training.max_steps=100 are two lengths" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()
