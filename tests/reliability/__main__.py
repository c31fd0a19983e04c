"""`python -m tests.reliability [--soak] [--seed N] [--only NAME]`: every promise tried, one line of JSON for each.

Ends with status 1 where one is broken. `run.py test --reliability` sets up and starts it.
"""

import argparse
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import torch
from tests.reliability.bugs import seeded_bugs
from tests.reliability.damage import damaged_files
from tests.reliability.disks import failing_disks
from tests.reliability.figure import Figure, measured
from tests.reliability.hostile import hostile_files
from tests.reliability.kills import killed_commands, killed_groups, killed_toys
from tests.reliability.order import order_of_samples
from tests.reliability.power import losses_of_power, weaker_protocols
from tests.reliability.strategies import one_hash_for_all_strategies

Check = Callable[[Path, int, bool], Figure]
PROMISES: dict[str, Check] = {
    "power": lambda scratch, seed, soak: losses_of_power(
        scratch, seed, per_operation=350 if soak else 28, resumed=200 if soak else 40
    ),
    "weaker": lambda scratch, seed, soak: weaker_protocols(scratch, seed),
    "disks": lambda scratch, seed, soak: failing_disks(scratch, seed),
    "damage": lambda scratch, seed, soak: damaged_files(scratch, seed, cases=20_000 if soak else 2_000),
    "kills": lambda scratch, seed, soak: killed_commands(scratch, seed, kills=300 if soak else 25),
    "toys": lambda scratch, seed, soak: killed_toys(scratch, seed, kills=500 if soak else 50),
    "groups": lambda scratch, seed, soak: killed_groups(scratch, seed, kills=60 if soak else 6),
    "strategies": lambda scratch, seed, soak: one_hash_for_all_strategies(scratch, seed, cases=None if soak else 8),
    "bugs": lambda scratch, seed, soak: seeded_bugs(scratch, seed),
    "hostile": lambda scratch, seed, soak: hostile_files(scratch, seed, cases=300),
    "order": lambda scratch, seed, soak: order_of_samples(scratch, seed, cases=20_000 if soak else 2_000),
}
GOALS = {  # at least so many cases, by the default tier and by the soak; fewer is a promise that was not tried
    "power": (700, 5_000), "weaker": (9, 9), "disks": (400, 400), "damage": (2_000, 20_000), "kills": (25, 300),
    "toys": (50, 500), "groups": (6, 60), "strategies": (8, 36), "bugs": (20, 20), "hostile": (300, 300),
    "order": (2_000, 20_000),
}  # fmt: skip


def falls_short(name: str, figure: Figure, soak: bool) -> bool:
    """Whether a promise was tried less often than its goal; where runs are killed, the kills count."""
    return int(str(figure.facts.get("kills", figure.tried))) < GOALS[name][soak]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--soak", action="store_true", help="the numbers of `run.py test --slow`")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", nargs="+", choices=list(PROMISES), default=None)
    asked = parser.parse_args()
    torch.set_num_threads(1)
    broken = 0
    for name in asked.only or PROMISES:
        with tempfile.TemporaryDirectory(prefix="spanwise-reliability-") as scratch:
            figure, seconds = measured(lambda: PROMISES[name](Path(scratch).resolve(), asked.seed, asked.soak))  # noqa: B023
        if falls_short(name, figure, asked.soak):
            figure.failures.append(f"tried less often than {GOALS[name][asked.soak]} times")
        print(figure.line(asked.seed, seconds), flush=True)
        broken += bool(figure.failures)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
