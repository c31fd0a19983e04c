"""A training step against the model that most people train.

    python benchmarks/training_step.py [--size 4x256|4x512|12x768] [--text FILE [--tokenizer DIR]] [--json] [--rounds N]
                                       [--threads 2] [--clock cpu] [--without SIDE]...

4 layers x 256 (or another size), heads of 64, feed-forward four times as wide, vocabulary 30,522, two threads, 32
paragraphs a step, 16 at 12 x 768 (lognormal lengths, median 116, mean about 127 tokens; or the paragraphs of `--text`).
Hidden dropout 0.1 and attention dropout 0 on both sides, fused AdamW and clipping on both. Batches are made beforehand,
so neither side's collator counts.

- ours: masked LM and span boundary objective, packed, bf16 where the processor has it, the training loop's own step,
  by one process with all threads, and by as many processes of one thread (`pretrain --processes`) on the same batches;
- peer (a): `BertForMaskedLM` of transformers, SDPA, float32, 32 random paragraphs padded to the longest, as its
  example script trains; masked LM alone, which gives the peer one vocabulary projection less;
- peer (b): the same under bf16 autocast with paragraphs of like length grouped in a batch.

Speed is in real tokens a second. Every side runs in its own process, a step of each in turn, so a busy machine slows
all; ratios are medians of the rounds' ratios, the spread is their middle half. Memory is the peak resident set of the
process, once whole and once without what stood before the model was built (interpreter and libraries). One row holds
our speed, in operations a second by the formula of nn/flops.py, against the matrix product of the processor, measured
between the turns in the same process with as many threads.
`--clock cpu --threads 1` counts processor time in place of wall-clock time: fairer on a machine that others use, where
two threads that wait for each other lose most. `--without "peer bf16, grouped by length"` leaves a side out: a round of
the larger sizes takes minutes.
"""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from interleaved import (
    CLOCKS,
    has_bf16,
    memory_row,
    peak_memory,
    rate_row,
    serve,
    share_row,
    show_rows,
    take_turns,
    timing_options,
)

from spanwise.runtime.processes.distributed import Group, join_processes

VOCAB_SIZE, LONGEST, SHARE_HIDDEN, NUM_PARAGRAPHS = 30_522, 510, 0.15, 4_096
PAD, CLS, SEP, MASK, FIRST_WORD = 0, 2, 3, 4, 5
SHARED = "ours, one process a core"
SIDES = ("ours", SHARED, "peer fp32, random batches", "peer bf16, grouped by length")


@dataclass(frozen=True)
class Size:
    """A shape with its goals: over the padded float32 peer, over the grouped bf16 peer, of memory, of the peak."""

    num_layers: int
    hidden_size: int
    num_heads: int
    batch: int
    goals: tuple[float | None, float | None, float | None, float | None]

    @property
    def shape(self) -> dict[str, int]:
        return {
            "vocab_size": VOCAB_SIZE,
            "hidden_size": self.hidden_size,
            "num_heads": self.num_heads,
            "num_layers": self.num_layers,
            "intermediate_size": 4 * self.hidden_size,
        }


