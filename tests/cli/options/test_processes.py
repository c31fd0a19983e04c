"""`--processes N`."""

import json
import os
import subprocess
import sys

import pytest
import torch
from safetensors.torch import load_file

from spanwise.cli.main import main
from spanwise.cli.options.processes import is_leader, is_one_of_several
from spanwise.config import override
from spanwise.errors import ConfigError
from spanwise.pretraining.run import check_processes
from spanwise.recipes import find
from spanwise.runtime.processes.distributed import Group, World
from spanwise.runtime.progress import read_metrics

LENGTH = ["--set", "training.max_tokens=null", "--set", "training.max_steps=3", "--set", "training.log_every=1"]


def test_a_process_alone_leads_itself():
    assert is_leader() and not is_one_of_several()


@pytest.mark.parametrize("command", [["pretrain", "x", "--data", "x"], ["study", "x", "--data", "x"]])
def test_no_processes_or_more_than_a_machine_has_are_refused(command, capsys):
    for number in (0, -1, 257):
        assert main([*command, "--out", "y", "--processes", str(number)]) == 2
        told = " ".join(capsys.readouterr().err.split())
        assert "--processes" in told and "from 1 to 256" in told


@pytest.mark.slow
def test_two_processes_make_the_tokenizer_the_store_and_the_model_of_one(world, tiny, tmp_path):
    text = ["--text", str(world.folder / "text.txt"), "--valid", str(world.folder / "text.txt")]
    halves = ["--set", "batch.tokens_per_step=512"]  # two packs of 256
    command = ["pretrain", "spanbert-tiny", *text, *tiny, *LENGTH, *halves]
    two = [sys.executable, "-m", "spanwise", *command, "--out", str(tmp_path / "two"), "--processes", "2", "--json"]
    alone = {name: value for name, value in os.environ.items() if name not in ("RANK", "WORLD_SIZE")}
    done = subprocess.run(two, capture_output=True, text=True, env=alone)
    assert done.returncode == 0, done.stderr
    assert main([*command, "--out", str(tmp_path / "one")]) == 0

    assert json.loads(done.stdout)["steps"] == 3  # one object: only the leader speaks
    one, other = (load_file(tmp_path / name / "final" / "model.safetensors") for name in ("one", "two"))
    for name in one:
        torch.testing.assert_close(one[name], other[name], rtol=1e-5, atol=1e-6)
    lines = [line for line in read_metrics(tmp_path / "two" / "metrics.jsonl") if "time" in line]
    assert [line["step"] for line in lines] == [1, 2, 3]
    assert lines[0]["time"]["communication"] > 0


def test_a_step_with_fewer_packs_than_processes_is_refused_with_what_works():
    pair = Group(World(size=2))
    mini = find("spanbert-mini")

    with pytest.raises(ConfigError, match=r"use --set batch\.packs=2\."):
        check_processes(mini, pair)
    with pytest.raises(ConfigError, match=r"batch.tokens_per_step=1024 or fewer processes"):
        check_processes(override(mini, ["batch.tokens_per_step=512", "batch.max_tokens=512"]), pair)
    check_processes(override(mini, ["batch.packs=2"]), pair)


def test_more_processes_than_gpus_are_refused_before_anything_is_prepared(monkeypatch):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda index: object())
    monkeypatch.setattr(Group, "gather", lambda self, value: [value, value])
    with pytest.raises(ConfigError, match="2 processes would share one GPU"):
        check_processes(find("spanbert-mini"), Group(World(size=2)), "cuda")
