"""The newcomer's way: what counts as a right answer and as a download, and the whole of it in an empty environment."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from scripts.first_answer import ANSWER, FILE, downloaded_bytes, is_right, on_disk_bytes

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "scripts" / "first_answer.py"
PHASES = ["environment", "torch", "spanwise and the rest", "first answer", "total"]


def test_what_pip_says_of_downloads_is_added_up():
    said = """Collecting PyYAML
  Downloading pyyaml-6.0.4-cp311-cp311-manylinux2014_x86_64.whl (828 kB)
Collecting torch
  Downloading torch-2.13.0.whl.metadata (29.4 kB)
Downloading torch-2.13.0-cp311-cp311-manylinux_2_28_x86_64.whl (192.3 MB)
Downloading sympy-1.0-py3-none-any.whl (12 bytes)
  Using cached rich-13.9.4-py3-none-any.whl (242 kB)
Processing /wheels/PyStemmer-3.1.0.whl
"""
    assert downloaded_bytes(said) == 828_000 + 29_400 + 192_300_000 + 12


def test_files_that_pip_took_from_the_disk_are_added_up(tmp_path):
    (tmp_path / "a b.whl").write_bytes(b"12345")
    urls = [(tmp_path / "a b.whl").as_uri(), "https://example.org/c.whl"]
    assert on_disk_bytes({"install": [{"download_info": {"url": url}} for url in urls]}) == 5


@pytest.mark.parametrize(
    ("found", "answer", "file", "right"),
    [
        (True, f"the architect {ANSWER}", FILE, True),
        (True, ANSWER, "bridge.txt", False),
        (True, "Peter Holm", FILE, False),
        (False, ANSWER, FILE, False),
    ],
)
def test_the_answer_must_be_found_be_right_and_come_from_its_file(found, answer, file, right):
    assert is_right({"found": found, "answers": [{"answer": answer, "file": file}]}) is right


@pytest.mark.parametrize(
    ("options", "told"),
    [(["--limit", "0"], "above 0"), (["--limit", "nan"], "above 0"), (["--wheel", "no.whl"], "no such file")],
)
def test_wrong_options_are_refused_at_once(options, told, tmp_path):
    done = subprocess.run([sys.executable, SCRIPT, *options], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 2 and told in done.stderr


@pytest.mark.slow
def test_an_empty_environment_gives_the_first_answer_in_time():
    torch = next(line.strip() for line in (ROOT / "constraints.txt").open() if line.startswith("torch=="))
    done = subprocess.run([sys.executable, SCRIPT, "--torch", torch], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [row["phase"] for row in rows] == PHASES
    assert rows[-1]["right"] and rows[-1]["in_time"] and rows[-1]["limit_seconds"] == 300
    assert rows[-1]["downloaded_bytes"] + rows[-1]["on_disk_bytes"] > 100_000_000  # torch at the least