SIZES = {
    "4x256": Size(4, 256, 4, 32, (15.0, 2.7, 0.25, None)),
    "4x512": Size(4, 512, 8, 32, (9.0, None, None, None)),
    "12x768": Size(12, 768, 12, 16, (4.5, None, None, 0.7)),
    "2x128": Size(2, 128, 2, 8, (None, None, None, None)),  # to try the command itself
}


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

    def __init__(
        self,
        size: Size,
        paragraphs: list[np.ndarray],
        batches: list[np.ndarray],
        group=None,
        device_name="cpu",
        shape: int | None = None,  # tokens of every pack, where all have one shape
        exact_sums: bool = False,
        graphs: Any = None,  # training.compiled.graphs.Graphs; None: kernels one by one
    ) -> None:
        import torch

        from spanwise.data.vocabulary import Vocabulary
        from spanwise.nn.config import EncoderConfig
        from spanwise.nn.encoder import Encoder
        from spanwise.nn.flops import training_flops_per_token
        from spanwise.nn.init import initialize
        from spanwise.pretraining.collate import Collator, PackParts
        from spanwise.pretraining.describe import head_costs
        from spanwise.pretraining.formats import BlockTable, SingleSegment
        from spanwise.pretraining.masking import GeometricSpans, Replacement
        from spanwise.pretraining.model import PretrainingModel
        from spanwise.pretraining.objectives import MaskedLM, SpanBoundary
        from spanwise.pretraining.packing.shape import TRIED_PACKS
        from spanwise.runtime.device import resolve_precision
        from spanwise.training.optim import build_optimizer
        from spanwise.training.plan import TrainingOptions
        from spanwise.training.reduce import SeveralProcesses, SingleProcess
        from spanwise.training.step import Updater
        from spanwise.training.timing import SectionTimer

        self.start_memory = peak_memory()
        self.batches = batches if group is None else [rows[group.world.rank :: group.world.size] for rows in batches]
        device = torch.device(device_name)
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
        parts = PackParts(
            format=SingleSegment(max_length=LONGEST + 2),
            masking=GeometricSpans(),
            replacement=Replacement(unit="span"),
            objectives=objectives,
            max_tokens=shape,
            fixed=shape is not None,
        ).settled([self.table])
        self.collator = Collator(InMemory(vocabulary, np.concatenate(paragraphs)), parts, seed=0)
        if parts.fixed:  # the shape of all packs, by what the first of them need
            packs = (self.collator.masked(self.table, rows, epoch=0) for rows in self.batches[:TRIED_PACKS])
            self.collator.parts = parts.shaped(self.collator.tried(packs))
        config = EncoderConfig(**size.shape)
        encoder = Encoder(config)
        heads = {name: objective.build(encoder) for name, objective in objectives.items()}
        for name, part in {"encoder": encoder, **heads}.items():
            initialize(part, config, seed=0, prefix=name)
        model = PretrainingModel(encoder, heads, dict.fromkeys(heads, 1.0)).to(device).train()
        options = TrainingOptions(learning_rate=1e-4, max_steps=1_000)
        self.updater = Updater(
            model=model,
            optimizer=build_optimizer(model, options),
            device=device,
            precision=resolve_precision("auto", device),
            seed=0,
            max_grad_norm=1.0,
            timer=SectionTimer(device),
            reducer=SingleProcess() if group is None else SeveralProcesses(group),
            exact_sums=exact_sums,
            graphs=graphs,
        )
        packed = lengths + 2.0
        shares = SHARE_HIDDEN * lengths.sum() / packed.sum()
        costs = head_costs(objectives, heads, config.vocab_size, packed.mean(), shares)
        self.flops_per_token = training_flops_per_token(config, (packed**2).sum() / packed.sum(), costs)
        self.peaks: list[float] = []

    def prepare(self, index: int):
        masked = self.collator.masked(self.table, self.batches[index % len(self.batches)], epoch=0)
        return self.updater.keyed(index + 1, self.collator.batch(masked))

    def step(self, index: int, batch) -> int:
        sums, _ = self.updater.update(index + 1, [batch], 1e-4)
        return sums.num_tokens

    def facts(self) -> dict[str, Any]:
        """What the processor's own product reaches now; the best of all turns is its peak."""
        import torch

        from spanwise.training.timing import matmul_peak

        peak = matmul_peak.__wrapped__(str(self.updater.device), self.updater.precision, torch.get_num_threads())
        self.peaks.append(peak)
        return {"peak": max(self.peaks), "flops_per_token": self.flops_per_token, "precision": self.updater.precision}


