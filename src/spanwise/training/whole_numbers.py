"""Floating-point numbers as whole numbers of small units, and back: loops that read every gradient once.

On a CPU they are compiled; elsewhere the same arithmetic, which is exact but for one rounding, is a chain of torch's
operators. Both give the same bits.

Letters: n elements of a tensor. A unit is 2 ** -shift.
"""

import numpy as np
import torch
from torch import Tensor

from spanwise.runtime.compiled import njit
from spanwise.runtime.row_threads import in_parts

SQUARED = 30  # bits of a number whose square goes into the norm: fine enough for float32, and squares fit into int64


def serves(tensor: Tensor) -> bool:
    """Return whether the loops of this file can be used."""
    return tensor.device.type == "cpu" and tensor.dtype == torch.float32


def add_units(
    gradient: Tensor, shift: Tensor, most: float, sums: Tensor | None, room: Tensor | None = None
) -> tuple[Tensor, Tensor | bool]:
    """Add the gradient, rounded to whole units, to `sums` [n] int64 in place; None: to zeros, in `room` where that is
    given (new memory costs more than the arithmetic).

    Returns the sums, and whether an element was no number or more than `most` units, which spoils them.
    """
    if serves(gradient):
        is_first = sums is None
        if sums is None:
            sums = torch.empty(gradient.shape, dtype=torch.int64) if room is None else room
        arrays = gradient.detach().reshape(-1).numpy(), sums.view(-1).numpy()
        scale = 2.0 ** int(shift)
        wrong = in_parts(lambda _, first, last: _add(*arrays, scale, most, is_first, first, last), len(arrays[0]))
        return sums, any(wrong)
    units = torch.ldexp(gradient.double(), shift)
    is_wrong = ~(units.abs() <= most).all()  # also where one is not a number
    whole = units.round_().to(torch.int64)
    return whole if sums is None else sums.add_(whole), is_wrong


def as_floats(sums: Tensor, shift: Tensor, dtype: torch.dtype) -> Tensor:
    """Return int64 sums as floating-point numbers, each rounded twice (to float64, then to `dtype`)."""
    if sums.device.type == "cpu" and dtype == torch.float32:
        found = torch.empty(sums.shape, dtype=torch.float32)
        arrays = sums.view(-1).numpy(), found.view(-1).numpy()
        scale = 2.0 ** -int(shift)
        in_parts(lambda _, first, last: _scaled(*arrays, scale, first, last), len(arrays[0]))
        return found
    return torch.ldexp(sums.double(), -shift).to(dtype)


def squares(gradient: Tensor, shift: Tensor) -> Tensor:
    """Return the sum of the squares of an all-finite gradient in units, as (multiples of 2 ** SQUARED, what is left),
    [2] int64. No element may have more than 2 ** SQUARED units."""
    if serves(gradient):
        flat, scale = gradient.detach().reshape(-1).numpy(), 2.0 ** int(shift)
        parts = in_parts(lambda _, first, last: _squares(flat, scale, first, last), len(flat))
        return torch.tensor(np.sum(np.array(parts, dtype=np.int64), axis=0))
    whole = torch.ldexp(gradient.double(), shift).round_().to(torch.int64)
    squared = whole.mul_(whole)
    return torch.stack([(squared >> SQUARED).sum(), (squared & ((1 << SQUARED) - 1)).sum()])


@njit
def _add(gradient_n, sums_n, scale, most, is_first, first, last):
    num_wrong = 0
    for i in range(first, last):
        units = np.float64(gradient_n[i]) * scale
        is_right = abs(units) <= most
        num_wrong += not is_right
        whole = np.int64(np.rint(units if is_right else 0.0))
        sums_n[i] = whole if is_first else sums_n[i] + whole
    return num_wrong > 0


@njit
def _scaled(sums_n, floats_n, scale, first, last):
    for i in range(first, last):
        floats_n[i] = np.float32(np.float64(sums_n[i]) * scale)


@njit
def _squares(gradient_n, scale, first, last):
    upper, lower, most = np.int64(0), np.int64(0), np.int64((1 << SQUARED) - 1)
    for i in range(first, last):
        units = np.float64(gradient_n[i]) * scale
        whole = np.int64(np.rint(units if abs(units) <= 1e12 else 0.0))
        square = whole * whole
        upper += square >> SQUARED
        lower += square & most
    return upper, lower
