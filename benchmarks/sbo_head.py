"""The span boundary head against the two ways in which people write it.

    python benchmarks/sbo_head.py [--json] [--rounds N] [--threads 2] [--sequences 32] [--length 512]
                                  [--hidden-size 256]

32 x 512 hidden states of 256 values in memory, spans as the paper draws them over 15 % of the tokens (up to 10 words),
vocabulary 30,522; forward, loss and backward down to the hidden states and all weights, the same on all sides.

- ours: `SpanBoundary` as it trains, in float32, and in bf16 where the processor has it;
- peer "gathered": plain PyTorch, the usual good way: boundaries gathered, one matrix product, one `cross_entropy`;
- peer "loop": a Python loop over spans with a loss each, as tutorials write it (the slowest side: one turn).

Speed is in tokens of the batch a second; the losses of all sides are compared before anything is timed. Memory is
what a step adds to data and weights; a few tokens of a vocabulary of 1,000 are computed before, so that code which is
loaded or compiled at a first call counts on no side.
"""

from __future__ import annotations

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

VOCAB_SIZE, NUM_POSITIONS, POSITION_SIZE = 30_522, 30, 200
SMALL = (2, 64, 1_000)  # sequences, tokens and ids of the step before
OURS, OURS_BF16, GATHERED, LOOP = "ours fp32", "ours bf16", "gathered", "loop"
TOLERANCE = {OURS: 1e-4, OURS_BF16: 2e-2, GATHERED: 1e-4, LOOP: 1e-4}  # of the loss, relative


def draw_spans(sequences: int, length: int) -> tuple[np.ndarray, np.ndarray]:
    """Starts and ends [M] in a flat pack: geometric lengths, 15 % of the tokens of each sequence, never touching."""
    rng = np.random.default_rng(0)
    starts, ends = [], []
    for s in range(sequences):
        place, end_of_text = s * length + 1, (s + 1) * length - 1
        wanted, hidden = round(0.15 * (length - 2)), 0
        while hidden < wanted:
            size = int(min(rng.geometric(0.2), 10))
            place += int(rng.integers(8, 38))  # two boundaries and what is left visible between spans
            if place + size >= end_of_text:
                break
            starts.append(place)
            ends.append(place + size)
            place, hidden = place + size, hidden + size
    return np.array(starts), np.array(ends)


