"""Gradients of a step added exactly, so that the sum has the same bits however packs are dealt out to processes.

Floating-point sums depend on their order. Here each pack's gradient is rounded once to a whole number of small units,
and whole numbers are added, on one process and then among processes: no order can change the result. The unit of a
tensor follows from the gradients of the first pack of the step, which one process computes and tells the others. The
norm of the whole gradient is a sum of whole numbers too, so that who keeps which rows changes no bit of it either.

Source: Demmel and Nguyen, "Parallel Reproducible Summation" (2015), whose bins this reduces to one per tensor and step.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import torch
from torch import Tensor

from spanwise.training.optim import gradient_norm
from spanwise.training.pieces import Piece
from spanwise.training.reduce import Reducer
from spanwise.training.whole_numbers import SQUARED, add_units, as_floats, squares

UNITS = 40  # bits: the largest gradient of the first pack is some 2 ** 40 units
ROOM = 12  # bits: by how much a later pack's gradient may exceed it; 2 ** 10 packs of that size still fit into int64
FLOOR = 8  # bits: a tensor's unit is at most this much below that of the tensor with the largest gradient


class Gradients(Protocol):
    """How the gradients of a step's packs become one."""

    def take(self) -> None:
        """Called after the backward of each pack that is computed here."""
        ...

    def meet(self) -> None:
        """Called once a step, by every process: leave the gradient of the whole step in `grad` of each piece."""
        ...

    def norm(self) -> Tensor:
        """Return the 2-norm of the whole gradient, a scalar; not finite as soon as one element is not."""
        ...


class AddedGradients:
    """Sums in floating point: backward adds the packs of a process, and the reducer adds those of processes; what is
    cut among processes FSDP2 has added in backward."""

    def __init__(self, pieces: Sequence[Piece], reducer: Reducer) -> None:
        self._whole = [piece for piece in pieces if not piece.is_cut]
        self._cut = [piece for piece in pieces if piece.is_cut]
        self._reducer = reducer

    def take(self) -> None:
        """Backward has added the pack already."""

    def meet(self) -> None:
        self._reducer.gradients([piece.tensor for piece in self._whole])
        for piece in self._cut:
            piece.tensor.grad = piece.take_sum()

    def norm(self) -> Tensor:
        norm = gradient_norm(_gradients(self._whole))
        if not self._cut:
            return norm
        others = self._reducer.total(gradient_norm(_gradients(self._cut)).double().square())
        return (norm.double().square() + others).sqrt().float()


class CopiedGradients(AddedGradients):
    """The same sums in memory of their own: the next replay of a CUDA graph overwrites the gradients of this one, and
    the graph of the update reads its own where it read them before. Memory: 4 bytes per parameter."""

    def __init__(self, pieces: Sequence[Piece], reducer: Reducer) -> None:
        super().__init__(pieces, reducer)
        self._sums: dict[int, Tensor] = {}
        self._reached: set[int] = set()  # by the packs of this step

    def take(self) -> None:
        given = {place: piece.take_gradient() for place, piece in enumerate(self._whole)}
        gradients = {place: gradient for place, gradient in given.items() if gradient is not None}
        for place in gradients.keys() - self._sums.keys():
            self._sums[place] = torch.empty_like(gradients[place])
        for write, places in (
            (torch._foreach_add_, gradients.keys() & self._reached),
            (torch._foreach_copy_, gradients.keys() - self._reached),
        ):
            if places:
                write([self._sums[place] for place in places], [gradients[place] for place in places])
        self._reached |= gradients.keys()

    def meet(self) -> None:
        for place in self._reached:
            self._whole[place].tensor.grad = self._sums[place]
        self._reached = set()
        super().meet()


