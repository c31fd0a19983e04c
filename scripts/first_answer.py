#!/usr/bin/env python3
"""Time the way of a newcomer: from `pip install` in an empty environment to an answer about a folder of text.

    python scripts/first_answer.py --torch torch==2.13.0

A new virtual environment is made in a temporary folder, which is removed at the end; pip's cache is not used.
`--wheel FILE` takes a built wheel, else one is built from this checkout; building is not counted, as a newcomer has
the wheel. pip's own settings (PIP_EXTRA_INDEX_URL, PIP_FIND_LINKS, ...) hold. Prints a row of JSON per phase: seconds,
those of a processor, bytes that pip downloaded, and bytes of files that pip found on this disk, which elsewhere are
downloaded too. Ends with status 1 where the answer is wrong or the total is over `--limit` seconds.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
UNITS = {"bytes": 1, "kB": 1_000, "MB": 1_000_000}  # those of pip
QUESTION, ANSWER, FILE = "Who designed the market hall?", "Thomas Brandt", "market.txt"
TEXT = {
    "bridge.txt": """The stone bridge over the Arlen was built in 1890 by the engineer Maria Keller. It has five arches.

In the spring of 1921 a flood carried away the two arches at its northern end. They were rebuilt within a year.
""",
    FILE: """The market in the old square opens on Tuesdays and Saturdays. Farmers of the valley sell bread and cheese.

The market hall was designed by Thomas Brandt, who also drew the plans of the school.
""",
    "school.md": """# The school

The school of the village has 240 pupils. Its library was given by a merchant, Peter Holm, in 1934.
""",
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--torch", default="torch", help="what pip is asked for first, for example torch==2.13.0")
    parser.add_argument("--wheel", type=Path, help="a built wheel of spanwise; default: one of this checkout")
    parser.add_argument("--limit", type=positive, default=300, help="seconds that all may take (default: 300)")
    options = parser.parse_args()
    if options.wheel and not options.wheel.is_file():
        parser.error(f"--wheel {options.wheel}: no such file; give a spanwise-*.whl, or leave the option out")
    with tempfile.TemporaryDirectory(prefix="first-answer-") as folder:
        return 0 if follow(Path(folder), options) else 1


def follow(folder, options):
    """Take every step, print its row, and return whether the answer was right and came in time."""
    wheel = options.wheel.resolve() if options.wheel else built(folder / "wheel")
    rows = [timed("environment", lambda: call([sys.executable, "-m", "venv", folder / "venv"]))]
    rows += [timed("torch", lambda: install(folder, options.torch))]
    rows += [timed("spanwise and the rest", lambda: install(folder, wheel))]
    said = {}
    rows += [timed("first answer", lambda: said.update(ask(folder)))]
    right = is_right(said)
    summed = ("seconds", "cpu_seconds", "downloaded_bytes", "on_disk_bytes")
    total = {name: round(sum(row.get(name, 0) for row in rows), 1) for name in summed}
    in_time = total["seconds"] <= options.limit
    installed = sum(path.lstat().st_size for path in (folder / "venv").rglob("*") if path.is_file())
    told = {"installed_bytes": installed, "limit_seconds": options.limit, "in_time": in_time, "right": right}
    show({"phase": "total", **total, **told})
    return right and in_time


def timed(phase, work):
    """Do a piece of work; print and return the row about it: its seconds, a processor's, and bytes."""
    began, used = time.monotonic(), os.times()
    told = work() or {}
    now = os.times()
    cpu = now.children_user - used.children_user + now.children_system - used.children_system
    row = {"phase": phase, "seconds": round(time.monotonic() - began, 1), "cpu_seconds": round(cpu, 1), **told}
    show(row)
    return row


def show(row):
    print(json.dumps(row), flush=True)


def built(folder):
    """The wheel of this checkout."""
    call([sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", folder, ROOT])
    (wheel,) = folder.glob("spanwise-*.whl")
    return wheel


def install(folder, asked):
    """Install with the environment's own pip; return the bytes that it fetched, and those that it found on disk."""
    report = folder / "report.json"
    pip = [folder / "venv/bin/python", "-m", "pip", "install", "--no-cache-dir", "--progress-bar", "off"]
    said = call([*pip, "--report", report, asked])
    on_disk = on_disk_bytes(json.loads(report.read_text(encoding="utf-8")))
    return {"downloaded_bytes": downloaded_bytes(said), "on_disk_bytes": on_disk}


def downloaded_bytes(said):
    """Bytes of the downloads that pip told of, each as it rounds them: `Downloading NAME (1.2 MB)`."""
    sizes = re.findall(r"^ *Downloading \S+ \(([\d.]+) (bytes|kB|MB)\)", said, re.M)
    return sum(round(float(number) * UNITS[unit]) for number, unit in sizes)


def on_disk_bytes(report):
    """Bytes of the files of this machine that pip installed, by its report."""
    places = [urllib.parse.urlsplit(part["download_info"]["url"]) for part in report["install"]]
    files = [urllib.request.url2pathname(place.path) for place in places if place.scheme == "file"]
    return sum(os.path.getsize(file) for file in files)


def ask(folder):
    """Ask the installed command about three files, as in a home where spanwise never ran; return what it said."""
    home, text = folder / "home", folder / "my-text"
    home.mkdir()
    text.mkdir()
    for name, words in TEXT.items():
        (text / name).write_text(words, encoding="utf-8")
    own = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "XDG_CACHE_HOME", "HF_HOME")}
    command = [folder / "venv/bin/spanwise", "ask", text, QUESTION, "--json"]
    return json.loads(call(command, cwd=home, env={**own, "HOME": str(home)}))["questions"][0]


def is_right(said):
    """Whether the best answer is the right one, from the right file."""
    best = said["answers"][0] if said["found"] else {"answer": "", "file": ""}
    return ANSWER in best["answer"] and best["file"] == FILE


def call(command, **options):
    """Run a command and return what it printed; where it fails, its words are shown and all ends."""
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, **options)
    if done.returncode:
        sys.exit(f"{done.stdout}{done.stderr}\n{' '.join(map(str, command))} ended with status {done.returncode}")
    return done.stdout


def positive(text):
    number = float(text)
    if not 0 < number < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} seconds; give a number above 0")
    return number


if __name__ == "__main__":
    sys.exit(main())