class Shared:
    """The same by several processes, which share each batch: this one leads, and starts the others."""

    def __init__(self, num_processes: int, make: Callable[[Group], Ours]) -> None:
        names = {"WORLD_SIZE": num_processes, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": free_port()}
        os.environ.update({name: str(value) for name, value in names.items()})
        self.followers = [
            subprocess.Popen(
                [sys.executable, *sys.argv],
                env=os.environ | {"RANK": str(rank), "LOCAL_RANK": str(rank)},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
            )
            for rank in range(1, num_processes)
        ]
        os.environ["RANK"] = os.environ["LOCAL_RANK"] = "0"
        self.stack = contextlib.ExitStack()
        self.group = self.stack.enter_context(join_processes())
        self.ours = make(self.group)
        self.start_memory = self.ours.start_memory

    def prepare(self, index: int):
        self.group.gather(index)
        return self.ours.prepare(index)

    def step(self, index: int, batch) -> int:
        return self.ours.step(index, batch)

    def facts(self) -> dict[str, Any]:
        return {}

    def close(self) -> None:
        self.group.gather(None)
        self.stack.close()
        for follower in self.followers:
            follower.wait()


def follow(make: Callable[[Group], Ours]) -> None:
    """A process that another leads."""
    with join_processes() as group:
        ours = make(group)
        while (index := group.gather(None)[0]) is not None:
            ours.step(index, ours.prepare(index))


class InMemory:
    """What a token store gives, without the disk."""

    def __init__(self, vocabulary, ids: np.ndarray) -> None:
        self.vocabulary, self._ids = vocabulary, ids

    def gather(self, starts: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        return np.concatenate([self._ids[s : s + n] for s, n in zip(starts, lengths, strict=True)])


class Peer:
    """`BertForMaskedLM`, trained as the example scripts of transformers train it."""

    def __init__(
        self,
        size: Size,
        paragraphs: list[np.ndarray],
        batches: list[np.ndarray],
        *,
        bf16: bool,
        device_name: str = "cpu",
        compiled: bool = False,
        whole_length: bool = False,
    ) -> None:
        os.environ.setdefault("HF_HUB_OFFLINE", "1")
        import torch
        from transformers import BertConfig, BertForMaskedLM

        self.start_memory = peak_memory()
        self.torch, self.paragraphs, self.batches, self.bf16 = torch, paragraphs, batches, bf16
        self.rng = np.random.default_rng(0)
        config = BertConfig(
            vocab_size=VOCAB_SIZE,
            hidden_size=size.hidden_size,
            num_hidden_layers=size.num_layers,
            num_attention_heads=size.num_heads,
            intermediate_size=4 * size.hidden_size,
            hidden_dropout_prob=0.1,
            attention_probs_dropout_prob=0.0,
            attn_implementation="sdpa",
        )
        self.device_name, self.whole_length = device_name, whole_length
        self.model = BertForMaskedLM(config).to(device_name).train()
        self.forward = torch.compile(self.model, dynamic=False) if compiled else self.model
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-4, weight_decay=0.01, fused=True)

    def prepare(self, index: int):
        rows = self.batches[index % len(self.batches)]
        texts = [np.concatenate(([CLS], self.paragraphs[row], [SEP])) for row in rows]
        longest = LONGEST + 2 if self.whole_length else max(map(len, texts))
        ids = np.full((len(texts), longest), PAD)
        for row, text in zip(ids, texts, strict=True):
            row[: len(text)] = text
        real = ids != PAD
        hidden = (self.rng.random(ids.shape) < SHARE_HIDDEN) & (ids >= FIRST_WORD)
        labels = np.where(hidden, ids, -100)
        tensors = {"input_ids": np.where(hidden, MASK, ids), "attention_mask": real.astype(np.int64), "labels": labels}
        return {name: self.torch.from_numpy(array).to(self.device_name) for name, array in tensors.items()}

    def step(self, index: int, batch) -> int:
        torch = self.torch
        with torch.autocast(torch.device(self.device_name).type, torch.bfloat16, enabled=self.bf16):
            loss = self.forward(**batch).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        self.optimizer.zero_grad()
        loss.item()
        return int(batch["attention_mask"].sum())


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def batches_of(lengths: np.ndarray, grouped: bool, batch: int = 32) -> list[np.ndarray]:
    """Rows of every batch, visited in random order; grouped: neighbours in length share a batch."""
    rng = np.random.default_rng(1)
    order = np.argsort(lengths, kind="stable") if grouped else rng.permutation(len(lengths))
    batches = order[: len(order) // batch * batch].reshape(-1, batch)
    return list(rng.permutation(batches))


def make_side(side: str, size: Size, data: Path, threads: int):
    """Build a side in its own process."""
    with np.load(data) as stored:
        paragraphs = np.split(stored["ids"], np.cumsum(stored["lengths"])[:-1])
        batches = batches_of(stored["lengths"], grouped="grouped" in side, batch=size.batch)
    if side == SHARED:
        return Shared(threads, lambda group: Ours(size, paragraphs, batches, group))
    if side == "ours":
        return Ours(size, paragraphs, batches)
    return Peer(size, paragraphs, batches, bf16="bf16" in side)


def rows_of(name: str, told: dict[str, dict]) -> list[dict]:
    """The rows of one size."""
    size, ours = SIZES[name], told["ours"]
    fastest = max((told[side] for side in SIDES[:2] if side in told), key=lambda one: float(np.median(one["rates"])))
    over_padded, over_grouped, of_memory, of_peak = size.goals
    what = f"training step {name}"
    rows = [
        rate_row(f"{what}{how} against {side}", "real tokens/s", mine, told[side], goal if mine is fastest else None)
        for side, goal in zip(SIDES[2:], (over_padded, over_grouped), strict=True)
        if side in told
        for mine, how in ((ours, ""), (told.get(SHARED), ", one process a core,"))
        if mine is not None
    ]
    for whole in (True, False):
        where = "whole process" if whole else "model and step alone"
        rows += [
            memory_row(
                f"{what}, peak memory, {where}, against {side}",
                ours,
                told[side],
                of_memory if whole and "fp32" in side else None,
                whole=whole,
            )
            for side in SIDES[2:]
            if side in told
        ]
    facts = ours["facts"]
    name = f"{what}, share of the {facts['precision']} matrix product of this processor"
    rows.append(share_row(name, {**fastest, "facts": facts}, of_peak))
    return rows


def main() -> None:
    parser = timing_options(__doc__, rounds=12)
    parser.add_argument("--size", choices=SIZES, default="4x256")
    parser.add_argument("--sequences", type=int, help="of a batch, where this machine is slow or has little memory")
    parser.add_argument("--text", type=Path)
    parser.add_argument("--tokenizer", type=Path)
    parser.add_argument("--without", choices=SIDES[1:], action="append", default=[], metavar="SIDE")
    options = parser.parse_args()
    size = SIZES[options.size]
    size = replace(size, batch=options.sequences or size.batch)
    if options.work and "RANK" in os.environ:
        with np.load(options.data) as stored:
            given = np.split(stored["ids"], np.cumsum(stored["lengths"])[:-1])
            batches = batches_of(stored["lengths"], grouped=False, batch=size.batch)
        follow(lambda group: Ours(size, given, batches, group))
        return
    if options.work:
        serve(lambda: make_side(options.work, size, options.data, options.threads), CLOCKS[options.clock])
        return
    paragraphs = paragraphs_of(options.text, options.tokenizer) if options.text else synthetic_paragraphs()
    if len(paragraphs) < size.batch:
        parser.error(f"{options.text} has {len(paragraphs)} paragraphs; at least {size.batch} are needed.")
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "paragraphs.npz"
        np.savez(data, ids=np.concatenate(paragraphs), lengths=np.array([len(row) for row in paragraphs]))
        own = [
            __file__,
            "--size",
            options.size,
            "--sequences",
            str(size.batch),
            "--data",
            str(data),
            "--clock",
            options.clock,
        ]
        own += ["--threads", str(options.threads)]
        left_out = options.without + ([SHARED] if options.threads == 1 else [])
        left_out += [] if has_bf16() else [side for side in SIDES if "bf16" in side]
        sides = [side for side in SIDES if side not in left_out]
        threads = dict.fromkeys(sides, options.threads) | {SHARED: 1}
        told = take_turns(
            lambda side: [*own, "--work", side], sides, rounds=options.rounds, seconds=options.seconds, threads=threads
        )
    show_rows(rows_of(options.size, told), as_json=options.json)


if __name__ == "__main__":
    main()
