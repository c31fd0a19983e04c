"""A training step against the model that most people train.

    python benchmarks/training_step.py [--text FILE [--tokenizer DIR]] [--json] [--rounds N] [--threads 2] [--clock cpu]

4 layers x 256, 4 heads, feed-forward 1,024, vocabulary 30,522, two threads, 32 paragraphs a step (lognormal lengths,
median 116, mean about 127 tokens; or the paragraphs of `--text`). Hidden dropout 0.1 and attention dropout 0 on both
sides, fused AdamW and clipping on both. Batches are made beforehand, so neither side's collator counts.

- ours: masked LM and span boundary objective, packed, bf16 where the processor has it, the training loop's own step;
- peer (a): `BertForMaskedLM` of transformers, SDPA, float32, 32 random paragraphs padded to the longest, as its
  example script trains; masked LM alone, which gives the peer one vocabulary projection less;
- peer (b): the same under bf16 autocast with paragraphs of like length grouped in a batch.

Speed is in real tokens a second. Every side runs in its own process, a step of each in turn, so a busy machine slows
all; ratios are medians of the rounds' ratios, the spread is their middle half. Memory is the peak resident set of the
process, once whole and once without what stood before the model was built (interpreter and libraries).
`--clock cpu --threads 1` counts processor time in place of wall-clock time: fairer on a machine that others use, where
two threads that wait for each other lose most.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

VOCAB_SIZE, HIDDEN_SIZE, NUM_LAYERS, NUM_HEADS, INTERMEDIATE_SIZE = 30_522, 256, 4, 4, 1_024
BATCH, LONGEST, SHARE_HIDDEN, NUM_PARAGRAPHS = 32, 510, 0.15, 4_096
PAD, CLS, SEP, MASK, FIRST_WORD = 0, 2, 3, 4, 5
CLOCKS = {"wall": time.perf_counter, "cpu": time.process_time}
SIDES = ("ours", "peer fp32, random batches", "peer bf16, grouped by length")


def synthetic_paragraphs(seed: int = 0) -> list[np.ndarray]:
    """Ids that fall like 1 / rank in paragraphs as long as Wikipedia's."""
    rng = np.random.default_rng(seed)
    lengths = np.clip(rng.lognormal(np.log(114), 0.51, NUM_PARAGRAPHS), 8, LONGEST).astype(int)
    ranks = np.exp(rng.random(lengths.sum()) * np.log(VOCAB_SIZE - FIRST_WORD)).astype(np.int64)
    return np.split(FIRST_WORD + ranks - 1, np.cumsum(lengths)[:-1])


def paragraphs_of(text: Path, tokenizer_folder: Path | None) -> list[np.ndarray]:
    """The first paragraphs of a file, cut at 510 tokens, ids reduced to the benchmark's vocabulary."""
    from spanwise.text.learn import learn_tokenizer
    from spanwise.text.tokenizers import Tokenizer

    if tokenizer_folder is not None:
        tokenizer = Tokenizer.load(tokenizer_folder)
    else:
        tokenizer = learn_tokenizer([text], vocab_size=VOCAB_SIZE, max_characters=20_000_000)
    with text.open(encoding="utf-8") as file:
        lines = [line for line, _ in zip((line for line in file if line.strip()), range(NUM_PARAGRAPHS), strict=False)]
    rows = [np.asarray(encoding.ids, dtype=np.int64)[:LONGEST] for encoding in tokenizer.encode_batch(lines)]
    return [np.clip(row, FIRST_WORD, VOCAB_SIZE - 1) for row in rows if len(row)]


