"""run.py: the first thing a newcomer calls. Standard library only; arguments and statuses pass through."""

import ast
import importlib.util
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture
def run(tmp_path):
    """run.py as a module whose root is an empty folder with the three files that decide the set-up."""
    specification = importlib.util.spec_from_file_location("run_py", ROOT / "run.py")
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    for name in ("pyproject.toml", "constraints.txt", "run.py"):
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    module.ROOT, module.VENV = tmp_path, tmp_path / ".venv"
    module.PYTHON = Path(sys.executable)
    module.STATE = module.VENV / "spanwise-state.json"
    return module


def test_it_needs_the_standard_library_alone_and_is_short():
    source = (ROOT / "run.py").read_text()
    imported = {
        name.split(".")[0]
        for node in ast.walk(ast.parse(source))
        for name in ([a.name for a in node.names] if isinstance(node, ast.Import) else [getattr(node, "module", "")])
        if isinstance(node, ast.Import | ast.ImportFrom)
    }
    assert imported <= set(sys.stdlib_module_names)
    assert len(source.splitlines()) <= 150


def test_an_unknown_command_is_wrong_use_and_help_is_not():
    for arguments, status in ([], 2), (["quikstart"], 2), (["--help"], 0):
        done = subprocess.run([sys.executable, ROOT / "run.py", *arguments], capture_output=True, text=True)
        assert done.returncode == status
        assert "quickstart" in done.stdout + done.stderr


def test_a_second_call_installs_nothing(run, monkeypatch):
    run.VENV.mkdir()
    run.STATE.write_text(json.dumps({"fingerprint": run.fingerprint(), "extras": ["test"]}))
    monkeypatch.setattr(run, "call", lambda *arguments, **options: pytest.fail("pip was called"))
    assert run.install(set()) == run.install({"test"}) == 0.0


@pytest.mark.parametrize("change", ["pyproject.toml", "constraints.txt", "more extras"])
def test_what_changes_the_set_up_runs_it_again_torch_first(change, run, monkeypatch):
    run.VENV.mkdir()
    run.STATE.write_text(json.dumps({"fingerprint": run.fingerprint(), "extras": ["test"]}))
    if change != "more extras":
        (run.ROOT / change).write_text((run.ROOT / change).read_text() + "\n# changed\n")
    called = []
    monkeypatch.setattr(run, "make_venv", lambda: None)
    monkeypatch.setattr(run, "call", lambda command, **options: called.append([str(c) for c in command]) or 0)
    assert run.install({"slow", "test"} if change == "more extras" else set()) > 0
    assert called[0][-1] == "torch"
    wanted = "[slow,test]" if change == "more extras" else "[test]"  # what was there before stays
    assert called[1][-1].endswith(wanted)
    installs, compiles = called[:-1], called[-1]
    assert all(str(run.ROOT / "constraints.txt") in command for command in installs)
    assert ("--no-deps" in installs[-1]) == (change == "more extras")
    assert compiles[1:] == ["-m", "spanwise.pretraining.warm"]
    assert run.install(set()) == 0.0


def test_the_site_is_built_by_a_program_of_its_own_with_the_packages_that_it_needs(run, monkeypatch):
    called = []
    monkeypatch.setattr(run, "install", lambda extras: called.append(extras) or 0.0)
    monkeypatch.setattr(run, "call", lambda command, **options: called.append(command) or 3)
    assert run.main(["docs", "my-site"]) == 3
    assert called == [{"docs"}, [run.PYTHON, run.ROOT / "docs" / "build.py", "my-site"]]


def test_a_failed_install_is_told_and_not_remembered(run, monkeypatch, capsys):
    run.VENV.mkdir()
    monkeypatch.setattr(run, "make_venv", lambda: None)
    monkeypatch.setattr(run, "call", lambda command, **options: 23)
    with pytest.raises(SystemExit) as stopped:
        run.install(set())
    assert stopped.value.code == 23
    assert "torch" in capsys.readouterr().err
    assert not run.STATE.exists()


def test_too_little_disk_and_an_old_python_are_told_with_a_cure(run, monkeypatch, capsys):
    monkeypatch.setattr(run.shutil, "disk_usage", lambda path: type("Usage", (), {"free": 1e9}))
    with pytest.raises(SystemExit):
        run.check_machine()
    assert "free some space" in capsys.readouterr().err
    monkeypatch.setattr(run.sys, "version_info", (3, 10, 4))
    with pytest.raises(SystemExit):
        run.check_machine()
    assert "3.11 or newer" in capsys.readouterr().err


def test_a_virtual_environment_with_pip_is_made_even_without_ensurepip(run, tmp_path, monkeypatch):
    run.PYTHON = run.VENV / "bin" / "python"
    runs = run.runs
    monkeypatch.setattr(run, "runs", lambda *command: "ensurepip" not in str(command) and runs(*command))
    wheel = pip_wheel()
    if wheel is not None:  # the wheel beside run.py, as the message says; else the outer pip
        (run.ROOT / wheel.name).write_bytes(wheel.read_bytes())
    run.make_venv()
    assert runs(run.PYTHON, "-c", "import pip")


def pip_wheel() -> Path | None:
    import ensurepip

    return next(iter((Path(ensurepip.__file__).parent / "_bundled").glob("pip-*.whl")), None)


def test_statuses_pass_through_and_signals_read_as_a_shell_says_them(run):
    assert run.call([sys.executable, "-c", "import sys; sys.exit(75)"]) == 75
    killed = run.call([sys.executable, "-c", "import os; os.kill(os.getpid(), 9)"])
    assert killed == 128 + signal.SIGKILL


def test_a_record_of_the_set_up_that_was_cut_is_made_again(run, monkeypatch):
    run.VENV.mkdir()
    run.STATE.write_text('{"fingerprint": "')
    monkeypatch.setattr(run, "call", lambda command, **options: 0)

    assert run.install({"test"}) > 0
    assert json.loads(run.STATE.read_text())["extras"] == ["test"]


def test_the_promises_are_asked_for_by_an_option_and_its_words_are_handed_on(run, monkeypatch):
    called = []
    monkeypatch.setattr(run, "install", lambda extras: 0.0)
    monkeypatch.setattr(run, "call", lambda command, **options: called.append(command[2:]) or 0)

    assert run.main(["test", "--reliability", "--seed", "3"]) == 0
    assert called == [["tests.reliability", "--seed", "3"]]
    assert run.main(["test", "-k", "x"]) == 0
    assert called[1:] == [["ruff", "check"], ["pytest", "-n", "3", "--dist", "loadgroup", "-k", "x"]]


def test_ctrl_c_leaves_the_last_word_to_the_child(tmp_path):
    program = "import sys, time\ntry:\n print('on', flush=True); time.sleep(30)\nexcept KeyboardInterrupt: sys.exit(75)"
    script = f"import sys; sys.path.insert(0, {str(ROOT)!r}); import run;"
    script += f"sys.exit(run.call([sys.executable, '-c', {program!r}]))"
    child = subprocess.Popen(
        [sys.executable, "-c", script],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        text=True,
    )
    assert child.stdout.readline() == "on\n"
    os.killpg(child.pid, signal.SIGINT)  # as a terminal does: to the whole group
    assert child.wait(20) == 75
    assert child.stderr.read() == ""


def test_continuous_integration_calls_the_same_command():
    script = (ROOT / ".ci" / "run").read_text()
    assert "python3 run.py test" in script
    assert (ROOT / ".ci" / "run").stat().st_mode & 0o111
