"""float32 arithmetic for compiled loops over float32 and bfloat16 arrays (`runtime/compiled.njit`).

numba knows no bfloat16: such arrays come as uint16, the upper halves of float32 numbers. `widened` reads an element of
either kind as float32 and `like` turns a float32 into the kind of an element, so one loop serves both. All of it
compiles to vector instructions; numba's own exp does not.

Source: the exponential is that of Cephes (expf: halves of ln 2, polynomial of degree 5), at most 2 units in the last
place off.
"""

from typing import Any

import numpy as np
import torch
from llvmlite import ir
from numba import types

from spanwise.runtime.compiled import intrinsic, njit

REORDERED = {"reassoc", "contract", "nsz"}
"""What a loop may do to be vectorised: add in another order. Not-a-number and infinity keep their meaning."""

_I16, _I32, _F32 = ir.IntType(16), ir.IntType(32), ir.FloatType()


def array_of(tensor: torch.Tensor) -> np.ndarray:
    """The memory of a CPU tensor as a compiled loop reads it: float32 as it is, bfloat16 as uint16."""
    tensor = tensor.detach()
    return (tensor.view(torch.uint16) if tensor.dtype == torch.bfloat16 else tensor).numpy()


@intrinsic
def widened(context: Any, value: Any) -> Any:
    """Return an element of a float32 or uint16 (bfloat16) array as float32."""

    def generate(_, builder, __, arguments):
        if value == types.float32:
            return arguments[0]
        return builder.bitcast(builder.shl(builder.zext(arguments[0], _I32), ir.Constant(_I32, 16)), _F32)

    return types.float32(value), generate


@intrinsic
def like(context: Any, number: Any, element: Any) -> Any:
    """Return a float32 as the kind of `element`: itself, or the nearest bfloat16, ties to even. Infinity stays; a
    not-a-number stays one as long as its upper half says so, as those of arithmetic do."""

    def generate(_, builder, __, arguments):
        if element == types.float32:
            return arguments[0]
        bits = builder.bitcast(arguments[0], _I32)
        odd = builder.and_(builder.lshr(bits, ir.Constant(_I32, 16)), ir.Constant(_I32, 1))
        rounded = builder.add(builder.add(bits, ir.Constant(_I32, 0x7FFF)), odd)
        return builder.trunc(builder.lshr(rounded, ir.Constant(_I32, 16)), _I16)

    return element(types.float32, element), generate


@intrinsic
def larger(context: Any, a: Any, b: Any) -> Any:
    """Return the larger of two float32 numbers, not-a-number where one is: a maximum that a loop can vectorise."""

    def generate(_, builder, __, arguments):
        kind = ir.FunctionType(_F32, [_F32, _F32])
        return builder.call(builder.module.declare_intrinsic("llvm.maximum", [_F32], kind), arguments)

    return types.float32(types.float32, types.float32), generate


@intrinsic
def _times_power_of_two(context: Any, number: Any, power: Any) -> Any:
    def generate(_, builder, __, arguments):
        # 1.5 * 2^23 brings a whole number into the lowest bits, also where a conversion would be undefined
        bits = builder.bitcast(builder.fadd(arguments[1], ir.Constant(_F32, 12582912.0)), _I32)
        exponent = builder.add(builder.shl(bits, ir.Constant(_I32, 23)), ir.Constant(_I32, 127 << 23))
        return builder.fmul(arguments[0], builder.bitcast(exponent, _F32))

    return types.float32(types.float32, types.float32), generate


_LOG2_E, _LN2_UPPER, _LN2_LOWER = np.float32(1.44269504), np.float32(0.693359375), np.float32(-2.12194440e-4)
_E0, _E1, _E2 = np.float32(1.9875691500e-4), np.float32(1.3981999507e-3), np.float32(8.3334519073e-3)
_E3, _E4, _E5 = np.float32(4.1665795894e-2), np.float32(1.6666665459e-1), np.float32(5.0000001201e-1)
_HALF, _ONE, _LEAST = np.float32(0.5), np.float32(1.0), np.float32(-87.0)


@njit(inline="always")
def exponential(x):
    """e to the power of a float32 of at most 88; below -87 it is e^-87, some 1e-38. Not-a-number stays."""
    x = _LEAST if x < _LEAST else x
    n = np.floor(x * _LOG2_E + _HALF)
    rest = x - n * _LN2_UPPER - n * _LN2_LOWER
    tail = ((((_E0 * rest + _E1) * rest + _E2) * rest + _E3) * rest + _E4) * rest + _E5
    return _times_power_of_two(tail * rest * rest + rest + _ONE, n)
