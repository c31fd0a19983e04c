"""How long a person waits: `python benchmarks/startup.py [--json] [--rounds N]`.

- `spanwise --help`, a process of its own each time, against a Python that does nothing;
- from the start of `spanwise pretrain` to the end of its first step, on a store that exists, with compiled loops warm.

Both are seconds of wall-clock time and have no peer; the goals are upper bounds.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from interleaved import rounds_within, show_rows, timing_options

RECIPE = "spanbert-mini"
CHANGES = ["training.max_tokens=null", "training.max_steps=1", "training.eval_every=null"]


def seconds_of(command: list[str]) -> float:
    began = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - began


def first_step(store: Path, out: Path) -> float:
    """Seconds from the start of the process to the log line of its first step."""
    spanwise = [sys.executable, "-m", "spanwise"]
    changes = [word for change in CHANGES for word in ("--set", change)]
    command = [*spanwise, "pretrain", RECIPE, "--data", str(store), "--out", str(out), *changes]
    began = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        reached = next((time.perf_counter() - began for line in process.stdout if line.startswith("step 1/")), None)
        process.stdout.read()
    if process.returncode or reached is None:
        raise SystemExit(f"pretrain ended with status {process.returncode}; what it said stands above.")
    return reached


def row_of(name: str, seconds: list[float], goal: float | None) -> dict:
    spread = np.percentile(seconds, [25, 75]).tolist()
    row = {"name": name, "unit": "s", "ours": float(np.median(seconds)), "peer": None, "ratio": None, "goal": goal}
    return row | {"spread": spread, "lower_is_better": True}


def main() -> None:
    options = timing_options(__doc__, rounds=5).parse_args()
    from spanwise.data.prepare import prepare
    from spanwise.quickstart.bundle import open_bundle
    from spanwise.text.learn import learn_tokenizer

    python, shown_help, first = [], [], []
    with tempfile.TemporaryDirectory() as name, open_bundle() as bundle:
        folder = Path(name)
        tokenizer = learn_tokenizer(bundle.valid_text, vocab_size=8_000, out=folder / "tokenizer")
        prepare(bundle.valid_text, tokenizer, folder / "store")
        for index in rounds_within(
            options.rounds, options.seconds, warm=1
        ):  # the first round warms the disk and the compiled loops
            times = (
                seconds_of([sys.executable, "-c", ""]),
                seconds_of([sys.executable, "-m", "spanwise", "--help"]),
                first_step(folder / "store", folder / f"run{index}"),
            )
            if index >= 0:
                for kept, seconds in zip((python, shown_help, first), times, strict=True):
                    kept.append(seconds)
    rows = [
        row_of("spanwise --help", shown_help, 0.5),
        row_of(f"first training step of {RECIPE} on a warm store", first, 8.0),
        row_of("python -c '', for comparison", python, None),
    ]
    if options.json:
        print(json.dumps(rows, indent=2))
    else:
        show_rows(rows, as_json=False)


if __name__ == "__main__":
    main()
