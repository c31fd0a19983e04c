"""Compiled loops work wherever they are installed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from spanwise.runtime import compiled

PROGRAM = """
import sys, tempfile
sys.path.insert(0, sys.argv[1])
tempfile.tempdir = sys.argv[2]
from spanwise.runtime.compiled import njit
import loops
print(loops.double(21), loops.sums(loops.NUMBERS).hex())
"""

LOOPS = """
import numpy as np
from spanwise.runtime.compiled import njit

NUMBERS = np.random.default_rng(1).random((64, 301)).astype(np.float32)

@njit
def double(x):
    return 2 * x

@njit(fastmath={"reassoc", "contract", "nsz"})
def total(row, out, shift):
    sum = np.float32(0.0)
    for n in range(len(out)):
        power = (row[n] * shift + shift) * row[n]
        out[n] = power
        sum += power
    return sum

@njit
def sums(rows):
    found, out = np.float32(1.0), np.empty(rows.shape[1], dtype=np.float32)
    for r in range(len(rows)):
        found = found * np.float32(0.5) + total(rows[r], out, found) / np.float32(301.0)
    return float(found)
"""


def test_a_folder_that_can_be_written_is_recognised_by_trying(tmp_path):
    (tmp_path / "file").write_text("")

    assert compiled.writable(tmp_path / "new" / "folder")
    assert not compiled.writable(tmp_path / "file" / "folder")


def test_the_private_cache_refuses_a_folder_that_others_may_write(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path))
    folder = compiled.private_cache_folder()
    assert folder is not None and folder.stat().st_mode & 0o077 == 0

    folder.chmod(0o777)

    assert compiled.private_cache_folder() is None


def test_the_private_cache_refuses_a_link(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path))
    folder = compiled.private_cache_folder()
    (tmp_path / "elsewhere").mkdir()
    folder.rmdir()
    folder.symlink_to(tmp_path / "elsewhere")

    assert compiled.private_cache_folder() is None


@pytest.mark.parametrize("temporary", ["usable", "missing"])
def test_where_no_folder_can_be_written_functions_compile_and_loaded_ones_give_the_same_bits(tmp_path, temporary):
    # /dev/null as a parent folder refuses every user, root included, who writes everywhere else
    package = tmp_path / "package"
    package.mkdir()
    (package / "loops.py").write_text(LOOPS)
    (package / "__pycache__").write_text("a file, so that no cache folder can be made here")
    temp = tmp_path / "temp"
    temp.mkdir()
    environment = {
        **os.environ,
        "HOME": "/dev/null/home",
        "XDG_CACHE_HOME": "/dev/null/cache",
        "NUMBA_CACHE_DIR": "",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONPATH": str(Path(compiled.__file__).parents[2]),
    }
    command = [sys.executable, "-c", PROGRAM, str(package), str(temp) if temporary == "usable" else "/dev/null/temp"]

    runs = [subprocess.run(command, env=environment, capture_output=True, text=True) for _ in range(2)]

    assert [run.stdout[:3] for run in runs] == ["42 ", "42 "], runs[0].stderr
    assert runs[0].stdout == runs[1].stdout  # the first compiled, the second loaded where there is a folder
    assert bool(list(temp.glob("spanwise-numba-*/**/*.nbi"))) == (temporary == "usable")
