"""Dropout whose draws belong to tokens: what a token loses depends on no other token of its pack.

A token has a key of 64 bits (`nn/sequences.py`), a place in the model changes it (`keys_at`), and every two elements of
the token's row share one hash of 32 bits of key and column. So packs of another size, a layer that is computed twice
and rows computed alone drop the same elements. The hash is lowbias32 (Wellons 2018, "Prospecting for hash functions"),
with half of the key added before and half between its two products.

Source: Srivastava et al. 2014; rate 0.1 as in BERT, appendix A.2.
Differs: the rate is rounded to a multiple of 2^-16, and kept values are scaled by that rounded rate.
Letters: R rows (tokens), D their width.
"""

import functools
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from spanwise.runtime.compiled import njit
from spanwise.runtime.float_operations import array_of
from spanwise.runtime.row_threads import in_parts
from spanwise.runtime.seed import derive_key, signed
from spanwise.runtime.wording import said_first

LEVELS = 1 << 16  # 16 random bits an element
_STEP, _FIRST, _SECOND = 0x9E3779B9, 0x7FEB352D, 0x846CA68B  # between columns, and lowbias32's two factors


@dataclass(frozen=True)
class Rate:
    """A chance to be dropped, in whole levels: an element stays where its 16 bits are `least` or more."""

    least: int
    scale: float  # keeps the expected value

    @classmethod
    def of(cls, p: float) -> "Rate":
        """Return the rate nearest to a chance `p`, 0 < p < 1."""
        least = min(max(round(p * LEVELS), 1), LEVELS - 1)
        return cls(least, LEVELS / (LEVELS - least))


@functools.cache
def _salt(place: int) -> int:
    return signed(derive_key(0, "place of a dropout", place))


def keys_at(keys: Tensor, place: int) -> Tensor:
    """Return the keys [R] for one place in a model: no two places drop alike."""
    return keys + _salt(place)


def drawn_keys(num_rows: int, device: torch.device) -> Tensor:
    """Draw a key for each row [R] from torch's default generator, where nothing gives them one."""
    return torch.empty(num_rows, dtype=torch.int64, device=device).random_(-(2**63), None)


def keep_mask(keys: Tensor, width: int, rate: Rate) -> Tensor:
    """Return, on a CPU, which elements of rows [R, D] stay, as bool, for keys [R] int64."""
    keep = torch.empty(len(keys), width, dtype=torch.bool)
    given, made, least = array_of(keys.contiguous()), array_of(keep), np.uint32(rate.least)
    in_parts(lambda _, first, last: _keep_rows(given, least, made, first, last), len(keys))
    return keep


@njit
def keep_row(key, least, keep_D):
    """Fill `keep_D` for one key (int64): the first half of the columns has the low bits of each hash."""
    low, high = np.uint32(key & 0xFFFFFFFF), np.uint32((key >> 32) & 0xFFFFFFFF)
    half = (len(keep_D) + 1) // 2
    for d in range(len(keep_D) - half):
        bits = _bits(low, high, d)
        keep_D[d] = np.uint32(bits & np.uint32(0xFFFF)) >= least
        keep_D[half + d] = np.uint32(bits >> np.uint32(16)) >= least
    if 2 * half > len(keep_D):
        keep_D[half - 1] = np.uint32(_bits(low, high, half - 1) & np.uint32(0xFFFF)) >= least


@njit
def _bits(low, high, column):
    x = np.uint32(low + np.uint32(np.uint32(column) * np.uint32(_STEP)))
    x = np.uint32(np.uint32(x ^ np.uint32(x >> np.uint32(16))) * np.uint32(_FIRST))
    x = np.uint32(np.uint32(np.uint32(x ^ np.uint32(x >> np.uint32(15))) ^ high) * np.uint32(_SECOND))
    return np.uint32(x ^ np.uint32(x >> np.uint32(16)))


@njit
def _keep_rows(keys_R, least, keep, first, last):
    for r in range(first, last):
        keep_row(keys_R[r], least, keep[r])


def keep_by_operators(keys: Tensor, width: int, least: int) -> Tensor:
    """Return the same as `keep_row` for every key, [R, D], in operators that a GPU fuses into one kernel."""
    half = (width + 1) // 2
    low, high = keys.to(torch.int32).unsqueeze(1), (keys >> 32).to(torch.int32).unsqueeze(1)
    x = low + torch.arange(half, dtype=torch.int32, device=keys.device) * _signed_32(_STEP)
    x = (x ^ _shifted(x, 16)) * _signed_32(_FIRST)
    x = (x ^ _shifted(x, 15) ^ high) * _signed_32(_SECOND)
    x = x ^ _shifted(x, 16)
    return torch.cat((x & 0xFFFF, _shifted(x, 16)), 1)[:, :width] >= least


def _shifted(x: Tensor, count: int) -> Tensor:
    """A shift of int32 to the right that fills with zeros."""
    return (x >> count) & ((1 << (32 - count)) - 1)


def _signed_32(number: int) -> int:
    return number - (1 << 32) if number >> 31 else number


def _dropped(x: Tensor, keys: Tensor, least: int, scale: float) -> Tensor:
    return torch.where(keep_by_operators(keys, x.shape[1], least), x * scale, 0.0)


@functools.cache
def _fused() -> Callable[[Tensor, Tensor, int, float], Tensor]:
    """`_dropped` as one kernel forward and one backward; as it stands, and said, where torch can't compile it."""
    compiled = torch.compile(_dropped, dynamic=True)
    works: list[bool] = []

    def call(x: Tensor, keys: Tensor, least: int, scale: float) -> Tensor:
        if works and not works[0]:
            return _dropped(x, keys, least, scale)
        try:
            out = compiled(x, keys, least, scale)
        except Exception as error:  # a missing compiler, driver or library each raises a class of its own
            if works:
                raise
            works.append(False)
            warnings.warn(f"dropout is not compiled here and takes longer: {said_first(error)}.", stacklevel=2)
            return _dropped(x, keys, least, scale)
        if not works:
            works.append(True)
        return out

    return call


class _MaskedScale(torch.autograd.Function):
    """x * keep * scale, remembering one byte an element."""

    @staticmethod
    def forward(ctx, x: Tensor, keep: Tensor, scale: float) -> Tensor:
        ctx.save_for_backward(keep)
        ctx.scale = scale
        return (x * keep).mul_(scale)

    @staticmethod
    def backward(ctx, grad: Tensor):
        (keep,) = ctx.saved_tensors
        return (grad * keep).mul_(ctx.scale), None, None


def dropout(x: Tensor, p: float, training: bool, keys: Tensor | None = None) -> Tensor:
    """Drop elements of `x` [..., D] with chance `p` while training; otherwise return `x` itself.

    keys: [R] int64, one for each row of `x`; without them they are drawn from torch's default generator.
    """
    if not training or p == 0.0:
        return x
    rate, rows = Rate.of(p), x.reshape(-1, x.shape[-1])
    keys = drawn_keys(len(rows), x.device) if keys is None else keys
    if torch.compiler.is_compiling():
        out = _dropped(rows, keys, rate.least, rate.scale)
    elif x.device.type != "cpu":
        out = _fused()(rows, keys, rate.least, rate.scale)
    else:
        out = _MaskedScale.apply(rows, keep_mask(keys, rows.shape[1], rate), rate.scale)
    return out.view(x.shape)
