"""--upload: a run whose machine is lost goes on from the address, bit for bit; a result that is not there is said."""

import shutil
import signal
import subprocess
import sys
import uuid

import fsspec
import pytest

import spanwise
from spanwise.cli.main import main
from spanwise.interop.huggingface import read_folder
from spanwise.recipes import find
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


KILLED_AT_STEP_6 = """
import os, signal, sys, time
from pathlib import Path
from spanwise.cli.main import main
from spanwise.runtime.remote import upload
from spanwise.training.checkpoint import Saver

upload.SECONDS, save, address = 0.01, Saver.save, Path(sys.argv[1].removeprefix("file://"))

def saves_or_dies(self, step, state):
    if step == 6:
        while not (address / "checkpoints" / "step-000000004" / "manifest.json").exists():
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGKILL)
    save(self, step, state)

Saver.save = saves_or_dies
main(sys.argv[2:])
"""


@pytest.mark.slow
def test_a_killed_run_whose_folder_is_lost_goes_on_from_the_address_with_more_processes(world, tiny, tmp_path, capsys):
    address = f"file://{tmp_path / 'bucket' / 'run'}"
    steps = ["--set", "training.max_tokens=null", "--set", "training.max_steps=8", "--save-every", "2"]
    packs = ["--set", "batch.max_tokens=128", "--set", "training.exact_sums=true", "--set", "training.threads=1"]
    asked = ["pretrain", "spanbert-tiny", "--data", str(world.store), *tiny, *steps, *packs]
    assert main([*asked, "--out", str(tmp_path / "whole")]) == 0
    lost = [*asked, "--out", str(tmp_path / "lost"), "--upload", address]
    killed = subprocess.run([sys.executable, "-c", KILLED_AT_STEP_6, address, *lost], capture_output=True)
    assert killed.returncode == -signal.SIGKILL
    shutil.rmtree(tmp_path / "lost")
    assert main(lost) == 2 and "go on with it by --resume" in capsys.readouterr().err

    two = [sys.executable, "-m", "spanwise", *lost, "--resume", "--processes", "2"]
    resumed = subprocess.run(two, capture_output=True, text=True)
    assert resumed.returncode == 0 and "Fetched step-000000004" in resumed.stdout, resumed.stderr
    assert same_weights(tmp_path / "lost" / "final", tmp_path / "whole" / "final")
    assert same_weights(tmp_path / "bucket" / "run" / "final", tmp_path / "whole" / "final")
    at_address = sorted(path.name for path in (tmp_path / "bucket" / "run" / "checkpoints").iterdir())
    assert len(at_address) == 2 and at_address[1] == "step-000000008"  # as many as are kept in the folder


def test_python_has_the_option_and_a_run_that_ended_comes_back(world, tmp_path, address):
    shape = ["encoder.hidden_size=16", "encoder.intermediate_size=32", "encoder.max_positions=64"]
    rest = ["format.max_length=64", "batch.max_tokens=256", "batch.tokens_per_step=256", "training.max_steps=2"]
    asked = {"data": world.store, "overrides": [*shape, *rest], "upload": address}
    spanwise.pretrain(find("spanbert-tiny"), out=tmp_path / "first", **asked)
    back = spanwise.pretrain(find("spanbert-tiny"), out=tmp_path / "second", resume=True, **asked)
    assert back.resumed_from == 2 and same_weights(back.final, tmp_path / "first" / "final")


def test_a_run_that_is_refused_sends_nothing_of_the_run_that_is_in_its_folder(world, tiny, run, address, capsys):
    asked = ["pretrain", "spanbert-tiny", "--data", str(world.store), *tiny, "--out", str(run), "--upload", address]
    assert main(asked) == 2 and "finished run" in capsys.readouterr().err
    assert not fsspec.filesystem("memory").find(address)


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
    said = capsys.readouterr().err
    assert "but not at memory://" in said and all(
        f"{name} (the line is dead)" in said for name in ("final", "checkpoints/step-000000002")
    )
    assert (tmp_path / "run" / "final" / "manifest.json").exists()
