"""The same run by one process, by DDP and by FSDP2, on 1, 2 and 4 processes with as many packs each as the step needs
(gradient accumulation): one hash of weights, moments and log on a CPU, with exact sums."""

import itertools
import random
from functools import partial
from pathlib import Path

from tests.reliability.figure import Figure
from tests.reliability.kills import STEPS, command, ended, start_group
from tests.reliability.order import small_store
from tests.reliability.toy_run import result_of

WORLDS, OPTIMIZERS = (1, 2, 4), ("adamw", "muon", "lamb")
STEPS_OF = (4, 6)  # packs: 6 leave two of four processes with a round in which they only accompany the others


def one_hash_for_all_strategies(scratch: Path, seed: int, *, cases: int | None) -> Figure:
    """Compare so many strategies, drawn evenly over optimizers and batches (None: all), with one process alone."""
    figure = Figure("single, DDP, FSDP2 x world 1, 2, 4 x accumulation: one hash on the CPU")
    chance, store = random.Random(seed), small_store(scratch / "text").path
    found: dict[tuple[str, int], tuple[str, str, str]] = {}
    everything = list(itertools.product(("fsdp2", "none"), WORLDS, STEPS_OF, OPTIMIZERS))
    for sharding, world, packs, optimizer in everything if cases is None else chance.sample(everything, cases):
        how = [f"training.optimizer={optimizer}", f"training.sharding={sharding}"]
        if (optimizer, packs) not in found:
            found[optimizer, packs] = _hash(store, scratch / f"{optimizer}-{packs}", packs, 1, how[:1])
        name = f"{sharding}-{world}-{packs}-{optimizer}"
        theirs = _hash(store, scratch / name, packs, world, how)
        figure.check(theirs == found[optimizer, packs], f"{name}: {theirs} is not {found[optimizer, packs]}")
    return figure


def _hash(store: Path, folder: Path, packs: int, world: int, how: list[str]) -> tuple[str, str, str]:
    work = partial(command, store, folder, tokens=128 * packs, more=how)
    statuses = ended(start_group(work, folder, world))
    said = (folder.parent / f"{folder.name}.err").read_text()[-900:]
    return result_of(folder, STEPS) if not any(statuses) else (str(statuses), said, "")
