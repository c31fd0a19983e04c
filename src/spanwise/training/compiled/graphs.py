"""Computations that a GPU keeps as CUDA graphs: the host starts all kernels of one at once, for models whose kernels
are shorter than the time to start each.

A graph reads and writes the memory that it was recorded with. So a pack is copied to where the recorded one lies, and
what comes out is copied before the next pack overwrites it. What the host decided while a graph was recorded stays
decided: so each is tried on values that it was not recorded with (a pack on another one, an update on another rate and
norm), and kept if it gives what single kernels give.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from spanwise.data.batch import Batch
from spanwise.runtime.wording import said_first

Key = tuple[str, str]  # "loss" or "correct", and the name of a loss
Replay = Callable[[], object]
Record = Callable[[Callable[[], None]], Replay]  # keeps what a call starts, and returns what starts it again
Scale = Callable[[str], float | Tensor]  # by what the sum of a loss is multiplied
Compute = Callable[[Batch, Scale], Mapping[Key, Tensor]]  # forward and backward of a pack

ALIKE = 1e-2  # relative: how far numbers of a graph may be from those of its kernels one by one
ROUNDING = 1e-5  # the same beside all tensors together


def cuda_graph(compute: Callable[[], None]) -> Replay:
    """Record what a call starts on a GPU; nothing is computed yet. Other threads may use the GPU meanwhile."""
    graph, stream = torch.cuda.CUDAGraph(), torch.cuda.current_stream()
    try:
        with torch.cuda.graph(graph, capture_error_mode="thread_local"):
            compute()
    finally:
        torch.cuda.set_stream(stream)  # a recording that fails leaves its own
    return graph.replay


class PackGraph:
    """Forward and backward of packs of one shape. Gradients are those of the last pack alone, and are overwritten.

    any_lengths: whether sequences of other lengths were tried, and so may follow.
    """

    def __init__(
        self,
        batch: Batch,
        names: Sequence[str],
        compute: Compute,
        parameters: Sequence[Tensor],
        record: Record,
        *,
        any_lengths: bool = True,
    ) -> None:
        self._shape, self._lengths = shape_of(batch), None if any_lengths else batch.sequences.lengths
        batch = batch.changed(torch.clone)
        self._places = _tensors(batch)
        self._names, self._parameters = names, parameters
        self._scales = torch.ones(len(names), device=batch.input_ids.device)
        self._keys: list[Key] = []
        self._numbers = self._scales  # written by the first call
        self._replay = record(lambda: self._compute(batch, compute))
        self._gradients = [parameter.grad for parameter in parameters]

    def _compute(self, batch: Batch, compute: Compute) -> None:
        found = compute(batch, lambda name: self._scales[self._names.index(name)])
        self._keys = list(found)
        self._numbers = torch.stack([value.reshape(()).double() for value in found.values()])

    def fits(self, batch: Batch) -> bool:
        """Return whether a pack has the shape of the recorded one."""
        return shape_of(batch) == self._shape and self._lengths in (None, batch.sequences.lengths)

    def __call__(self, batch: Batch, scale: Scale) -> dict[Key, Tensor]:
        """Compute a pack that fits, on this device or in pinned memory; leave its gradients in the parameters."""
        scales = torch.tensor([scale(name) for name in self._names])
        scales = scales.pin_memory() if self._scales.is_cuda else scales
        for place, given in zip([*self._places, self._scales], [*_tensors(batch), scales], strict=True):
            place.copy_(given, non_blocking=True)
        self._replay()
        for parameter, gradient in zip(self._parameters, self._gradients, strict=True):
            parameter.grad = gradient
        return dict(zip(self._keys, self._numbers.clone().unbind(), strict=True))


class UpdateGraph:
    """An update of the parameters that have gradients now, by gradients in the memory where they lie now."""

    def __init__(self, update: Callable[[], None], parameters: Sequence[Tensor], record: Record) -> None:
        self._parameters = [parameter for parameter in parameters if parameter.grad is not None]
        self._gradients = [parameter.grad for parameter in self._parameters if parameter.grad is not None]
        self._replay = record(update)

    def fits(self, parameters: Sequence[Tensor]) -> bool:
        """Return whether the same parameters have gradients as when it was recorded."""
        reached = [parameter for parameter in parameters if parameter.grad is not None]
        return len(reached) == len(self._parameters) and all(map(_same, reached, self._parameters))

    def __call__(self) -> None:
        """Update the parameters by their gradients; those that lie elsewhere are copied first."""
        pairs = zip(self._gradients, self._parameters, strict=True)
        moved = [(mine, p.grad) for mine, p in pairs if p.grad is not None and p.grad is not mine]
        if moved:
            torch._foreach_copy_([mine for mine, _ in moved], [given for _, given in moved])
        self._replay()


@dataclass
class Graphs:
    """The graphs of a run: of the forward and backward of a pack, and of the update; None while there is none."""

    say: Callable[[str], None]  # what is a graph, what is none, and why
    agree: Callable[[bool], bool] = bool  # whether any process says yes: all of them use a graph, or none
    record: Record = cuda_graph
    pack: PackGraph | None = None
    update: UpdateGraph | None = None
    wants_update: bool = False  # whether the update is still to be recorded
    is_told: bool = False  # whether it was said that packs have another shape now

    def record_pack(self, packs: Sequence[Batch], compute: Compute, scale: Scale, parameters: Sequence[Tensor]) -> None:
        """Record the last of some packs, and try the graph on another one of that shape, if it can be one whose
        sequences have other lengths."""
        pair, graph, why = _to_try(packs), None, ""
        try:
            if pair is None:
                why = "packs differ in shape"
            else:
                first, other = pair
                numbers = compute(other, scale)
                names = [name for kind, name in numbers if kind == "loss"]
                wanted, gradients = _losses(numbers), _taken(parameters)
                any_lengths = first.sequences.lengths != other.sequences.lengths
                graph = PackGraph(first, names, compute, parameters, self.record, any_lengths=any_lengths)
                _taken(parameters)
                found = _losses(graph(other, scale))
                if not all(math.isclose(one, two, rel_tol=ALIKE) for one, two in zip(found, wanted, strict=True)):
                    why = f"it gave losses {found} where its kernels one by one gave {wanted}"
                elif not _are_near(_taken(parameters), gradients):
                    why = "it gave other gradients than its kernels one by one"
        except Exception as error:  # of a driver, a library or an operator that can't be recorded: each has its class
            why = said_first(error)
        _taken(parameters)
        if not self._failed("A pack", why):
            self.pack, self.wants_update = graph, True
            self.say("Each pack is one CUDA graph.")

    def fits(self, batch: Batch) -> bool:
        """Return whether there is a graph of packs like this one; where there was one until now, that is told."""
        is_fit = self.pack is not None and self.pack.fits(batch)
        if self.pack is not None and not is_fit and not self.is_told:
            self.is_told = True
            self.say("A pack has another shape than the CUDA graph; kernels of such packs start one by one.")
        return is_fit

    def record_update(
        self,
        update: Callable[[], None],
        parameters: Sequence[Tensor],
        others: Sequence[Tensor],
        given: Sequence[Tensor],
    ) -> None:
        """Record an update, try it on other numbers, and update once, kernel by kernel.

        parameters: those that have gradients, and all their moments already. others: tensors beside them that it
        changes. given: numbers that it reads.
        """
        self.wants_update = False
        graph, why = None, ""
        gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
        try:
            before = _Before([*parameters, *gradients, *others, *given])
        except Exception as error:  # no room for copies
            why = said_first(error)
        else:
            try:
                graph = UpdateGraph(update, parameters, self.record)
                changes = []
                for call in (graph, update):
                    before.put_back()
                    for number in given:
                        number.mul_(0.5)
                    call()
                    changes.append(before.changes())
                if not _are_near(*changes):
                    why = "it changed the model in another way than its kernels one by one"
            except Exception as error:
                why = said_first(error)
            before.put_back()
        update()
        if not self._failed("An update", why):
            self.update = graph
            self.say("Each update is one CUDA graph.")

    def _failed(self, what: str, why: str) -> bool:
        failed = self.agree(bool(why))
        if failed:
            why = why or "another process could not record it"
            self.say(f"{what} can't be a CUDA graph here, so its kernels start one by one: {why}.")
        return failed


class _Before:
    """Tensors as they are now, to be compared with and put back."""

    def __init__(self, tensors: Sequence[Tensor]) -> None:
        self._tensors = [tensor.detach() for tensor in tensors]
        self._copies = [tensor.clone() for tensor in self._tensors]

    def put_back(self) -> None:
        for tensor, copy in zip(self._tensors, self._copies, strict=True):
            tensor.copy_(copy)

    def changes(self) -> list[Tensor]:
        """How far each tensor is from its copy."""
        return [tensor - copy for tensor, copy in zip(self._tensors, self._copies, strict=True)]


def graphs_of(
    compile: str, device: torch.device, say: Callable[[str], None], agree: Callable[[bool], bool]
) -> Graphs | None:
    """What keeps the steps of a run as graphs, where that is asked for and can be had."""
    if compile == "graphs" and device.type != "cuda":
        say("CUDA graphs need a GPU with CUDA, so parts are compiled without them.")
    return Graphs(say, agree) if compile == "graphs" and device.type == "cuda" else None


def _to_try(packs: Sequence[Batch]) -> tuple[Batch, Batch] | None:
    """Return a pack to record and another of its shape, of other lengths if there is one; None where all differ."""
    packs = [one for one in packs if one.is_usual] or packs
    alike = [one for one in packs if shape_of(one) == shape_of(packs[-1])][:-1]
    differ = [one for one in alike if one.sequences.lengths != packs[-1].sequences.lengths]
    return (packs[-1], [*alike, *differ][-1]) if alike else None


def _losses(numbers: Mapping[Key, Tensor]) -> list[float]:
    return [float(value) for (kind, _), value in numbers.items() if kind == "loss"]


def _taken(parameters: Sequence[Tensor]) -> list[Tensor | None]:
    """The gradients, which are taken from the parameters."""
    gradients = [parameter.grad for parameter in parameters]
    for parameter in parameters:
        parameter.grad = None
    return gradients


def _are_near(graph: Sequence[Tensor | None], one_by_one: Sequence[Tensor | None]) -> bool:
    """Return whether a graph gave the tensors that its kernels one by one gave, but for rounding: each may be off by
    ALIKE of its own length, or by ROUNDING of the length of all together."""
    if [one is None for one in graph] != [one is None for one in one_by_one]:
        return False
    pairs = [(one, two) for one, two in zip(graph, one_by_one, strict=True) if one is not None and two is not None]
    sizes = torch.stack([two.double().norm() for _, two in pairs])
    gaps = torch.stack([(one - two).double().norm() for one, two in pairs])
    return bool((gaps <= ALIKE * sizes + ROUNDING * sizes.norm()).all())


def shape_of(batch: Batch) -> tuple[object, ...]:
    """What packs of one graph have in common."""
    sequences = batch.sequences
    return sequences.longest, sequences.num_positions, *(tensor.shape for tensor in _tensors(batch))


def _same(one: Tensor, other: Tensor) -> bool:
    return one is other


def _tensors(batch: Batch) -> list[Tensor]:
    found: list[Tensor] = []

    def keep(tensor: Tensor) -> Tensor:
        found.append(tensor)
        return tensor

    batch.changed(keep)
    return found
