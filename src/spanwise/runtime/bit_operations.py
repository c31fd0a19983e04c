"""Operations on 64-bit words that the processor has in one instruction and numba has no name for.

They can be called from compiled code alone (`runtime/compiled.njit`); every argument and result is a uint64.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types

from spanwise.runtime.compiled import intrinsic

__all__ = ["multiply_high", "num_ones", "trailing_zeros"]

_WIDE = ir.IntType(128)


@intrinsic
def multiply_high(context: Any, a: Any, b: Any) -> Any:
    """Return the upper 64 of the 128 bits of a product."""

    def generate(_, builder, __, arguments):
        product = builder.mul(*(builder.zext(argument, _WIDE) for argument in arguments))
        return builder.trunc(builder.lshr(product, ir.Constant(_WIDE, 64)), ir.IntType(64))

    return types.uint64(types.uint64, types.uint64), generate


@intrinsic
def trailing_zeros(context: Any, word: Any) -> Any:
    """Return the place of the lowest one, 64 where there is none."""

    def generate(_, builder, __, arguments):
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 0))

    return types.uint64(types.uint64), generate


@intrinsic
def num_ones(context: Any, word: Any) -> Any:
    """Return how many bits are one."""

    def generate(_, builder, __, arguments):
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), generate
