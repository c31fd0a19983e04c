"""One command as several processes: names, exit statuses, signals, and nobody left behind."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from spanwise.runtime.processes.launch import launch

TELL = "import os, sys; open(os.path.join(sys.argv[1], os.environ['RANK']), 'w').write(' '.join(os.environ[n] for n in "
TELL += "('WORLD_SIZE', 'LOCAL_RANK', 'OMP_NUM_THREADS', 'MASTER_ADDR')))"
WAIT = """
import os, signal, sys, time
from pathlib import Path
from spanwise.runtime.processes.launch import launch, leave_with_launcher

folder = Path(sys.argv[1])
if "RANK" not in os.environ:
    sys.exit(launch([sys.executable, __file__, str(folder)], 2, 1))
rank = os.environ["RANK"]

def leave(number, frame):
    (folder / f"left-{rank}").write_text(str(number))
    sys.exit(75)

signal.signal(signal.SIGTERM, leave)
signal.signal(signal.SIGINT, leave)
leave_with_launcher()
(folder / f"pid-{rank}").write_text(str(os.getpid()))
time.sleep(60)
"""


def test_each_process_is_told_who_it_is(tmp_path):
    assert launch([sys.executable, "-c", TELL, str(tmp_path)], 3, 2) == 0
    assert [(tmp_path / str(rank)).read_text() for rank in range(3)] == [f"3 {rank} 2 127.0.0.1" for rank in range(3)]


def test_the_status_is_the_leaders_or_of_the_one_that_failed_first(capfd):
    leader = "import os, sys; sys.exit(3 if os.environ['RANK'] == '0' else 0)"
    other = "import os, sys; sys.exit('broken here' if os.environ['RANK'] == '1' else 0)"
    killed = "import os; os.environ['RANK'] == '0' and os.kill(os.getpid(), 9)"

    assert launch([sys.executable, "-c", leader], 2, 1) == 3
    assert launch([sys.executable, "-c", other], 2, 1) == 1
    assert "process 1 of 2: broken here" in capfd.readouterr().err
    assert launch([sys.executable, "-c", killed], 2, 1) == 128 + 9
    assert "process 0 of 2 was killed by SIGKILL (signal 9)" in capfd.readouterr().err


def test_a_process_that_a_signal_ended_is_named_with_its_rank_and_the_signal(capfd):
    code = "import os, sys, time; os.environ['RANK'] == '2' and os.kill(os.getpid(), 11); time.sleep(1); sys.exit(6)"
    assert launch([sys.executable, "-c", code], 3, 1) == 128 + 11
    assert "process 2 of 3 was killed by SIGSEGV (signal 11).\n" in capfd.readouterr().err


def test_the_cause_is_told_even_where_its_loss_was_noticed_first(capfd):
    leader_first = "import os, sys, time; r = int(os.environ['RANK']); time.sleep(r / 2); r and sys.stderr.write('why')"
    assert launch([sys.executable, "-c", leader_first + "; sys.exit([6, 9][r])"], 2, 1) == 9
    assert "process 1 of 2: why" in capfd.readouterr().err


def test_a_signal_to_the_launcher_reaches_every_process_once(tmp_path):
    launcher = start(tmp_path)
    launcher.send_signal(signal.SIGINT)

    assert launcher.wait(30) == 75
    assert [(tmp_path / f"left-{rank}").read_text() for rank in (0, 1)] == [str(int(signal.SIGINT))] * 2


def test_processes_leave_when_their_launcher_is_killed(tmp_path):
    launcher = start(tmp_path)
    launcher.kill()
    launcher.wait()

    assert wait_for(lambda: all((tmp_path / f"left-{rank}").exists() for rank in (0, 1))) or sys.platform != "linux"


def start(folder: Path) -> subprocess.Popen:
    """A launcher with two processes that wait to be told to leave."""
    script = folder / "wait.py"
    script.write_text(WAIT)
    alone = {name: value for name, value in os.environ.items() if name not in ("RANK", "WORLD_SIZE")}
    launcher = subprocess.Popen([sys.executable, str(script), str(folder)], env=alone)
    assert wait_for(lambda: all((folder / f"pid-{rank}").exists() for rank in (0, 1)))
    return launcher


def wait_for(happened, seconds: float = 30.0) -> bool:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if happened():
            return True
        time.sleep(0.02)
    return False
