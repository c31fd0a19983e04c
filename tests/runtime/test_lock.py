"""One owner a folder; the lock dies with its owner, however it dies."""

import json
import os
import signal
import subprocess
import sys
import textwrap

import pytest

from spanwise.errors import FolderInUseError
from spanwise.runtime.lock import LOCK_NAME, folder_lock, held_here, try_lock

HOLD = """
import sys, time
from spanwise.runtime.lock import folder_lock
with folder_lock(sys.argv[1]):
    print("held", flush=True)
    time.sleep(60)
"""

RACE = """
import os, sys, time
from spanwise.errors import FolderInUseError
from spanwise.runtime.lock import folder_lock
read, write = os.pipe()
children = []
for _ in range(50):
    child = os.fork()
    if child == 0:
        os.close(write)
        os.read(read, 1)  # all start when the parent lets go
        try:
            with folder_lock(sys.argv[1]):
                time.sleep(1.0)
                os._exit(10)
        except FolderInUseError:
            os._exit(7)
    children.append(child)
os.close(write)
codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
print(codes.count(10), codes.count(7))
"""


def hold_elsewhere(folder) -> subprocess.Popen:
    owner = subprocess.Popen([sys.executable, "-c", HOLD, str(folder)], stdout=subprocess.PIPE, text=True)
    assert owner.stdout.readline() == "held\n"
    return owner


def test_a_second_run_is_refused_with_the_owner_and_may_start_once_it_was_killed(tmp_path):
    owner = hold_elsewhere(tmp_path)
    try:
        with pytest.raises(FolderInUseError, match=f"process {owner.pid}, started") as error, folder_lock(tmp_path):
            pass
        assert error.value.exit_status == 7
    finally:
        owner.send_signal(signal.SIGKILL)
        owner.wait()
        owner.stdout.close()

    with folder_lock(tmp_path) as enforced:
        assert enforced
        assert json.loads((tmp_path / LOCK_NAME).read_text())["pid"] == os.getpid()


def test_of_fifty_simultaneous_starts_exactly_one_owns_the_folder(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(RACE), str(tmp_path)], capture_output=True, text=True, timeout=60
    )

    assert done.stdout.split() == ["1", "49"], done.stderr


def test_a_lock_file_left_behind_proves_nothing(tmp_path):
    (tmp_path / LOCK_NAME).write_text('{"host": "elsewhere", "pid": 1, "started": "long ago"}')

    with folder_lock(tmp_path):
        assert held_here(tmp_path)
    assert not held_here(tmp_path)


def test_blocks_of_one_process_may_nest(tmp_path):
    with folder_lock(tmp_path):
        with folder_lock(tmp_path):
            assert held_here(tmp_path)
        assert held_here(tmp_path)
        assert try_lock(tmp_path / LOCK_NAME) is None
    with folder_lock(tmp_path):
        pass
