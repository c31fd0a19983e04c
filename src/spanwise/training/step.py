"""One update: forward and backward over the packs of a step, then clip and AdamW, or nothing at all.

Loss of a step: the sum over names of `weight * (loss sums of all packs) / max(1, targets of the whole step)`. Counts
are integers known before the first forward, so packs with different counts weigh as one big batch would. Dropout is
reseeded by (seed, step, pack). Every number is checked before the parameters are touched. Where several processes
compute a step, each has some of its packs, and all of them apply the same gradient.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeVar

import torch
from torch import Tensor, nn

from spanwise.data.batch import Batch
from spanwise.errors import DataError, NumericsError
from spanwise.runtime.device import autocast
from spanwise.runtime.seed import seed_device
from spanwise.training.evaluate import Loss, loss_sum, num_correct
from spanwise.training.optim import Optimizer, clip_gradients, gradient_norm
from spanwise.training.reduce import Reducer, SingleProcess
from spanwise.training.timing import SectionTimer

Number = TypeVar("Number", int, float)


class Model(Protocol):
    """An `nn.Module` that the loop can train: it gives one loss sum per name (an fp32 scalar, or an object with `sum`
    and perhaps `num_correct`), and says how much each weighs."""

    loss_weights: Mapping[str, float]

    def __call__(self, batch: Batch) -> dict[str, Loss]: ...


@dataclass
class StepSums:
    """Sums over some steps: what a log line is made of."""

    losses: dict[str, float] = field(default_factory=dict)
    correct: dict[str, int] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    num_tokens: int = 0  # real ones
    num_padding: int = 0

    def add(self, other: StepSums) -> None:
        _add(self.losses, other.losses)
        _add(self.correct, other.correct)
        _add(self.counts, other.counts)
        self.num_tokens += other.num_tokens
        self.num_padding += other.num_padding

    def means(self) -> dict[str, float]:
        """Mean loss of every name that had a target."""
        return {name: value / self.counts[name] for name, value in self.losses.items() if self.counts.get(name)}

    def accuracies(self) -> dict[str, float]:
        return {name: value / self.counts[name] for name, value in self.correct.items() if self.counts.get(name)}


@dataclass(frozen=True)
class _Share:
    """The sums over the packs of one process, and whether all of its numbers are finite."""

    sums: StepSums
    is_finite: bool


def _add(mine: dict[str, Number], theirs: Mapping[str, Number]) -> None:
    for name, value in theirs.items():
        mine[name] = mine.get(name, 0) + value


@dataclass
class Updater:
    """Applies one step to a model."""

    model: nn.Module
    optimizer: Optimizer
    device: torch.device
    precision: Literal["fp32", "bf16"]
    seed: int
    max_grad_norm: float
    timer: SectionTimer
    reducer: Reducer = field(default_factory=SingleProcess)

    def __post_init__(self) -> None:
        self._trainable = [p for group in self.optimizer.param_groups for p in group["params"]]
        self._weights: Mapping[str, float] = getattr(self.model, "loss_weights", {})

    def update(self, step: int, packs: Sequence[Batch], learning_rate: float) -> tuple[StepSums, float]:
        """Do update number `step` (from 1); return its sums and the norm of its gradient before clipping.

        Raises: NumericsError naming the step, the pack and its blocks, with model and optimizer unchanged;
        DataError where a step has no pack.
        """
        if not packs and self.reducer.size == 1:
            raise DataError(f"step {step} has no pack; the data source is empty.")
        with self.timer.section("communication"):
            totals = self.reducer.counts([batch.counts for batch in packs])
        self.optimizer.zero_grad(set_to_none=True)
        measured = [self._forward_backward(step, k, batch, totals) for k, batch in enumerate(packs)]
        with self.timer.section("communication"):
            self.reducer.gradients(self._trainable)
        with self.timer.section("optimizer"):
            gradients = [p.grad for p in self._trainable if p.grad is not None]
            norm = gradient_norm(gradients)
            numbers = [*(value for pack in measured for value in pack.values()), norm]
            read = torch.stack([value.detach().double().reshape(()) for value in numbers]).tolist()  # one wait per step
        values = iter(read)
        found = [{key: next(values) for key in pack} for pack in measured]
        mine = _Share(sums=_sums(packs, found), is_finite=all(map(math.isfinite, read)))
        with self.timer.section("communication"):
            everyone = self.reducer.gather(mine)
        if not all(one.is_finite for one in everyone):
            raise self._bad_numbers(step, packs, totals, found)
        with self.timer.section("optimizer"):
            clip_gradients(gradients, norm, self.max_grad_norm)
            for group in self.optimizer.param_groups:
                group["lr"] = learning_rate * group["rate_scale"]
            self.optimizer.step()
        sums = StepSums()
        for one in everyone:
            sums.add(one.sums)
        sums.counts = dict(totals)
        return sums, read[-1]

    def _forward_backward(
        self, step: int, k: int, batch: Batch, totals: Mapping[str, int]
    ) -> dict[tuple[str, str], Tensor]:
        """Loss sums and correct guesses of one pack, on the device, after its gradients were added."""
        seed_device(self.seed, "dropout", step, self.reducer.number_in_step(k))
        with self.timer.section("data"):
            batch = batch.to(self.device)
        with self.timer.section("forward"):
            with autocast(self.precision, self.device):
                losses = self.model(batch)
            terms = [
                loss_sum(value).float() * (self._weights.get(name, 1.0) / max(1, totals.get(name, 0)))
                for name, value in losses.items()
            ]
            loss = torch.stack(terms).sum()
        with self.timer.section("backward"):
            if loss.requires_grad:
                loss.backward()
        sums = {("loss", name): loss_sum(value).detach() for name, value in losses.items()}
        right = {("correct", name): num_correct(value) for name, value in losses.items()}
        return sums | {key: value for key, value in right.items() if value is not None}

    def _bad_numbers(
        self, step: int, packs: Sequence[Batch], totals: Mapping[str, int], found: list[dict[tuple[str, str], float]]
    ) -> BadNumbers:
        """Find the pack that is to blame, the same in every process. Nothing has been updated yet."""
        blames = self.reducer.gather(self._blame(step, packs, totals, found))
        too_large = _Blame(0, packs[0].ids if packs else (), "the gradient of the whole step is too large to measure")
        return BadNumbers(step, next((blame for blame in blames if blame is not None), too_large))

    def _blame(
        self, step: int, packs: Sequence[Batch], totals: Mapping[str, int], found: list[dict[tuple[str, str], float]]
    ) -> _Blame | None:
        """Return what is wrong with the packs of this process; None where nothing is."""
        for k, pack in enumerate(found):
            for (_, name), value in pack.items():
                if not math.isfinite(value):
                    number = self.reducer.number_in_step(k)
                    return _Blame(number, packs[k].ids, f"the loss of {name!r} is {value}")
        for k, batch in enumerate(packs):  # the losses are finite: redo pack by pack to find the gradient that is not
            self.optimizer.zero_grad(set_to_none=True)
            self._forward_backward(step, k, batch, totals)
            for name, parameter in self.model.named_parameters():
                if parameter.grad is not None and not torch.isfinite(parameter.grad).all():
                    return _Blame(self.reducer.number_in_step(k), batch.ids, f"the gradient of {name} is not finite")
        return None


def _sums(packs: Sequence[Batch], found: list[dict[tuple[str, str], float]]) -> StepSums:
    """The sums over the packs of one process."""
    sums = StepSums(
        num_tokens=sum(batch.num_tokens for batch in packs), num_padding=sum(batch.num_padding for batch in packs)
    )
    for pack in found:
        _add(sums.losses, {name: value for (kind, name), value in pack.items() if kind == "loss"})
        right = {name: value for (kind, name), value in pack.items() if kind == "correct"}
        _add(sums.correct, {name: int(value) if math.isfinite(value) else 0 for name, value in right.items()})
    return sums


@dataclass(frozen=True)
class _Blame:
    """The pack (its place in the step and its block ids) that bad numbers came from."""

    pack: int
    ids: tuple[int, ...]
    what: str


class BadNumbers(NumericsError):
    """A NumericsError that carries the step, the pack and its block ids, to replay it from."""

    def __init__(self, step: int, blame: _Blame) -> None:
        self.step, self.pack, self.ids = step, blame.pack, tuple(blame.ids)
        shown = ", ".join(map(str, blame.ids[:8])) + (", ..." if len(blame.ids) > 8 else "")
        super().__init__(
            f"step {step}, pack {blame.pack} (blocks {shown or 'unnamed'}): {blame.what}. Nothing was updated. Lower "
            "training.learning_rate, lengthen training.warmup_steps, or use training.precision=fp32."
        )
