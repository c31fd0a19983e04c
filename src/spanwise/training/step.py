"""One update: forward and backward over the packs of a step, then clip and AdamW, or nothing at all.

Loss of a step: the sum over names of `weight * (loss sums of all packs) / max(1, targets of the whole step)`. Counts
are integers known before the first forward, so packs with different counts weigh as one big batch would. What a token
drops is a function of (seed, step, sequence, token), so another packing changes rounding alone. Where several processes
compute a step, each has some of its packs, and all of them apply the same gradient.

A step is begun and, some steps later, read. Whether its numbers are finite is decided where they are computed, so that
the host never waits in between: a flag on the device, once set, keeps every later update from touching parameters and
moments. Whoever reads the numbers then finds the model as it was before the bad step.
"""

from __future__ import annotations

import contextlib
import functools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from spanwise.data.batch import Batch
from spanwise.errors import DataError, NumericsError
from spanwise.runtime.device import HostCopy, autocast
from spanwise.runtime.memory import keep_freed_memory
from spanwise.runtime.seed import keys_for, seed_device
from spanwise.training.compiled.graphs import Graphs, Key, Scale
from spanwise.training.evaluate import loss_sum, num_correct
from spanwise.training.exact import AddedGradients, CopiedGradients, ExactGradients, Gradients
from spanwise.training.optim import Optimizer, clip_gradients, guard, let_record
from spanwise.training.pieces import KeptModel
from spanwise.training.reduce import Reducer, SingleProcess
from spanwise.training.timing import SectionTimer

Number = TypeVar("Number", int, float)
Section = Callable[[str], contextlib.AbstractContextManager[None]]  # measures what is inside, under a name


def _unmeasured(name: str) -> contextlib.AbstractContextManager[None]:
    return contextlib.nullcontext()


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
    """The sums over the packs of one process, the norm of the whole gradient, and whether all numbers are finite."""

    sums: StepSums  # but for the losses
    losses: dict[str, list[float]]  # of each pack: added once all are here, so that their order changes no bit
    norm: float
    is_finite: bool


@dataclass(frozen=True)
class Begun:
    """A step whose numbers may still be in the making: its packs, and where the numbers will be."""

    step: int
    packs: Sequence[Batch]
    totals: Mapping[str, int]
    keys: Sequence[tuple[int, Key]]  # of each number but the last, which is the norm: its pack and what it is
    numbers: HostCopy


def _add(mine: dict[str, Number], theirs: Mapping[str, Number]) -> None:
    for name, value in theirs.items():
        mine[name] = mine.get(name, 0) + value


