"""Commands that are shown can be pasted, whether the shell finds the program or not."""

from __future__ import annotations

import subprocess

from spanwise.runtime.program import program


def test_the_program_is_named_as_the_shell_finds_it(monkeypatch):
    monkeypatch.setattr("shutil.which", lambda name: f"/bin/{name}")

    assert program() == "spanwise"


def test_outside_the_path_it_is_named_so_that_it_runs(monkeypatch):
    monkeypatch.setattr("shutil.which", lambda name: None)

    done = subprocess.run(f"{program()} --version", shell=True, capture_output=True, text=True)

    assert done.returncode == 0, done.stderr
