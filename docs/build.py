"""Build the documentation site: `python3 run.py docs [OUT]`, a folder of HTML that opens without a server."""

import shutil
import sys
from pathlib import Path

from sphinx.cmd.build import main

ROOT = Path(__file__).parents[1]


def build(out: Path) -> int:
    """Build the site anew into `out` and return Sphinx's status; a warning is an error."""
    trees = ROOT / "build" / "doctrees"
    status = main(["-W", "-n", "-q", "-E", "-c", str(ROOT / "docs"), "-d", str(trees), str(ROOT), str(out)])
    shutil.rmtree(out / "_sources", ignore_errors=True)
    return status


if __name__ == "__main__":
    target = Path(*sys.argv[1:2] or [ROOT / "build" / "site"]).resolve()
    print(f"Building {target}", flush=True)
    if status := build(target):
        sys.exit(status)
    print(f"Open {target / 'index.html'}")
