"""The order of samples: the same blocks, hidden tokens and targets for any number of processes, packs a step (gradient
accumulation), threads that make them, and step to go on from."""

import random
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from tests.reliability.figure import Figure

from spanwise.data.batch import Batch
from spanwise.data.prefetch import Prefetcher
from spanwise.data.token_store import TokenStore
from spanwise.pretraining.collate import PackParts
from spanwise.pretraining.formats import SingleSegment
from spanwise.pretraining.masking import GeometricSpans, Replacement
from spanwise.pretraining.objectives import MaskedLM, SpanBoundary
from spanwise.pretraining.source import PretrainingSource

PACKS = 240  # of the oracle: several epochs of the small store
SEED = 3


def print_of(batch: Batch) -> tuple[Any, ...]:
    """The blocks of a pack, and a checksum of what the encoder reads and of what it must find."""
    targets = [batch.targets[name] for name in sorted(batch.targets)]
    values = [value for one in targets for value in vars(one).values() if hasattr(value, "numpy")]
    parts = [batch.input_ids, *values]
    return batch.ids, zlib.crc32(b"".join(np.ascontiguousarray(part.numpy()).tobytes() for part in parts))


def order_of_samples(scratch: Path, seed: int, *, cases: int) -> Figure:
    """Draw cases of (packs a step, processes, threads' depth, step to go on from) and compare with one plain pass."""
    figure = Figure("sample order for any world size, workers, accumulation, resume point")
    chance, store, parts = random.Random(seed), small_store(scratch / "order"), usual_parts()
    oracle = [print_of(pack) for index in range(PACKS) for pack in _source(store, parts, 1).step(index)][:PACKS]
    _check_epochs(figure, store, parts)
    sources = {packs: _source(store, parts, packs) for packs in range(1, 13)}
    for number in range(cases):
        packs, world = chance.randint(1, 12), chance.randint(1, 8)
        begin = chance.randrange(PACKS // packs)
        fresh = number % 50 == 0  # a source that has made no step yet, as after a restart
        source = _source(store, parts, packs) if fresh else sources[packs]
        found = _dealt(source, begin, world, packs, depth=chance.choice((0, 0, 0, 1, 4)))
        wanted = oracle[begin * packs : (begin + 1) * packs]
        figure.check(found == wanted, f"{packs} packs a step, {world} processes, step {begin}: {found[:1]}")
    return figure


def _source(store: TokenStore, parts: PackParts, packs: int) -> PretrainingSource:
    return PretrainingSource(store, parts, seed=SEED, packs_per_step=packs)


def _dealt(source: PretrainingSource, step: int, world: int, packs: int, *, depth: int) -> list[Any]:
    """The packs of a step as `world` processes compute them, put back into the order of the step."""
    found: list[Any] = [None] * packs
    for rank in range(world):
        with Prefetcher(lambda index: source.step(index, rank, world), first=step, depth=depth) as made:  # noqa: B023
            mine = made.get(step)
        for k, pack in enumerate(mine):
            found[rank + k * world] = print_of(pack)
    return found


def _check_epochs(figure: Figure, store: TokenStore, parts: PackParts) -> None:
    """Every block is met once an epoch."""
    source = _source(store, parts, 1)
    for epoch in range(3):
        met = sorted(int(block) for masked in source.epoch_masked(epoch) for block in source.collator.batch(masked).ids)
        figure.check(met == list(range(len(source.table.text_lengths))), f"epoch {epoch} meets {len(met)} blocks")


def usual_parts() -> PackParts:
    """Spans hidden and found again, in packs of some 200 tokens."""
    return PackParts(
        format=SingleSegment(max_length=48), masking=GeometricSpans(), replacement=Replacement(),
        objectives={"mlm": MaskedLM(), "sbo": SpanBoundary()}, max_tokens=200,
    )  # fmt: skip


def small_store(folder: Path) -> TokenStore:
    """Forty documents of a small grammar, by a vocabulary that is learned from them."""
    from tests.conftest import sentences

    from spanwise.data.prepare import prepare
    from spanwise.text.learn import learn_tokenizer

    folder.mkdir(parents=True, exist_ok=True)
    lines = sentences(1, 160)
    text = folder / "text.txt"
    text.write_text("\n\n".join(" ".join(lines[i : i + 4]) for i in range(0, 160, 4)), encoding="utf-8")
    prepare(text, learn_tokenizer(text, vocab_size=300), folder / "store")
    return TokenStore.open(folder / "store")
