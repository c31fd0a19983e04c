"""Types fit in the whole package. Beside other tests, as mypy keeps one core busy for most of a minute."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_types_fit():
    done = subprocess.run([sys.executable, "-m", "mypy"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
