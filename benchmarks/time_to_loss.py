"""The same held-out loss, how much sooner? `spanbert-nano` against `BertForMaskedLM` of its shape, each on one core.

    python benchmarks/time_to_loss.py --store STORE --valid STORE [--minutes 25] [--times 5] [--peer-rate 1e-3]
                                      [--json]

Both stores are made by `spanwise prepare` with a vocabulary of 8,000. The peer trains for `--minutes`; meanwhile, on
the other core, the recipe trains from several seeds for a `--times`-th of that, one after the other, so that whatever
slows the machine slows both. Each side has its whole schedule inside its time: warm-up, and a linear way down to
zero.

- ours: `spanwise pretrain spanbert-nano`, its budget with word vectors, compiling and saving; its seconds are told from
  the call to the saved folder;
- peer: `BertForMaskedLM` of transformers, SDPA, bf16 autocast, the same sequences grouped by length in batches of 32,
  `DataCollatorForLanguageModeling` (15 %), AdamW, no dropout, as the recipe has none; building it is not counted. Its
  rate is the option's and is not searched for.

Asked is the held-out text of the probe `masked-tokens`, every hidden token behind [MASK]: single pieces, which is
what the peer has trained for, and spans. The goal is met where the recipe's loss on single pieces is the lower one
for every seed.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from interleaved import THREAD_VARIABLES

GROUP = 50  # batches of 32 whose sequences are sorted by length together
BATCH, WARM_UP = 32, 0.06
KINDS = {"piece": "single pieces", "span": "spans"}


def recipe_for(seconds: float, seed: int):
    from dataclasses import replace

    from spanwise.recipes import spanbert_nano

    recipe = spanbert_nano()
    training = replace(recipe.training, budget=seconds, seed=seed, threads=1, eval_every=None)
    return replace(recipe, training=training)


def train_ours(store: Path, out: Path, seconds: float, seed: int) -> dict:
    """One run of the recipe; returns what it cost."""
    from spanwise import pretrain
    from spanwise.runtime.progress import RunLog

    begin = time.perf_counter()
    result = pretrain(recipe_for(seconds, seed), out=out, data=store, log=RunLog(out))
    return {"folder": str(result.final), "seconds": time.perf_counter() - begin, "tokens": result.tokens}


def peer_batches(store: Path):
    """Lists of 32 sequences (ids with [CLS] and [SEP]) of the recipe's own blocks, alike in length, without end."""
    from spanwise.data.token_store import TokenStore
    from spanwise.pretraining.system import training_source

    source, rng = training_source(recipe_for(1.0, 0), TokenStore.open(store)), np.random.default_rng(0)
    waiting: list[np.ndarray] = []
    step = 0
    while True:
        while len(waiting) < GROUP * BATCH:
            for masked in source.masked_step(step):
                waiting += np.split(masked.pack.input_ids, masked.pack.borders[1:-1])
            step += 1
        waiting.sort(key=len)
        for first in rng.permutation(GROUP) * BATCH:
            yield waiting[first : first + BATCH]
        waiting = waiting[GROUP * BATCH :]


def train_peer(store: Path, out: Path, seconds: float, rate: float) -> dict:
    """The peer's run; returns what it cost."""
    import torch
    from transformers import BertConfig, BertForMaskedLM, BertTokenizerFast, DataCollatorForLanguageModeling

    from spanwise.data.token_store import TokenStore

    torch.manual_seed(0)
    tokenizer = TokenStore.open(store).tokenizer()
    shape = recipe_for(1.0, 0).encoder
    model = BertForMaskedLM(
        BertConfig(
            vocab_size=tokenizer.vocab_size,
            hidden_size=shape.hidden_size,
            num_hidden_layers=shape.num_layers,
            num_attention_heads=shape.num_heads,
            intermediate_size=shape.intermediate_size,
            hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=0.0,
            attn_implementation="sdpa",
        )
    ).train()
    tokenizer.save(out)
    collate = DataCollatorForLanguageModeling(BertTokenizerFast.from_pretrained(out), mlm_probability=0.15)
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate, weight_decay=0.01, fused=True)
    batches = peer_batches(store)
    next(batches)  # compiles our loops, which the peer should not pay for
    begin, tokens = time.perf_counter(), 0
    while (passed := (time.perf_counter() - begin) / seconds) < 1.0:
        for group in optimizer.param_groups:
            group["lr"] = rate * min(passed / WARM_UP, (1.0 - passed) / (1.0 - WARM_UP))
        sequences = next(batches)
        batch = collate([{"input_ids": ids.tolist(), "attention_mask": [1] * len(ids)} for ids in sequences])
        with torch.autocast("cpu", torch.bfloat16):
            loss = model(**batch).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        tokens += sum(map(len, sequences))
    cost = {"folder": str(out), "seconds": time.perf_counter() - begin, "tokens": tokens}
    model.save_pretrained(out)
    return cost