@dataclass
class Updater:
    """Applies steps to a model."""

    model: nn.Module
    optimizer: Optimizer
    device: torch.device
    precision: Literal["fp32", "bf16"]
    seed: int
    max_grad_norm: float
    timer: SectionTimer
    reducer: Reducer = field(default_factory=SingleProcess)
    exact_sums: bool = False  # gradients have the same bits for any number of processes
    kept: KeptModel | None = None  # None: this process keeps the whole model
    graphs: Graphs | None = None  # None: the host starts every kernel by itself

    def __post_init__(self) -> None:
        keep_freed_memory()
        self._kept = self.kept or KeptModel(self.model)
        self._trainable = [p for group in self.optimizer.param_groups for p in group["params"]]
        self._weights: Mapping[str, float] = getattr(self.model, "loss_weights", {})
        kind = ExactGradients if self.exact_sums else AddedGradients if self.graphs is None else CopiedGradients
        held = {piece.tensor: piece for piece in self._kept.pieces}
        self._gradients: Gradients = kind([held[tensor] for tensor in self._trainable], self.reducer)
        self._bad = torch.zeros((), device=self.device)  # 1 from the first number on that is not finite
        guard(self.optimizer, self._bad)
        self._rate, self._norm = torch.zeros(2, device=self.device).unbind()  # those of the update, for its graph
        if self.graphs is not None:
            let_record(self.optimizer)

    def update(self, step: int, packs: Sequence[Batch], learning_rate: float) -> tuple[StepSums, float]:
        """Do update number `step` and wait for its sums and the norm of its gradient. Raises: as `begin` and `read`."""
        return self.read([self.begin(step, packs, learning_rate)])[0]

    def begin(self, step: int, packs: Sequence[Batch], learning_rate: float) -> Begun:
        """Do update number `step` (from 1), or nothing if it or one before it has a bad number; wait for no device.

        Raises: DataError where a step has no pack.
        """
        if not packs and self.reducer.size == 1:
            raise DataError(f"step {step} has no pack; the data source is empty.")
        packs = [self.keyed(step, batch) for batch in packs]
        with self.timer.section("communication"):
            totals = self.reducer.counts([batch.counts for batch in packs])
            rounds = self._kept.rounds(packs)
        self.optimizer.zero_grad(set_to_none=True)
        measured: list[Mapping[Key, Tensor]] = []
        for k, batch in enumerate(rounds):
            found = self._forward_backward(step, k, batch, totals, weighs=k < len(packs))
            measured += [found] if k < len(packs) else []
            with self.timer.section("backward"):
                self._gradients.take()
        with self.timer.section("communication"):
            self._gradients.meet()
        with self.timer.section("optimizer"):
            norm = self._gradients.norm()
            keys, numbers = _joined(measured, norm)
            is_bad = (numbers.sum() * 0.0).ne(0.0).float()  # of one that is not finite the product is not-a-number
        with self.timer.section("communication"):
            is_bad = self.reducer.total(is_bad)
        with self.timer.section("optimizer"):
            torch.maximum(self._bad, is_bad.clamp(max=1.0), out=self._bad)
            self._update(norm, learning_rate)
        return Begun(step, packs, totals, keys, HostCopy(numbers))

    def keyed(self, step: int, batch: Batch) -> Batch:
        """Return a pack of update number `step` with the keys of what its tokens drop: a function of seed, step,
        sequence and token. One that has them stays as it is."""
        sequences = batch.sequences
        if sequences.keys is not None:
            return batch
        ids_S = np.arange(-1, -1 - len(sequences.lengths), -1)  # of filler, or where nothing has a name
        ids = batch.sequence_ids or batch.ids
        ids_S[: len(ids)] = ids[: len(ids_S)]
        return replace(batch, sequences=sequences.keyed(keys_for(self.seed, "dropout", step, ids_S)))

    def rehearse(self, batch: Batch) -> None:
        """Compute losses and gradients of a pack and forget them; the model stays as it is."""
        self._forward_backward(1, 0, batch, batch.counts)
        self.optimizer.zero_grad(set_to_none=True)

    def read(self, steps: Sequence[Begun]) -> list[tuple[StepSums, float]]:
        """Return the sums of steps and the norms of their gradients before clipping, once the device has them.

        Raises: NumericsError naming the first bad step, the pack and its blocks, with model and optimizer as they were
        before that step.
        """
        found = [_by_pack(one) for one in steps]
        mine = [_share(one, *values) for one, values in zip(steps, found, strict=True)]
        with self.timer.section("communication"):
            everyone = self.reducer.gather(mine)
        read = []
        for one, (packs, _), shares in zip(steps, found, zip(*everyone, strict=True), strict=True):
            if not all(share.is_finite for share in shares):
                raise self._bad_numbers(one, packs)
            sums = StepSums()
            losses: dict[str, list[float]] = {}
            for share in shares:
                sums.add(share.sums)
                for name, values in share.losses.items():
                    losses.setdefault(name, []).extend(values)
            sums.losses = {name: math.fsum(values) for name, values in losses.items()}
            sums.counts = dict(one.totals)
            read.append((sums, shares[0].norm))
        return read

    def record(self, packs: Sequence[Batch]) -> None:
        """Keep forward and backward of packs as a graph, and the update once it has been done; where that works."""
        if self.graphs is not None:
            packs = [pack.to(self.device) for pack in packs]
            scale = self._scale(packs[-1].counts if packs else {})
            self.graphs.record_pack(packs, self._compute, scale, self._trainable)

    def _update(self, norm: Tensor, learning_rate: float) -> None:
        """Clip the gradients, whose norm is given, and let the optimizer do its step."""
        if self.graphs is None:
            return self._apply(norm, learning_rate)
        self._rate.fill_(learning_rate)
        self._norm.copy_(norm)
        if self.graphs.update is not None and self.graphs.update.fits(self._trainable):
            return self.graphs.update()
        reached, state = [p for p in self._trainable if p.grad is not None], self.optimizer.state
        if self.graphs.wants_update and all(state.get(parameter) for parameter in reached):
            moments = [value for one in state.values() for value in one.values()]
            apply = functools.partial(self._apply, self._norm, self._rate)
            return self.graphs.record_update(apply, reached, moments, [self._norm, self._rate])
        self._apply(self._norm, self._rate)

    def _apply(self, norm: Tensor, learning_rate: float | Tensor) -> None:
        clip_gradients([p.grad for p in self._trainable if p.grad is not None], norm, self.max_grad_norm)
        for group in self.optimizer.param_groups:
            group["lr"] = learning_rate * group["rate_scale"]
        self.optimizer.step()

    def _forward_backward(
        self, step: int, k: int, batch: Batch, totals: Mapping[str, int], *, weighs: bool = True
    ) -> Mapping[Key, Tensor]:
        """Loss sums and correct guesses of one pack, on the device, after its gradients were added. One that does not
        weigh only accompanies the packs of other processes."""
        seed_device(self.seed, "pack", step, self.reducer.number_in_step(k))
        scale = self._scale(totals) if weighs else lambda name: 0.0
        if self.graphs is not None and self.graphs.fits(batch):
            assert self.graphs.pack is not None
            with self.timer.section("forward"):
                return self.graphs.pack(batch, scale)
        with self.timer.section("data"):
            batch = batch.to(self.device)
        return self._compute(batch, scale, self.timer.section)

    def _scale(self, totals: Mapping[str, int]) -> Callable[[str], float]:
        """By what each loss sum is multiplied, given the numbers of targets of the whole step."""
        return lambda name: self._weights.get(name, 1.0) / max(1, totals.get(name, 0))

    def _compute(self, batch: Batch, scale: Scale, section: Section = _unmeasured) -> dict[Key, Tensor]:
        """What `_forward_backward` returns; nothing here depends on a number that the device computes."""
        with section("forward"):
            with self._kept.computing(), autocast(self.precision, self.device):
                losses = self.model(batch)
            terms = [loss_sum(value).float() * scale(name) for name, value in losses.items()]
            loss = torch.stack(terms).sum()
        with section("backward"), self._kept.computing():
            if loss.requires_grad:
                loss.backward()
        sums = {("loss", name): loss_sum(value) for name, value in losses.items()}
        right = {("correct", name): num_correct(value) for name, value in losses.items()}
        found = sums | {key: value for key, value in right.items() if value is not None}
        return {key: value.detach() for key, value in found.items()}

    def _bad_numbers(self, one: Begun, found: list[dict[Key, float]]) -> BadNumbers:
        """Find the pack that is to blame, the same in every process. Nothing has been updated since."""
        blames = self.reducer.gather(self._blame(one, found))
        ids = one.packs[0].ids if one.packs else ()
        too_large = _Blame(0, ids, "the gradient of the whole step is too large to measure")
        return BadNumbers(one.step, next((blame for blame in blames if blame is not None), too_large))

    def _blame(self, one: Begun, found: list[dict[Key, float]]) -> _Blame | None:
        """Return what is wrong with the packs of this process; None where nothing is."""
        blames = [
            _Blame(self.reducer.number_in_step(k), one.packs[k].ids, f"the loss of {name!r} is {value}")
            for k, pack in enumerate(found)
            for (_, name), value in pack.items()
            if not math.isfinite(value)
        ]
        if not blames or self._kept.is_cut:  # redo the packs for the gradient that is not; where needed, all together
            with self._kept.own_gradients():
                for k, batch in enumerate(self._kept.rounds(one.packs)):
                    name = self._bad_gradient(one, k, batch)
                    if name is not None and k < len(one.packs):
                        number = self.reducer.number_in_step(k)
                        blames.append(_Blame(number, batch.ids, f"the gradient of {name} is not finite"))
        return next(iter(blames), None)

    def _bad_gradient(self, one: Begun, k: int, batch: Batch) -> str | None:
        """Compute a pack again and return the name of the first parameter whose gradient is not finite."""
        self.optimizer.zero_grad(set_to_none=True)
        self._forward_backward(one.step, k, batch, one.totals)
        gradients = [(piece.name, piece.take_gradient()) for piece in self._kept.pieces]
        return next((name for name, g in gradients if g is not None and not torch.isfinite(g).all()), None)


