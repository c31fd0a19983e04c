"""A process that hangs is named, with its host, and ends the run; processes that work are left alone."""

import re
import sys

import pytest

import spanwise.runtime.processes.launch
from spanwise.errors import PeerLostError
from spanwise.runtime.processes.launch import launch

WAITS = """
import os, signal, sys, time
from spanwise.runtime.processes import heartbeat
from spanwise.runtime.processes.distributed import join_processes

heartbeat.PATIENCE_SECONDS = 3.0
with join_processes() as group:
    time.sleep(4.0)  # longer than the patience
    everyone = group.gather(group.world.rank)
    if group.world.rank == int(sys.argv[1]):
        os.kill(os.getpid(), signal.SIGSTOP)
    group.gather(group.world.rank)
"""


@pytest.mark.parametrize("stopped", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_a_stopped_process_is_named_by_the_others_which_leave(stopped, capfd, monkeypatch):
    monkeypatch.setattr(
        spanwise.runtime.processes.launch, "GRACE_SECONDS", 0.5
    )  # before the launcher ends the stopped one

    assert launch([sys.executable, "-c", WAITS, str(stopped)], 2, 1) == PeerLostError.exit_status
    assert re.search(rf"process {stopped} of 2 on \S+: no sign of life for 3 s", capfd.readouterr().err)
