"""What `training.exact_sums` costs of a training step, by one process and by one process a core.

    python benchmarks/exact_sums.py [--size 4x256|4x512|12x768] [--json] [--rounds N] [--threads 2] [--clock cpu]

Steps of training_step.py, with the option and without it, each in a process of its own and in turn.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import numpy as np
from interleaved import CLOCKS, rate_row, serve, show_rows, take_turns, timing_options
from training_step import SIZES, Ours, Shared, batches_of, follow, synthetic_paragraphs

SIDES = {"one process": False, "one process, exact": True, "several": False, "several, exact": True}


def main() -> None:
    parser = timing_options(__doc__, rounds=20)
    parser.add_argument("--size", choices=SIZES, default="4x256")
    options = parser.parse_args()
    size = SIZES[options.size]
    if options.work:
        with np.load(options.data) as stored:
            paragraphs = np.split(stored["ids"], np.cumsum(stored["lengths"])[:-1])
            batches = batches_of(stored["lengths"], grouped=False, batch=size.batch)

        def ours(group=None) -> Ours:
            return Ours(size, paragraphs, batches, group, exact_sums=SIDES[options.work])

        if "RANK" in os.environ:
            follow(ours)
            return
        is_shared = options.work.startswith("several")
        serve(lambda: Shared(options.threads, ours) if is_shared else ours(), CLOCKS[options.clock])
        return
    paragraphs = synthetic_paragraphs()
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "paragraphs.npz"
        np.savez(data, ids=np.concatenate(paragraphs), lengths=[len(row) for row in paragraphs])
        same = ["--size", options.size, "--threads", str(options.threads), "--clock", options.clock]
        told = take_turns(
            lambda side: [__file__, "--work", side, "--data", str(data), *same],
            list(SIDES),
            rounds=options.rounds,
            threads={side: 1 if side.startswith("several") else options.threads for side in SIDES},
            seconds=options.seconds,
        )
    rows = [
        rate_row(f"{how} with exact sums against without, {options.size}", "tokens/s", told[f"{how}, exact"], told[how])
        for how in ("one process", "several")
    ]
    show_rows(rows, as_json=options.json)


if __name__ == "__main__":
    main()
