"""The recipes for several machines are sound shell, and start the command that they are given, on every host."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from torch.distributed.run import get_args_parser

CLUSTER = Path(__file__).parents[2] / "examples" / "cluster"
SCRIPTS = sorted([*CLUSTER.glob("*.sh"), *CLUSTER.glob("*.sbatch")])
PRETRAIN = ["spanbert-mini", "--data", "my store", "--out", "run", "--set", "training.exact_sums=true"]
SLURM = {"SLURM_JOB_NODELIST": "n[1-2]", "SLURM_JOB_NUM_NODES": "2", "SLURM_JOB_ID": "7"}
SKY = {"SKYPILOT_NODE_IPS": "10.0.0.1\n10.0.0.2", "SKYPILOT_NUM_NODES": "2", "SKYPILOT_NODE_RANK": "1"}
SKY |= {"SKYPILOT_NUM_GPUS_PER_NODE": "8", "RECIPE": "spanbert-mini", "DATA": "my store", "OUT": "run"}


@pytest.fixture
def cluster(tmp_path):
    """Stand-ins for the programs of a cluster: each torchrun notes its arguments, as JSON lines in `started`."""
    programs = {
        "torchrun": f'import json, sys\nopen("{tmp_path}/started", "a").write(json.dumps(sys.argv[1:]) + "\\n")',
        "ssh": 'import os, sys\nos.execvp("bash", ["bash", "-c", sys.argv[3]])',
        "srun": "import os, sys\nos.execvp(sys.argv[1], sys.argv[1:])",
        "scontrol": 'print("n1\\nn2")',
    }
    (tmp_path / "bin").mkdir()
    for name, code in programs.items():
        file = tmp_path / "bin" / name
        file.write_text(f"#!{shutil.which('python3')} -S\n{code}\n")
        file.chmod(0o755)
    return tmp_path


def started(cluster: Path, command: list[str], **variables: str) -> list[list[str]]:
    """The arguments of every torchrun that `command` starts."""
    path = f"{cluster / 'bin'}{os.pathsep}{os.environ['PATH']}"
    subprocess.run(command, check=True, cwd=cluster, env=os.environ | variables | {"PATH": path}, timeout=60)
    return [json.loads(line) for line in (cluster / "started").read_text().splitlines()]


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
def test_every_script_is_sound_shell(script):
    assert len(SCRIPTS) == 3
    subprocess.run(["bash", "-n", script], check=True)
    assert "set -euo pipefail" in script.read_text()


def test_ssh_starts_one_agent_a_host_where_the_caller_stands_and_a_second_call_is_a_resume(cluster):
    agents = started(cluster, ["bash", str(CLUSTER / "ssh.sh"), "one", "two", "--", *PRETRAIN], PROCESSES="4")

    assert len(agents) == 2 and agents[0] == agents[1]
    options = get_args_parser().parse_args(agents[0])
    assert (options.nnodes, options.nproc_per_node, options.rdzv_endpoint) == ("1:2", "4", "one:29400")
    assert [options.training_script, *options.training_script_args] == ["spanwise", "pretrain", *PRETRAIN, "--resume"]


def test_ssh_without_a_recipe_says_how_it_is_called(cluster):
    done = subprocess.run(["bash", str(CLUSTER / "ssh.sh"), "one"], capture_output=True, text=True)

    assert done.returncode == 2 and "usage: ssh.sh HOST..." in done.stderr


def test_slurm_starts_the_agents_with_the_first_node_as_their_meeting_place(cluster):
    agents = started(cluster, ["bash", str(CLUSTER / "slurm.sbatch"), *PRETRAIN], **SLURM)

    options = get_args_parser().parse_args(agents[0])
    assert (options.nnodes, options.nproc_per_node, options.rdzv_endpoint) == ("2", "gpu", "n1:29400")
    assert [options.training_script, *options.training_script_args] == ["spanwise", "pretrain", *PRETRAIN, "--resume"]
    lines = (CLUSTER / "slurm.sbatch").read_text().splitlines()
    first_command = next(place for place, line in enumerate(lines) if not line.startswith("#"))
    assert all(place < first_command for place, line in enumerate(lines) if line.startswith("#SBATCH"))


def test_skypilot_starts_its_share_of_the_group_on_each_node(cluster):
    task = yaml.safe_load((CLUSTER / "sky.yaml").read_text())
    (agent,) = started(cluster, ["bash", "-euc", task["run"]], **SKY)

    options = get_args_parser().parse_args(agent)
    assert (options.nnodes, options.nproc_per_node, options.node_rank, options.master_addr) == ("2", "8", 1, "10.0.0.1")
    whole = ["spanwise", "pretrain", "spanbert-mini", "--data", "my store", "--out", "run", "--resume"]
    assert [options.training_script, *options.training_script_args] == whole
    assert set(re.findall(r"\$(?!SKYPILOT)([A-Z]+)", task["run"])) == set(task["envs"])


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0 or not shutil.which("ip"), reason="namespaces need root")
def test_of_two_hosts_one_is_killed_and_comes_back_and_the_bits_are_those_of_one_process(tmp_path):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python3").write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    (tmp_path / "bin" / "python3").chmod(0o755)
    path = f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}"
    command = ["bash", str(CLUSTER / "two_hosts.sh"), str(tmp_path / "out")]
    done = subprocess.run(command, env=os.environ | {"PATH": path}, capture_output=True, text=True, timeout=1800)

    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    assert "host two is killed" in done.stdout and "host two comes back" in done.stdout and "same bits" in done.stdout
    starts = (tmp_path / "out" / "one.log").read_text().count("Going on from step")
    assert starts >= 2  # once without the host that was killed, and once with it again
