"""Two hosts in network namespaces train one model; one loses its power and comes back, and no bit is another."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "examples" / "cluster" / "two_hosts.sh"


@pytest.mark.slow
def test_a_host_that_is_killed_and_comes_back_changes_no_bit(tmp_path):
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    command = ["bash", str(SCRIPT), str(tmp_path / "out")]
    done = subprocess.run(command, env=os.environ | {"PATH": path}, capture_output=True, text=True, timeout=1200)
    assert done.returncode == 0, done.stderr[-2000:]
    *_, back, said = done.stdout.splitlines()
    assert said == "same bits"

    # Three groups shared the run: both hosts, the first alone from the last checkpoint, and both again.
    # That checkpoint may be later than the step told before the kill: both train on until the cable is down.
    back = int(re.search(r"after step (\d+)", back)[1])
    log = (tmp_path / "out" / "one.log").read_text()
    assert "process 1 of 2 on" in log  # lost while it was there
    alone, again = (int(step) for step in re.findall(r"^Going on from step (\d+)", log, re.M))
    assert 20 <= alone <= back <= again and back >= 40
