"""The collator for other people's loops: `python benchmarks/collator.py [--json] [--rounds N]`.

64 examples of 512 tokens, one thread, warm; examples in, padded `input_ids`, `attention_mask` and `labels` out, as
PyTorch tensors. Peers in the same run, turns interleaved, medians of the process's CPU time: `DataCollatorForLanguage-
Modeling` of transformers (random tokens, and its whole-word mode), and our own packed path from ids in memory to a
`Batch`, which the collator may not be slower than twice. Examples as NumPy arrays, tensors and Python lists; the peer
gets lists with `special_tokens_mask`, which it reads fastest.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

from masking import (  # beside this file; it also sets the thread counts, before torch is loaded
    HAS_PEER,
    LENGTH,
    NUM_SEQUENCES,
    VOCAB_SIZE,
    make_tokenizer,
    make_vocabulary,
    ours,
    peer,
    row_of,
)

# ruff: noqa: I001
import numpy as np
import torch
from interleaved import rounds_within, show_rows

from spanwise.integrations.huggingface import SpanMaskingCollator
from spanwise.pretraining.masking import GeometricSpans

GOAL_PEER, GOAL_PACKED, MIN_SECONDS = 20.0, 0.5, 0.02


def seconds_of(calls: dict[str, Callable[[int], int]], rounds: int, limit: float | None) -> dict[str, list[float]]:
    """CPU seconds a call, one figure a turn, the first not counted: what else the machine does matters little."""
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    for turn in rounds_within(rounds, limit, warm=1):
        for name, call in calls.items():
            begin, spent, count = time.process_time(), 0.0, 0
            while spent < MIN_SECONDS:  # the clock ticks in milliseconds on some machines
                call(1000 * (turn + 1) + count)
                count, spent = count + 1, time.process_time() - begin
            if turn >= 0:
                seconds[name].append(spent / count)
    return seconds


def measure(rounds: int, limit: float | None = None) -> list[dict]:
    vocabulary = make_vocabulary()
    tokenizer = make_tokenizer(vocabulary)
    text_ids = np.random.default_rng(0).integers(5, VOCAB_SIZE, NUM_SEQUENCES * (LENGTH - 2))
    rows = [np.array([2, *row, 3]) for row in text_ids.reshape(NUM_SEQUENCES, -1).tolist()]
    forms = {
        "arrays": [{"input_ids": row} for row in rows],
        "tensors": [{"input_ids": torch.from_numpy(row)} for row in rows],
        "lists": [{"input_ids": row.tolist()} for row in rows],
    }
    collator = SpanMaskingCollator(tokenizer)
    calls = {f"span masking collator, {form}": _call(collator, examples) for form, examples in forms.items()}
    calls["peer"] = peer(tokenizer, vocabulary, text_ids, False)
    calls["peer, whole words"] = peer(tokenizer, vocabulary, text_ids, True)
    calls["packed path"] = ours(GeometricSpans(), vocabulary, text_ids, True)
    seconds = seconds_of(calls, rounds, limit)
    table = []
    for name in [name for name in calls if name.startswith("span")]:
        goals = {"peer": GOAL_PEER, "peer, whole words": None, "packed path": GOAL_PACKED}
        for versus, goal in goals.items():
            wanted = goal if "lists" not in name else None
            table.append(row_of(f"{name} against {versus}", NUM_SEQUENCES * LENGTH, seconds, name, versus, wanted))
    return table


def _call(collator: SpanMaskingCollator, examples: list[dict]):
    return lambda _: int(collator(examples)["labels"].shape[0])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="rows as JSON")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--seconds", type=float, help="no more rounds than fit into so many seconds, and one at least")
    options = parser.parse_args()
    torch.set_num_threads(1)
    if not HAS_PEER:  # then there is nobody to serve
        nothing = dict.fromkeys(("ours", "peer", "ratio", "spread"))
        row = {"name": "the collator", "unit": "tokens/s", "goal": GOAL_PEER, **nothing, "absent": "transformers"}
        show_rows([row], as_json=options.json)
        return
    show_rows(measure(options.rounds, options.seconds), as_json=options.json)


if __name__ == "__main__":
    main()