class Side:
    """Weights and data that every side shares; a subclass says how the loss is computed."""

    def __init__(self, side: str, sequences: int, length: int, hidden_size: int, vocab_size: int) -> None:
        import torch

        from spanwise.nn.config import EncoderConfig
        from spanwise.nn.encoder import Encoder
        from spanwise.nn.init import initialize
        from spanwise.pretraining.objectives import SpanBoundary

        self.torch, self.side, self.vocab_size = torch, side, vocab_size
        config = EncoderConfig(
            vocab_size=vocab_size,
            hidden_size=hidden_size,
            num_layers=1,
            num_heads=max(1, hidden_size // 64),
            intermediate_size=4 * hidden_size,
        )
        encoder = Encoder(config)
        self.head = SpanBoundary(num_positions=NUM_POSITIONS, position_size=POSITION_SIZE).build(encoder)
        initialize(encoder, config, seed=0, prefix="encoder")
        initialize(self.head, config, seed=0, prefix="sbo")
        self.table = encoder.word_embedding
        self.starts, self.ends = draw_spans(sequences, length)
        rng = np.random.default_rng(1)
        self.ids = torch.from_numpy(rng.integers(5, vocab_size, sequences * length))
        values = rng.standard_normal((sequences * length, hidden_size), dtype=np.float32)
        self.hidden = torch.from_numpy(values).requires_grad_()
        span = np.repeat(np.arange(len(self.starts)), self.ends - self.starts)
        position = np.concatenate([np.arange(s, e) for s, e in zip(self.starts, self.ends, strict=True)])
        self.left = torch.from_numpy(self.starts[span] - 1)
        self.right = torch.from_numpy(self.ends[span])
        self.index = torch.from_numpy(np.minimum(position - self.starts[span], NUM_POSITIONS - 1))
        self.position = torch.from_numpy(position)
        self.peaks: list[float] = []
        self.start_memory = peak_memory()

    def prepare(self, index: int) -> None:
        self.hidden.grad = None
        self.head.zero_grad(set_to_none=True)
        self.table.grad = None

    def step(self, index: int, _: None) -> int:
        loss = self.loss()
        loss.backward()
        self.value = float(loss.detach()) / len(self.position)
        return len(self.hidden)

    def facts(self) -> dict[str, float]:
        """With what the products of a step, forward and backward, would take at this processor's best speed now."""
        from spanwise.training.timing import matmul_peak

        precision = "bf16" if self.side == OURS_BF16 else "fp32"
        peak = matmul_peak.__wrapped__("cpu", precision, self.torch.get_num_threads())
        self.peaks.append(peak)
        head, table = self.head, self.table
        weights = head.linear1.weight.numel() + head.linear2.weight.numel() + table.numel()
        flops = 6 * weights * len(self.position)  # a product of two operations forward, two such backward
        return {"loss": self.value, "flops_per_token": flops / len(self.hidden), "peak": max(self.peaks)}

    def loss(self):
        return {OURS: self.ours, OURS_BF16: self.ours, GATHERED: self.gathered, LOOP: self.loop}[self.side]()

    def ours(self):
        from spanwise.pretraining.objectives.span_boundary import SpanBoundaryTargets

        targets = SpanBoundaryTargets(
            left=self.left, right=self.right, position_index=self.index, ids=self.ids[self.position]
        )
        with self.torch.autocast("cpu", self.torch.bfloat16, enabled=self.side == OURS_BF16):
            return self.head(self.hidden, targets).sum

    def gathered(self):
        F = self.torch.nn.functional
        rows = self.head.transform(self.hidden[self.left], self.hidden[self.right], self.index)
        logits = F.linear(rows, self.table[: self.vocab_size], self.head.bias[: self.vocab_size])
        return F.cross_entropy(logits, self.ids[self.position], reduction="sum")

    def loop(self):
        torch, F = self.torch, self.torch.nn.functional
        losses = []
        for start, end in zip(self.starts.tolist(), self.ends.tolist(), strict=True):
            count = end - start
            left = self.hidden[start - 1].unsqueeze(0).expand(count, -1)
            right = self.hidden[end].unsqueeze(0).expand(count, -1)
            index = torch.arange(count).clamp(max=NUM_POSITIONS - 1)
            rows = self.head.transform(left, right, index)
            logits = F.linear(rows, self.table[: self.vocab_size], self.head.bias[: self.vocab_size])
            losses.append(F.cross_entropy(logits, self.ids[start:end], reduction="sum"))
        return torch.stack(losses).sum()


def warm_side(side: str, sequences: int, length: int, hidden_size: int) -> Side:
    """A side whose code has been loaded and compiled."""
    few, short, small = SMALL
    Side(side, few, short, hidden_size, small).step(0, None)
    return Side(side, sequences, length, hidden_size, VOCAB_SIZE)


def rows_of(told: dict[str, dict]) -> list[dict]:
    losses = {side: told[side]["facts"]["loss"] for side in told}
    for side, loss in losses.items():
        if abs(loss - losses[OURS]) > TOLERANCE[side] * losses[OURS]:
            raise SystemExit(f"the sides do not compute the same loss: {losses}")
    what, unit = "span boundary head", "tokens/s"
    rows = [rate_row(f"{what}, fp32, against gathered PyTorch", unit, told[OURS], told[GATHERED], 1.8)]
    fastest = OURS_BF16 if OURS_BF16 in told else OURS
    if fastest is OURS_BF16:
        rows.append(rate_row(f"{what}, bf16, against gathered PyTorch", unit, told[fastest], told[GATHERED], 3.0))
    rows.append(share_row(f"{what}, fp32, share of the matrix product of this processor", told[OURS], 0.8))
    rows.append(rate_row(f"{what}, fp32, against a loop over spans", unit, told[OURS], told[LOOP]))
    if fastest is OURS_BF16:
        rows.append(rate_row(f"{what}, bf16, against a loop over spans", unit, told[fastest], told[LOOP], 40.0))
    for side, goal in ((LOOP, 0.2), (GATHERED, None)):
        kind = "bf16" if fastest is OURS_BF16 else "fp32"
        name = f"{what}, {kind}, peak memory without data and weights, against {side}"
        rows.append(memory_row(name, told[fastest], told[side], goal, whole=False))
    return rows


def main() -> None:
    parser = timing_options(__doc__, rounds=7)
    parser.add_argument("--sequences", type=int, default=32)
    parser.add_argument("--length", type=int, default=512)
    parser.add_argument("--hidden-size", type=int, default=256)
    options = parser.parse_args()
    shape = (options.sequences, options.length, options.hidden_size)
    if options.work:
        serve(lambda: warm_side(options.work, *shape), CLOCKS[options.clock])
        return
    names = zip(("--sequences", "--length", "--hidden-size", "--clock"), (*shape, options.clock), strict=True)
    own = [__file__, *(str(word) for pair in names for word in pair)]
    sides = [OURS, *([OURS_BF16] if has_bf16() else []), GATHERED, LOOP]
    told = take_turns(
        lambda side: [*own, "--work", side],
        sides,
        rounds=options.rounds,
        seconds=options.seconds,
        threads=options.threads,
        slow={LOOP: 1},
    )
    show_rows(rows_of(told), as_json=options.json)


if __name__ == "__main__":
    main()
