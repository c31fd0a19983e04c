"""--upload: a run whose machine is lost goes on from the address, bit for bit; a result that is not there is said."""

import shutil
import uuid

import fsspec
import pytest

from spanwise.cli.main import main
from spanwise.interop.huggingface import read_folder
from spanwise.runtime.remote import upload
from spanwise.training.checkpoint import Saver


class MachineLostError(BaseException):
    """Nothing that the code knows."""


@pytest.fixture
def address(monkeypatch):
    monkeypatch.setattr(upload, "SECONDS", 0.01)
    return f"memory://bucket-{uuid.uuid4().hex[:8]}/run"


def lose_the_machine_at(step, monkeypatch):
    save = Saver.save

    def saves_or_dies(self, number, state):
        if number == step:
            raise MachineLostError
        save(self, number, state)

    monkeypatch.setattr(Saver, "save", saves_or_dies)
    return lambda: monkeypatch.setattr(Saver, "save", save)


def same_weights(first, second):
    one, other = read_folder(first).tensors, read_folder(second).tensors
    return one.keys() == other.keys() and all(bool((one[name] == other[name]).all()) for name in one)


def test_pretraining_goes_on_from_the_address(world, tiny, tmp_path, address, monkeypatch, capsys):
    length = ["--set", "training.max_tokens=null", "--set", "training.max_steps=8", "--save-every", "2"]
    asked = ["pretrain", "spanbert-tiny", "--data", str(world.store), *tiny, *length]
    assert main([*asked, "--out", str(tmp_path / "whole")]) == 0
    lost = [*asked, "--out", str(tmp_path / "lost"), "--upload", address]
    comes_back = lose_the_machine_at(6, monkeypatch)
    with pytest.raises(MachineLostError):
        main(lost)
    comes_back()
    shutil.rmtree(tmp_path / "lost")
    assert main(lost) == 2 and "go on with it by --resume" in capsys.readouterr().err
    assert main([*lost, "--resume"]) == 0
    assert "Fetched step-000000004" in capsys.readouterr().out
    assert same_weights(tmp_path / "lost" / "final", tmp_path / "whole" / "final")
    fsspec.filesystem("memory").get(f"{address}/final/", str(tmp_path / "fetched"), recursive=True)
    assert same_weights(tmp_path / "fetched", tmp_path / "whole" / "final")


def test_fine_tuning_that_keeps_its_best_goes_on_from_the_address(world, run, tmp_path, address, monkeypatch):
    length = ["--set", "training.num_epochs=null", "--set", "training.max_steps=6", "--set", "batch_size=8"]
    best = [
        "--set",
        "select=best",
        "--set",
        "training.eval_every=2",
        "--save-every",
        "2",
        "--model",
        str(run / "final"),
    ]
    data = ["--train", str(world.folder / "train.json"), "--dev", str(world.folder / "dev.json")]
    asked = ["finetune", "qa", *best, *data, *length]
    assert main([*asked, "--out", str(tmp_path / "whole")]) == 0
    lost = [*asked, "--out", str(tmp_path / "lost"), "--upload", address]
    comes_back = lose_the_machine_at(4, monkeypatch)
    with pytest.raises(MachineLostError):
        main(lost)
    comes_back()
    shutil.rmtree(tmp_path / "lost")
    assert main([*lost, "--resume"]) == 0
    assert same_weights(tmp_path / "lost" / "final", tmp_path / "whole" / "final")
    assert main([*asked, "--out", str(tmp_path / "seeds"), "--seeds", "2", "--upload", address]) == 2


def test_a_model_that_is_not_at_the_address_is_said_with_status_1(world, tiny, tmp_path, address, monkeypatch, capsys):
    def dies(target, content):
        raise ConnectionError("the line is dead")

    monkeypatch.setattr(upload, "_send_file", dies)
    length = ["--set", "training.max_tokens=null", "--set", "training.max_steps=2"]
    asked = ["pretrain", "spanbert-tiny", "--data", str(world.store), *tiny, *length, "--upload", address]
    assert main([*asked, "--out", str(tmp_path / "run")]) == 1
    assert "but not at memory://" in capsys.readouterr().err
    assert (tmp_path / "run" / "final" / "manifest.json").exists()