def work(options: argparse.Namespace, out: Path) -> None:
    """A side in its own process; a line of JSON for each run."""
    import torch

    torch.set_num_threads(1)
    seconds = 60 * options.minutes
    if options.work == "peer":
        out.mkdir(parents=True)
        print(json.dumps(train_peer(options.store, out, seconds, options.peer_rate)), flush=True)
        return
    for seed in range(options.times):
        print(json.dumps(train_ours(options.store, out / str(seed), seconds / options.times, seed)), flush=True)


def said(processes: dict[str, subprocess.Popen]) -> dict[str, list[str]]:
    """What both sides print, a line a run; where one fails, the other is stopped too."""
    while any(process.poll() is None for process in processes.values()):
        for side, process in processes.items():
            if process.poll():
                for other in processes.values():
                    other.kill()
                raise SystemExit(f"the side {side!r} has stopped; what it said stands above.")
        time.sleep(1.0)
    return {side: process.communicate()[0].splitlines() for side, process in processes.items()}


def losses(told: dict, store: Path, valid: Path) -> dict[str, float]:
    """Held-out losses of a folder, by kind of hiding."""
    from spanwise.data.token_store import TokenStore
    from spanwise.runtime.progress import RunLog
    from spanwise.studies.probes.base import Context, Material
    from spanwise.studies.probes.masked_tokens import MaskedTokens

    opened = TokenStore.open(store)
    length = recipe_for(1.0, 0).format.max_length
    material = Material(
        store=opened, valid=TokenStore.open(valid, opened.tokenizer()), files={}, cuts=Path(), max_length=length
    )
    context = Context(
        material=material, model=Path(told["folder"]), recipe=recipe_for(1.0, 0), seed=0, out=Path(), log=RunLog(None)
    )
    figures = MaskedTokens().measure(context)
    return {kind: figures[f"{kind}_mlm_loss"] for kind in KINDS}


def rows_of(ours: list[dict], peer: dict, times: int) -> list[dict]:
    rows = []
    for kind, words in KINDS.items():
        mine = [run["losses"][kind] for run in ours]
        gains = peer["losses"][kind] - np.array(mine)
        name = f"held-out MLM, {words}, after 1/{times} of the peer's {peer['seconds']:.0f} s"
        row = {"name": name, "unit": "nats", "ours": float(np.median(mine)), "peer": peer["losses"][kind]}
        rows.append(row | {"gain": float(np.median(gains)), "spread": [float(gains.min()), float(gains.max())]})
    rows[0]["met"] = rows[0]["spread"][0] >= 0
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--store", type=Path, required=True)
    parser.add_argument("--valid", type=Path, required=True)
    parser.add_argument("--minutes", type=float, default=25.0)
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--peer-rate", type=float, default=1e-3)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--work", choices=("ours", "peer"), help=argparse.SUPPRESS)
    parser.add_argument("--out", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        work(options, options.out)
        return
    environment = os.environ | dict.fromkeys(THREAD_VARIABLES, "1") | {"HF_HUB_OFFLINE": "1"}
    with tempfile.TemporaryDirectory() as folder:
        processes = {
            side: subprocess.Popen(
                [sys.executable, *sys.argv, "--work", side, "--out", str(Path(folder) / side)],
                stdout=subprocess.PIPE,
                text=True,
                env=environment,
            )
            for side in ("peer", "ours")
        }
        told = {side: [json.loads(line) for line in lines] for side, lines in said(processes).items()}
        for run in (run for runs in told.values() for run in runs):
            run["losses"] = losses(run, options.store, options.valid)
    rows = rows_of(told["ours"], told["peer"][0], options.times)
    if options.json:
        print(json.dumps({"rows": rows, "runs": told}, indent=1))
        return
    for row in rows:
        print(
            f"{row['name']}: {row['ours']:.3f} against {row['peer']:.3f}, {row['gain']:+.3f} lower "
            f"({row['spread'][0]:+.3f} to {row['spread'][1]:+.3f})"
        )
    for side, runs in told.items():
        for run in runs:
            print(f"  {side}: {run['seconds']:.0f} s, {run['tokens'] / 1e6:.2f} M tokens, {run['losses']}")


if __name__ == "__main__":
    main()