class ExactGradients:
    """Sums of whole numbers: the same bits for any number of processes and any order of packs.

    What is below 2 ** -40 of a tensor's largest gradient in the first pack (2 ** -48 of the largest of all tensors, if
    that is more) is rounded away. A pack whose gradient is more than 2 ** 12 times that largest one (2 ** 4 times the
    largest of all tensors, where a tensor had next to none) makes the whole gradient not-a-number, which stops the run
    as any bad number does. Memory: 8 bytes per parameter.
    """

    def __init__(self, pieces: Sequence[Piece], reducer: Reducer) -> None:
        self._pieces, self._reducer = pieces, reducer
        self._cut = [place for place, piece in enumerate(pieces) if piece.is_cut]
        self._sums: list[Tensor | None] = [None] * len(pieces)  # int64, in units; of the rows kept here
        self._room: list[Tensor | None] = [None] * len(pieces)  # on a CPU, the memory of the step before
        self._exponents: Tensor | None = None  # [pieces]: the first pack's largest gradient is below 2 ** exponent
        self._too_large: Tensor | None = None  # how many tensors of packs were

    def take(self) -> None:
        gradients = [piece.take_gradient() for piece in self._pieces]
        exponents, too_large = self._begun(gradients)
        elsewhere = self._reached_elsewhere(gradients)
        for place, piece in enumerate(self._pieces):
            gradient, gradients[place] = gradients[place], None  # freed here, one after the other
            if gradient is None and place not in elsewhere:
                continue
            mine = self._sums[place]
            if gradient is None:
                whole = torch.zeros(piece.shape, dtype=torch.int64, device=piece.tensor.device)
            else:
                onto, room = (None, None) if piece.is_cut else (mine, self._room[place])
                whole, is_wrong = add_units(gradient, UNITS - exponents[place], 2.0 ** (UNITS + ROOM), onto, room)
                too_large += is_wrong
            if piece.is_cut:
                whole = piece.added(whole)
                whole = whole if mine is None else mine.add_(whole)
            self._sums[place] = whole

    def _reached_elsewhere(self, gradients: Sequence[Tensor | None]) -> set[int]:
        """The places of cut parameters that this round reaches on some process: all processes meet there."""
        if not self._cut:
            return set()
        everyone = self._reducer.gather([gradients[place] is not None for place in self._cut])
        return {place for place, *reached in zip(self._cut, *everyone, strict=True) if any(reached)}

    def meet(self) -> None:
        exponents, too_large = self._begun([None] * len(self._pieces))  # one without a pack learns the units here
        everyone = self._reducer.gather([one is not None for one in self._sums])
        reached = [place for place in range(len(self._sums)) if any(one[place] for one in everyone)]
        sums = []
        for place in reached:
            mine = self._sums[place]
            tensor = self._pieces[place].tensor
            sums.append(torch.zeros(tensor.shape, dtype=torch.int64, device=tensor.device) if mine is None else mine)
        whole = [one for place, one in zip(reached, sums, strict=True) if not self._pieces[place].is_cut]
        self._reducer.add([*whole, too_large])
        spoiled = torch.where(too_large > 0, torch.nan, 0.0)
        for place, one in zip(reached, sums, strict=True):
            tensor = self._pieces[place].tensor
            tensor.grad = as_floats(one, UNITS - exponents[place], tensor.dtype).add_(spoiled)
        for place, one in zip(reached, sums, strict=True):
            if one.device.type == "cpu" and not self._pieces[place].is_cut:
                self._room[place] = one
        self._sums = [None] * len(self._sums)
        self._exponents = self._too_large = None

    def norm(self) -> Tensor:
        """The squares of each tensor are added as whole numbers of two lengths, in units that its largest element sets:
        the same bits whoever keeps which rows."""
        pieces = [piece for piece in self._pieces if piece.tensor.grad is not None]
        if not pieces:
            return torch.zeros(())
        gradients = _gradients(pieces)
        largest = torch.stack([_largest(g) for g in gradients])
        exponents = torch.frexp(largest.float()).exponent.to(torch.int64)
        if self._cut:
            self._reducer.largest(exponents)
        sums = torch.stack([squares(g, SQUARED - exponents[place]) for place, g in enumerate(gradients)])
        cut = [place for place, piece in enumerate(pieces) if piece.is_cut]
        if cut:
            apart = sums[cut]
            self._reducer.add([apart])
            sums[cut] = apart
        squared = torch.ldexp(sums[:, 0].double() * 2.0**SQUARED + sums[:, 1].double(), 2 * (exponents - SQUARED))
        return (squared.sum().sqrt() + (largest * 0.0).sum()).float()  # of one that is not finite: not-a-number

    def _begun(self, gradients: Sequence[Tensor | None]) -> tuple[Tensor, Tensor]:
        """The exponents of this step, told by the first process before a pack is added, and the count of overflows."""
        if self._exponents is None or self._too_large is None:
            mine = self._measured(gradients)
            told = mine if self._reducer.rank == 0 else torch.zeros_like(mine)
            self._exponents = self._reducer.total(told)
            self._too_large = torch.zeros((), dtype=torch.int64, device=mine.device)
        return self._exponents, self._too_large

    def _measured(self, gradients: Sequence[Tensor | None]) -> Tensor:
        """The exponent of each parameter by the gradients of the pack at hand: [pieces], int64."""
        device = self._pieces[0].tensor.device
        none = torch.zeros((), device=device)
        largest = torch.stack([none if g is None else _largest(g).float() for g in gradients])
        exponents = torch.frexp(largest).exponent.to(torch.int64)
        some = torch.where(largest > 0, exponents, -1000)  # frexp calls that of zero 0
        return torch.maximum(some, some.amax() - FLOOR).clamp(-120, 127)


def _gradients(pieces: Sequence[Piece]) -> list[Tensor]:
    return [piece.tensor.grad for piece in pieces if piece.tensor.grad is not None]


def _largest(gradient: Tensor) -> Tensor:
    """The largest magnitude of an element, not-a-number where one is."""
    if not gradient.numel():
        return gradient.new_zeros(())
    return gradient.detach().abs().amax()