def _joined(measured: Sequence[Mapping[Key, Tensor]], norm: Tensor) -> tuple[list[tuple[int, Key]], Tensor]:
    """All numbers of a step as one tensor of doubles, the norm last, and what each of the others is."""
    kinds: dict[torch.dtype, list[tuple[int, Key]]] = {}
    for k, pack in enumerate(measured):
        for key, value in pack.items():
            kinds.setdefault(value.dtype, []).append((k, key))
    parts = [torch.stack([measured[k][key].reshape(()) for k, key in keys]).double() for keys in kinds.values()]
    return [key for keys in kinds.values() for key in keys], torch.cat([*parts, norm.double().reshape(1)])


def _by_pack(one: Begun) -> tuple[list[dict[Key, float]], float]:
    """The numbers of each pack, and the norm."""
    *values, norm = one.numbers.read()
    found: list[dict[Key, float]] = [{} for _ in one.packs]
    for (k, key), value in zip(one.keys, values, strict=True):
        found[k][key] = value
    return found, norm


def _share(one: Begun, found: list[dict[Key, float]], norm: float) -> _Share:
    """The sums over the packs of one process."""
    sums = StepSums(
        num_tokens=sum(batch.num_tokens for batch in one.packs),
        num_padding=sum(batch.num_padding for batch in one.packs),
    )
    losses: dict[str, list[float]] = {}
    is_finite = math.isfinite(norm)
    for pack in found:
        is_finite = is_finite and all(map(math.isfinite, pack.values()))
        for name in [name for kind, name in pack if kind == "loss"]:
            losses.setdefault(name, []).append(pack["loss", name])
        right = {name: value for (kind, name), value in pack.items() if kind == "correct"}
        _add(sums.correct, {name: int(value) if math.isfinite(value) else 0 for name, value in right.items()})
    return _Share(sums, losses, norm, is_finite)


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