class Ours:
    """The real parts: packed batches of the real collator, the loop's own update."""

    def __init__(self, paragraphs: list[np.ndarray]) -> None:
        import torch

        from spanwise.data.vocabulary import Vocabulary
        from spanwise.nn.config import EncoderConfig
        from spanwise.nn.encoder import Encoder
        from spanwise.nn.init import initialize
        from spanwise.pretraining.collate import Collator
        from spanwise.pretraining.formats import BlockTable, SingleSegment
        from spanwise.pretraining.masking import GeometricSpans, Replacement
        from spanwise.pretraining.model import PretrainingModel
        from spanwise.pretraining.objectives import MaskedLM, SpanBoundary
        from spanwise.runtime.device import resolve_precision
        from spanwise.training.optim import build_optimizer
        from spanwise.training.plan import TrainingOptions
        from spanwise.training.step import Updater
        from spanwise.training.timing import SectionTimer

        self.start_memory = peak_memory()
        device = torch.device("cpu")
        ids = np.arange(VOCAB_SIZE)
        vocabulary = Vocabulary(
            size=VOCAB_SIZE,
            **{f"{name}_id": place for place, name in enumerate(("pad", "unk", "cls", "sep", "mask"))},
            is_special=ids < FIRST_WORD,
            starts_word=(ids >= FIRST_WORD) & (ids % 5 != 0),
            unigram_counts=10_000_000 // (1 + ids),
        )
        lengths = np.array([len(row) for row in paragraphs])
        self.table = BlockTable(starts=np.cumsum(lengths) - lengths, lengths=lengths, num_special=2)
        objectives = {"mlm": MaskedLM(), "sbo": SpanBoundary()}
        self.collator = Collator(
            InMemory(vocabulary, np.concatenate(paragraphs)),
            format=SingleSegment(max_length=LONGEST + 2),
            masking=GeometricSpans(),
            replacement=Replacement(unit="span"),
            objectives=objectives,
            seed=0,
        )
        config = EncoderConfig(
            vocab_size=VOCAB_SIZE,
            hidden_size=HIDDEN_SIZE,
            num_layers=NUM_LAYERS,
            num_heads=NUM_HEADS,
            intermediate_size=INTERMEDIATE_SIZE,
        )
        encoder = Encoder(config)
        heads = {name: objective.build(encoder) for name, objective in objectives.items()}
        for name, part in {"encoder": encoder, **heads}.items():
            initialize(part, config, seed=0, prefix=name)
        model = PretrainingModel(encoder, heads, dict.fromkeys(heads, 1.0)).train()
        options = TrainingOptions(learning_rate=1e-4, max_steps=1_000)
        self.updater = Updater(
            model=model,
            optimizer=build_optimizer(model, options),
            device=device,
            precision=resolve_precision("auto", device),
            seed=0,
            max_grad_norm=1.0,
            timer=SectionTimer(device),
        )

    def prepare(self, rows: np.ndarray):
        return self.collator.batch(self.collator.masked(self.table, rows, epoch=0))

    def step(self, index: int, batch) -> int:
        self.updater.update(index + 1, [batch], 1e-4)
        return batch.num_tokens


class InMemory:
    """What a token store gives, without the disk."""

    def __init__(self, vocabulary, ids: np.ndarray) -> None:
        self.vocabulary, self._ids = vocabulary, ids

    def gather(self, starts: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        return np.concatenate([self._ids[s : s + n] for s, n in zip(starts, lengths, strict=True)])


class Peer:
    """`BertForMaskedLM`, trained as the example scripts of transformers train it."""

    def __init__(self, paragraphs: list[np.ndarray], *, bf16: bool) -> None:
        os.environ.setdefault("HF_HUB_OFFLINE", "1")
        import torch
        from transformers import BertConfig, BertForMaskedLM

        self.start_memory = peak_memory()
        self.torch, self.paragraphs, self.bf16 = torch, paragraphs, bf16
        self.rng = np.random.default_rng(0)
        config = BertConfig(
            vocab_size=VOCAB_SIZE,
            hidden_size=HIDDEN_SIZE,
            num_hidden_layers=NUM_LAYERS,
            num_attention_heads=NUM_HEADS,
            intermediate_size=INTERMEDIATE_SIZE,
            hidden_dropout_prob=0.1,
            attention_probs_dropout_prob=0.0,
            attn_implementation="sdpa",
        )
        self.model = BertForMaskedLM(config).train()
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-4, weight_decay=0.01, fused=True)

    def prepare(self, rows: np.ndarray):
        texts = [np.concatenate(([CLS], self.paragraphs[row], [SEP])) for row in rows]
        ids = np.full((len(texts), max(map(len, texts))), PAD)
        for row, text in zip(ids, texts, strict=True):
            row[: len(text)] = text
        real = ids != PAD
        hidden = (self.rng.random(ids.shape) < SHARE_HIDDEN) & (ids >= FIRST_WORD)
        labels = np.where(hidden, ids, -100)
        tensors = {"input_ids": np.where(hidden, MASK, ids), "attention_mask": real.astype(np.int64), "labels": labels}
        return {name: self.torch.from_numpy(array) for name, array in tensors.items()}

    def step(self, index: int, batch) -> int:
        torch = self.torch
        with torch.autocast("cpu", torch.bfloat16, enabled=self.bf16):
            loss = self.model(**batch).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        self.optimizer.zero_grad()
        loss.item()
        return int(batch["attention_mask"].sum())


