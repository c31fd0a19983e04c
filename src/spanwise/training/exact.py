"""Gradients of a step added exactly, so that the sum has the same bits however packs are dealt out to processes.

Floating-point sums depend on their order. Here each pack's gradient is rounded once to a whole number of small units,
and whole numbers are added, on one process and then among processes: no order can change the result. The unit of a
tensor follows from the gradients of the first pack of the step, which one process computes and tells the others.

Source: Demmel and Nguyen, "Parallel Reproducible Summation" (2015), whose bins this reduces to one per tensor and step.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import torch
from torch import Tensor, nn

from spanwise.training.reduce import Reducer

UNITS = 40  # bits: the largest gradient of the first pack is some 2 ** 40 units
ROOM = 12  # bits: by how much a later pack's gradient may exceed it; 2 ** 10 packs of that size still fit into int64
FLOOR = 8  # bits: a tensor's unit is at most this much below that of the tensor with the largest gradient


class Gradients(Protocol):
    """How the gradients of a step's packs become one."""

    def take(self) -> None:
        """Called after the backward of each pack that is computed here."""
        ...

    def meet(self) -> None:
        """Called once a step, by every process: leave the gradient of the whole step in each parameter's `grad`."""
        ...


class AddedGradients:
    """Sums in floating point: backward adds the packs of a process, and the reducer adds those of processes."""

    def __init__(self, parameters: Sequence[nn.Parameter], reducer: Reducer) -> None:
        self._parameters, self._reducer = parameters, reducer

    def take(self) -> None:
        """Backward has added the pack already."""

    def meet(self) -> None:
        self._reducer.gradients(self._parameters)


class ExactGradients:
    """Sums of whole numbers: the same bits for any number of processes and any order of packs.

    What is below 2 ** -40 of a tensor's largest gradient in the first pack (2 ** -48 of the largest of all tensors, if
    that is more) is rounded away. A pack whose gradient is more than 2 ** 12 times that largest one (2 ** 4 times the
    largest of all tensors, where a tensor had next to none) makes the whole gradient not-a-number, which stops the run
    as any bad number does. Memory: 8 bytes per parameter.
    """

    def __init__(self, parameters: Sequence[nn.Parameter], reducer: Reducer) -> None:
        self._parameters, self._reducer = parameters, reducer
        self._sums: list[Tensor | None] = [None] * len(parameters)  # int64, in units
        self._exponents: Tensor | None = None  # [parameters]: the first pack's largest gradient is below 2 ** exponent
        self._too_large: Tensor | None = None  # how many tensors of packs were

    def take(self) -> None:
        exponents, too_large = self._begun()
        for place, parameter in enumerate(self._parameters):
            gradient, parameter.grad = parameter.grad, None
            if gradient is None:
                continue
            units = torch.ldexp(gradient.double(), UNITS - exponents[place])
            too_large += ~(units.abs().amax() <= 2.0 ** (UNITS + ROOM))  # also where one is not a number
            whole = units.round_().to(torch.int64)
            mine = self._sums[place]
            self._sums[place] = whole if mine is None else mine.add_(whole)

    def meet(self) -> None:
        exponents, too_large = self._begun()  # a process without a pack learns the units here
        everyone = self._reducer.gather([one is not None for one in self._sums])
        reached = [place for place in range(len(self._sums)) if any(one[place] for one in everyone)]
        sums = []
        for place in reached:
            mine = self._sums[place]
            sums.append(torch.zeros_like(self._parameters[place], dtype=torch.int64) if mine is None else mine)
        self._reducer.add([*sums, too_large])
        spoiled = torch.where(too_large > 0, torch.nan, 0.0)
        for place, whole in zip(reached, sums, strict=True):
            parameter = self._parameters[place]
            total = torch.ldexp(whole.double(), exponents[place] - UNITS) + spoiled
            parameter.grad = total.to(parameter.dtype)
        self._sums = [None] * len(self._sums)
        self._exponents = self._too_large = None

    def _begun(self) -> tuple[Tensor, Tensor]:
        """The exponents of this step, told by the first process before a pack is added, and the count of overflows."""
        if self._exponents is None or self._too_large is None:
            mine = self._measured()
            told = mine if self._reducer.rank == 0 else torch.zeros_like(mine)
            self._exponents = self._reducer.total(told)
            self._too_large = torch.zeros((), dtype=torch.int64, device=mine.device)
        return self._exponents, self._too_large

    def _measured(self) -> Tensor:
        """The exponent of each parameter by the gradients of the pack at hand: [parameters], int64."""
        device = self._parameters[0].device
        none = torch.zeros((), device=device)
        gradients = [parameter.grad for parameter in self._parameters]
        largest = torch.stack([none if g is None else g.detach().abs().amax().float() for g in gradients])
        exponents = torch.frexp(largest).exponent.to(torch.int64)
        some = torch.where(largest > 0, exponents, -1000)  # frexp calls that of zero 0
        return torch.maximum(some, some.amax() - FLOOR).clamp(-120, 127)
