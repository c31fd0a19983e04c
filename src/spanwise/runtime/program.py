"""How this program is called, for commands that a person can paste."""

import shutil
import sys
from pathlib import Path
from shlex import quote


def program() -> str:
    """By name where the shell finds it, else by its path."""
    if shutil.which("spanwise"):
        return "spanwise"
    beside = Path(sys.executable).with_name("spanwise")
    return quote(str(beside)) if beside.exists() else f"{quote(sys.executable)} -m spanwise"
