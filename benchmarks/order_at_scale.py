"""The sampler of a terabyte: `python benchmarks/order_at_scale.py [--bytes N ...] [--json]`.

The bundled text, tokenized once, stands in a store as often as `--bytes` of text need: the same sentences, documents
and blocks, without a file of that size. The real source then lays out an epoch over it (blocks, order, packs). Printed
are the memory that it takes, the seconds to make it, the seconds to the packs of any other step, and whether the packs
of some steps are the same, in the same places, for 1, 8 and 64 processes. `--bytes 1e12` is the whole terabyte, for a
machine with the memory that the last line of a smaller run foretells. Each size runs in a process of its own.
"""

from __future__ import annotations

import argparse
import json
import lzma
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

for _variable in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ[_variable] = "1"

# ruff: noqa: E402  (the thread counts above must come first)
import numpy as np
from interleaved import peak_memory

import spanwise
from spanwise.data.prepare import prepare
from spanwise.data.token_store import TokenStore
from spanwise.pretraining.collate import PackParts
from spanwise.pretraining.formats import SingleSegment
from spanwise.pretraining.masking import GeometricSpans, Replacement
from spanwise.pretraining.objectives import MaskedLM, SpanBoundary
from spanwise.pretraining.source import PretrainingSource
from spanwise.text.tokenizers import Tokenizer

TERABYTE = 10**12
SIZES = (TERABYTE / 1000, TERABYTE / 500, TERABYTE / 250)
WORLDS = (1, 8, 64)
PACKS_PER_STEP, PACK_TOKENS, LENGTH = 64, 16_384, 512  # a step of 2 ** 20 tokens
NUM_STEPS = 5


class TiledStore:
    """A store of `num_copies` times the text of another one, whose ids are read from that one."""

    def __init__(self, base: TokenStore, num_copies: int) -> None:
        self._base = base
        self.path, self.vocabulary, self.side_arrays = base.path, base.vocabulary, {}
        self.has_sentence_borders = base.has_sentence_borders
        self.num_tokens = num_copies * base.num_tokens
        self.sentence_lengths = np.tile(base.sentence_lengths, num_copies)
        inner = base.document_borders[1:]
        copies = np.arange(num_copies)[:, None] * base.num_sentences
        self.document_borders = np.concatenate([[0], (inner + copies).reshape(-1)])

    def gather(self, starts: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        size = self._base.num_tokens
        places = np.repeat(starts - np.cumsum(lengths) + lengths, lengths) + np.arange(lengths.sum())
        return self._base.gather(places % size, np.ones(len(places), dtype=np.int64))


def base_store(folder: Path) -> tuple[TokenStore, int]:
    """The bundled text as a store in `folder`, and its bytes."""
    package = Path(spanwise.__file__).parent
    text = lzma.decompress((package / "quickstart" / "corpus" / "wiki-valid.txt.xz").read_bytes())
    (folder / "text.txt").write_bytes(text)
    prepare([folder / "text.txt"], tokenizer=Tokenizer.load(package / "weights" / "mini"), out=folder / "store")
    return TokenStore.open(folder / "store"), len(text)


def source_over(store: Any) -> PretrainingSource:
    parts = PackParts(
        format=SingleSegment(max_length=LENGTH),
        masking=GeometricSpans(),
        replacement=Replacement(),
        objectives={"mlm": MaskedLM(), "sbo": SpanBoundary()},
        max_tokens=PACK_TOKENS,
    )
    return PretrainingSource(store, parts, seed=0, packs_per_step=PACKS_PER_STEP)


def step_of_a_world(source: PretrainingSource, step: int, size: int) -> list[tuple[tuple[int, ...], bytes]]:
    """The packs of a step (block ids, and ids as the encoder reads them), put together from all ranks' shares."""
    packs: list[Any] = [None] * PACKS_PER_STEP
    for rank in range(size):
        for k, masked in enumerate(source.masked_step(step, rank, size)):
            packs[rank + k * size] = tuple(masked.pack.block_ids.tolist()), masked.input_ids.tobytes()
    return packs


def measure(num_bytes: float) -> dict[str, Any]:
    """One size: what the epoch costs and whether worlds agree."""
    with tempfile.TemporaryDirectory() as folder:
        base, size = base_store(Path(folder))
        source_over(base).step(0)  # compiles everything
        store = TiledStore(base, max(1, round(num_bytes / size)))
        before, begin = peak_memory(), time.process_time()
        source = source_over(store)
        made = time.process_time() - begin
        memory = peak_memory() - before
        num_steps = source.num_packs(0) // PACKS_PER_STEP
        steps = [num_steps * k // NUM_STEPS for k in reversed(range(NUM_STEPS))]  # backwards, the first one last
        begin = time.process_time()
        alone = {step: step_of_a_world(source, step, 1) for step in steps}
        seek = (time.process_time() - begin) / NUM_STEPS
        equal = all(step_of_a_world(source, step, world) == alone[step] for step in steps for world in WORLDS)
        kept = source.table.starts.nbytes + source.table.lengths.nbytes + 8 * source.table.num_blocks
        return {
            "bytes": num_bytes,
            "tokens": store.num_tokens,
            "sentences": len(store.sentence_lengths),
            "blocks": source.table.num_blocks,
            "packs": source.num_packs(0),
            "store_bytes": store.sentence_lengths.nbytes + store.document_borders.nbytes,
            "kept_bytes": kept,
            "peak_bytes": memory,
            "seconds_to_make": made,
            "seconds_to_a_step": seek,
            "worlds_agree": equal,
        }


def show(rows: list[dict[str, Any]]) -> None:
    names = ("text", "sentences", "blocks", "store", "kept", "peak", "make", "step", "worlds")
    print(" ".join(f"{name:>13}" for name in names))
    for row in rows:
        cells = [f"{row['bytes'] / 1e9:,.1f} GB", f"{row['sentences']:,}", f"{row['blocks']:,}"]
        cells += [f"{row[name] / 1e6:,.0f} MB" for name in ("store_bytes", "kept_bytes", "peak_bytes")]
        cells += [f"{row[name]:.2f} s" for name in ("seconds_to_make", "seconds_to_a_step")]
        print(" ".join(f"{cell:>13}" for cell in [*cells, "equal" if row["worlds_agree"] else "UNEQUAL"]))
    last = rows[-1]
    times = TERABYTE / last["bytes"]
    store, kept, peak = (times * last[name] / 1e9 for name in ("store_bytes", "kept_bytes", "peak_bytes"))
    print(
        f"a terabyte, by the last row: {store:,.0f} GB for the open store, {kept:,.0f} kept for an epoch, {peak:,.0f} "
        f"at the peak above the store, {times * last['seconds_to_make'] / 60:,.0f} minutes to make"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition(":")[0])
    parser.add_argument("--bytes", type=float, nargs="+", default=list(SIZES), help="of text; 1e12 is a terabyte")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--one", type=float, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one is not None:
        print(json.dumps(measure(options.one)))
        return
    rows = []
    for size in options.bytes:
        done = subprocess.run([sys.executable, __file__, "--one", str(size)], stdout=subprocess.PIPE, text=True)
        if done.returncode:
            raise SystemExit(f"{size:,.0f} bytes ended with {done.returncode}; -9 is a machine whose memory ran out.")
        rows.append(json.loads(done.stdout))
    if options.json:
        print(json.dumps(rows))
    else:
        show(rows)


if __name__ == "__main__":
    main()
