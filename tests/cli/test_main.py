"""How the command ends: one message and the right status, whatever a user or the machine did."""

import errno
import io
import os
import shlex
import signal
import subprocess
import sys
import time

import pytest

from spanwise.cli import main as cli
from spanwise.cli.main import main
from spanwise.errors import DataError, InterruptedAndSaved
from spanwise.tasks.registry import TASKS


def test_an_unknown_command_is_answered_with_the_nearest_one(capsys):
    assert main(["pretrian", "spanbert-base"]) == 2
    told = capsys.readouterr().err
    assert "pretrain" in told and "--help" in told and "Traceback" not in told


def test_an_unknown_option_is_answered_with_the_nearest_one(capsys):
    assert main(["doctor", "--jsno"]) == 2
    told = capsys.readouterr().err
    assert "--json" in told and "spanwise doctor --help" in told


def test_a_hugging_face_option_is_answered_with_ours(capsys):
    assert main(["pretrain", "spanbert-base", "--num_train_epochs", "3"]) == 2
    assert "--set training.num_epochs" in capsys.readouterr().err


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_installed_for_the_shell_in_the_home_of_the_user(shell, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("ZSH_CUSTOM", "ZSH", "XDG_DATA_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    assert main(["--install-completion", "--shell", shell]) == 0
    (script,) = (path for path in tmp_path.rglob("*spanwise*") if path.is_file())
    text = script.read_text()
    assert all(word in text for word in ("make-questions", "--log-to", "tensorboard"))
    assert str(script) in capsys.readouterr().out


def test_a_missing_argument_is_wrong_use(capsys):
    assert main(["prepare"]) == 2
    assert "spanwise prepare --help" in capsys.readouterr().err


@pytest.mark.parametrize("name", [*cli.COMMANDS, "show", *(f"show {name}" for name in cli.SHOW)])
def test_every_command_explains_itself_without_torch(name, capsys):
    assert main([*name.split(), "--help"]) == 0
    printed = capsys.readouterr().out
    assert f"spanwise {name}" in printed


@pytest.mark.parametrize("name", ["finetune", "evaluate", "predict", "score"])
def test_the_help_of_a_command_of_tasks_names_them_all(name, capsys):
    assert main([name, "--help"]) == 0
    printed = capsys.readouterr().out
    assert all(task in printed for task in TASKS)


@pytest.mark.parametrize(
    ("error", "status", "words"),
    [
        (DataError("corpus is empty"), 3, "corpus is empty"),
        (InterruptedAndSaved("saved at step 3; go on with --resume"), 75, "--resume"),
        (KeyboardInterrupt(), 130, "Interrupted"),
        (OSError(errno.ENOSPC, "No space left on device", "run/model.safetensors"), 1, "disk is full"),
        (PermissionError(errno.EACCES, "Permission denied", "/root/run"), 1, "/root/run"),
        (OSError(errno.EIO, "Input/output error", "run/a.bin"), 1, "input/output error: run/a.bin"),
        (FileNotFoundError(errno.ENOENT, "No such file", "wiki.txt"), 1, "wiki.txt"),
        (MemoryError(), 1, "memory ran out"),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to"), 1, "memory ran out"),
        (RuntimeError("DefaultCPUAllocator: not enough memory: you tried to"), 1, "task.max_length"),
        (RuntimeError("std::bad_alloc"), 1, "batch.packs"),
        (OSError(errno.ENOMEM, "Cannot allocate memory"), 1, "memory ran out"),
    ],
)
def test_each_failure_has_its_status_and_one_message(error, status, words, capsys, monkeypatch):
    monkeypatch.delenv(cli.DEBUG, raising=False)
    monkeypatch.setattr(cli, "_run", lambda arguments: (_ for _ in ()).throw(error))
    assert main([]) == status
    told = capsys.readouterr().err
    assert words in told
    assert "Traceback" not in told
    assert len(told.splitlines()) == 1


def test_a_mistake_of_our_own_keeps_its_traceback(monkeypatch):
    monkeypatch.setattr(cli, "_run", lambda arguments: [][1])
    with pytest.raises(IndexError):
        main([])


def test_the_traceback_of_a_user_error_is_one_setting_away(capsys, monkeypatch):
    monkeypatch.setenv(cli.DEBUG, "1")
    monkeypatch.setattr(cli, "_run", lambda arguments: (_ for _ in ()).throw(DataError("empty")))
    assert main([]) == 3
    assert "Traceback" in capsys.readouterr().err


def test_a_reader_that_goes_away_ends_the_command_quietly():
    writer = "from spanwise.cli.console import say\nfor _ in range(100_000): say('x' * 80)"
    script = "import sys; from spanwise.cli import main as cli;"
    script += f"cli._run = lambda a: exec({writer!r}); sys.exit(cli.main([]))"
    child = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    child.stdout.readline()
    child.stdout.close()
    assert child.stderr.read() == ""
    assert child.wait(20) == 141


def test_a_reader_that_goes_away_from_the_help_ends_it_quietly():
    child = subprocess.Popen(
        f"{shlex.quote(sys.executable)} -m spanwise pretrain --help | head -c1 > /dev/null; echo ${{PIPESTATUS[0]}}",
        shell=True,
        executable="/bin/bash",
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "COLUMNS": "40"},
    )
    assert child.communicate(timeout=60) == ("141\n", "")


@pytest.mark.parametrize(
    "closed", ["<&- >&- 2>&-", *(pytest.param(one, marks=pytest.mark.slow) for one in (">&-", "2>&-"))]
)
def test_closed_streams_are_no_mistake_of_ours(closed, tmp_path):
    command = f"{shlex.quote(sys.executable)} -m spanwise init spanbert-tiny --out r.yaml"
    done = subprocess.run(f"{command} {closed}; echo $? > status", shell=True, cwd=tmp_path, capture_output=True)
    assert (tmp_path / "status").read_text() == "0\n" and b"Traceback" not in done.stderr
    assert "Wrote" not in (tmp_path / "r.yaml").read_text()


@pytest.mark.parametrize("command", [*cli.COMMANDS, "show"])
def test_an_interrupt_names_resume_only_where_there_is_such_an_option(command, capsys, monkeypatch):
    assert main([command, "--help"]) == 0
    has_option = "--resume " in capsys.readouterr().out
    monkeypatch.setattr(cli, "_run", lambda arguments: (_ for _ in ()).throw(KeyboardInterrupt))
    assert main([command]) == 130
    assert ("--resume" in capsys.readouterr().err) == has_option


def test_ctrl_c_ends_the_command_without_a_traceback():
    # A shell starts what stands before "&" with this signal ignored, and children inherit that.
    script = "import signal, sys, time; signal.signal(signal.SIGINT, signal.default_int_handler);"
    script += "from spanwise.cli import main as cli;"
    # Short sleeps: a signal that comes just before a sleep begins is acted on only after it.
    script += "cli._run = lambda a: (print('ready', flush=True), [time.sleep(0.1) for _ in range(300)]);"
    script += "sys.exit(cli.main([]))"
    child = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "ready\n"
    time.sleep(0.1)
    child.send_signal(signal.SIGINT)
    _, told = child.communicate(timeout=20)
    assert child.returncode == 130
    assert told == f"spanwise: {cli.INTERRUPTED}\n"


def test_an_interrupt_inside_a_command_reaches_our_own_message(capsys, monkeypatch):
    """A second Ctrl-C while a run saves, or one before it has begun: the library for arguments must let it through."""
    monkeypatch.setattr("spanwise.runtime.machine.survey_machine", lambda out: (_ for _ in ()).throw(KeyboardInterrupt))
    assert main(["doctor"]) == 130
    assert capsys.readouterr().err == f"spanwise: {cli.INTERRUPTED}\n"


def test_what_a_terminal_has_no_sign_for_is_printed_all_the_same(monkeypatch):
    terminal = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", terminal)
    monkeypatch.setattr(cli, "_run", lambda arguments: print("\ud55c caf\udce9") or 0)
    assert main([]) == 0
    assert terminal.buffer.getvalue() == b"\\ud55c caf\\udce9\n"