def peak_memory() -> int:
    """Peak resident set of this process, bytes (Linux counts kibibytes, macOS bytes)."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def batches_of(lengths: np.ndarray, grouped: bool) -> list[np.ndarray]:
    """Rows of every batch, visited in random order; grouped: neighbours in length share a batch."""
    rng = np.random.default_rng(1)
    order = np.argsort(lengths, kind="stable") if grouped else rng.permutation(len(lengths))
    batches = order[: len(order) // BATCH * BATCH].reshape(-1, BATCH)
    return list(rng.permutation(batches))


def work(side: str, data: Path, clock: Callable[[], float]) -> None:
    """A side's own process: one step for every line that comes in, its seconds and tokens out."""
    with np.load(data) as stored:
        paragraphs = np.split(stored["ids"], np.cumsum(stored["lengths"])[:-1])
        batches = batches_of(stored["lengths"], grouped="grouped" in side)
    trainer = Ours(paragraphs) if side == "ours" else Peer(paragraphs, bf16="bf16" in side)
    print(json.dumps({"start_memory": trainer.start_memory}), flush=True)
    for index, _ in enumerate(sys.stdin):
        batch = trainer.prepare(batches[index % len(batches)])
        begin = clock()
        tokens = trainer.step(index, batch)
        seconds = clock() - begin
        print(json.dumps({"seconds": seconds, "tokens": tokens, "memory": peak_memory()}), flush=True)


def run_sides(data: Path, rounds: int, threads: int, clock: str) -> dict[str, dict]:
    """One step of each side in turn; the first two rounds warm up."""
    variables = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), str(threads))
    processes = {
        side: subprocess.Popen(
            [sys.executable, __file__, "--work", side, "--data", str(data), "--clock", clock],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | variables,
        )
        for side in SIDES
    }
    told: dict[str, dict] = {}
    try:
        for side, process in processes.items():
            told[side] = json.loads(process.stdout.readline()) | {"rates": []}
        for index in range(-2, rounds):
            for side, process in processes.items():
                process.stdin.write("\n")
                process.stdin.flush()
                answer = json.loads(process.stdout.readline())
                told[side]["memory"] = answer["memory"]
                if index >= 0:
                    told[side]["rates"].append(answer["tokens"] / answer["seconds"])
    finally:
        for process in processes.values():
            process.stdin.close()
            process.wait()
    return told


def rows_of(told: dict[str, dict]) -> list[dict]:
    ours = told["ours"]
    rows = []
    for side, goal in zip(SIDES[1:], (8.0, None), strict=True):
        ratios = np.array(ours["rates"]) / np.array(told[side]["rates"])
        rows.append(
            {
                "name": f"training step against {side}",
                "unit": "real tokens/s",
                "ours": float(np.median(ours["rates"])),
                "peer": float(np.median(told[side]["rates"])),
                "ratio": float(np.median(ratios)),
                "goal": goal,
                "spread": np.percentile(ratios, [25, 75]).tolist(),
            }
        )
    for what, base, goal in (("whole process", None, 0.25), ("model and step alone", "start_memory", None)):
        for side in SIDES[1:]:
            mine, theirs = (one["memory"] - (one[base] if base else 0) for one in (ours, told[side]))
            rows.append(
                {
                    "name": f"peak memory, {what}, against {side}",
                    "unit": "MiB",
                    "ours": mine / 2**20,
                    "peer": theirs / 2**20,
                    "ratio": mine / theirs,
                    "goal": goal if "fp32" in side else None,
                    "spread": None,
                }
            )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--text", type=Path)
    parser.add_argument("--tokenizer", type=Path)
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--clock", choices=CLOCKS, default="wall")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--work", choices=SIDES, help=argparse.SUPPRESS)
    parser.add_argument("--data", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        work(options.work, options.data, CLOCKS[options.clock])
        return
    paragraphs = paragraphs_of(options.text, options.tokenizer) if options.text else synthetic_paragraphs()
    if len(paragraphs) < BATCH:
        parser.error(f"{options.text} has {len(paragraphs)} paragraphs; at least {BATCH} are needed.")
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "paragraphs.npz"
        np.savez(data, ids=np.concatenate(paragraphs), lengths=np.array([len(row) for row in paragraphs]))
        rows = rows_of(run_sides(data, options.rounds, options.threads, options.clock))
    if options.json:
        print(json.dumps(rows, indent=2))
        return
    for row in rows:
        goal = f", goal {row['goal']}" if row["goal"] else ""
        spread = f" ({row['spread'][0]:.1f} to {row['spread'][1]:.1f})" if row["spread"] else ""
        figures = f"{row['ours']:,.0f} against {row['peer']:,.0f} {row['unit']}"
        print(f"{row['name']}: {figures}, ratio {row['ratio']:.2f}{spread}{goal}")


if __name__ == "__main__":
    main()
