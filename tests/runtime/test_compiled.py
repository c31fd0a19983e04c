"""Compiled loops work wherever they are installed."""

from __future__ import annotations

import os
import shutil
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


@pytest.fixture
def installs(tmp_path, monkeypatch):
    """A function that names one of two places as the package's, with the same sources; the user's cache is empty."""
    for name in ("one", "two"):
        (tmp_path / name / "nn").mkdir(parents=True)
        (tmp_path / name / "nn" / "loops.py").write_text(LOOPS)
    monkeypatch.setattr(compiled, "user_cache_folder", lambda: tmp_path / "cache")
    monkeypatch.setitem(vars(compiled.numba_config), "CACHE_DIR", "")

    def use(name):
        monkeypatch.setattr(compiled, "PACKAGE", tmp_path / name)
        compiled.sources_hash.cache_clear()
        compiled.package_cache_folder.cache_clear()
        return compiled.PackageLocator.from_function(use, str(tmp_path / name / "nn" / "loops.py"))

    yield use
    monkeypatch.undo()
    compiled.sources_hash.cache_clear()
    compiled.package_cache_folder.cache_clear()


def test_two_installs_of_the_same_sources_keep_their_machine_code_in_one_place(installs, tmp_path):
    one, two = installs("one"), installs("two")
    assert one.get_cache_path() == two.get_cache_path() and one.get_source_stamp() == two.get_source_stamp()
    assert Path(one.get_cache_path()).is_dir() and Path(one.get_cache_path()).name == "nn.loops"
    (tmp_path / "two" / "other.py").write_text(LOOPS)  # another function that may be called by the first
    assert installs("two").get_cache_path() != one.get_cache_path()


def test_functions_of_others_and_a_place_that_the_user_names_stay_numbas_matter(installs, tmp_path, monkeypatch):
    assert installs("one") is not None
    assert compiled.PackageLocator.from_function(installs, str(tmp_path / "mine.py")) is None
    monkeypatch.setitem(vars(compiled.numba_config), "CACHE_DIR", str(tmp_path))
    assert installs("one") is None


def test_a_cache_that_others_may_write_is_not_read_and_old_states_go(installs, tmp_path):
    folder = Path(installs("one").get_cache_path()).parents[1]
    for number in range(12):
        (folder / f"old-{number}").mkdir()
        os.utime(folder / f"old-{number}", (number, number))
    kept = Path(installs("one").get_cache_path())
    assert kept.is_dir() and len(list(folder.iterdir())) == 8 and not (folder / "old-4").exists()
    folder.chmod(0o777)
    assert installs("one") is None


def test_a_second_install_compiles_nothing(tmp_path):
    package = Path(compiled.__file__).parents[1]
    found = []
    for name in ("one", "two"):
        left_out = shutil.ignore_patterns("__pycache__", "weights", "corpus", "words", "templates", "page")
        shutil.copytree(package, tmp_path / name / "spanwise", ignore=left_out)
        program = "from spanwise.runtime.seed import _uniforms as made, uniforms\nuniforms(1, 2)\n"
        program += "print(sum(made.stats.cache_hits.values()))"
        environment = {**os.environ, "PYTHONPATH": str(tmp_path / name), "XDG_CACHE_HOME": str(tmp_path / "cache")}
        environment |= {"NUMBA_CACHE_DIR": ""}
        done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
        found.append(done.stdout.strip() or done.stderr)
    assert found == ["0", "1"]
