"""The steps between two products of bytes, row by row: floats to codes and back, GELU, LayerNorm.

A row has a scale of its own, and every loop reads one row at a time: nothing depends on what else is in a pack. Codes
are unsigned, their zero in the middle, because unsigned times signed bytes is what every processor with such products
can do. GELU's values, hardly negative, have their zero at 32, which makes their steps smaller.

Letters: n rows, N columns of a product, D hidden size.
Source: Dettmers et al. 2022 (LLM.int8()), section 2.1, for vector-wise scales: one per row of the activations, one per
column of the weights.
"""

import math
from typing import Any

import numpy as np

from spanwise.runtime.compiled import njit

ZERO = 128  # the code of 0.0 in rows of any values
GELU_ZERO = 32  # and in rows of GELU's values
LOWEST_GELU = 0.1701  # in both of its forms GELU is above minus this

# GELU(x) = x (1/2 + r(x)) with r(x) = x P(x^2) / Q(x^2), least squares with weights changed until GELU's largest error
# between -5 and 5 was 2e-7. Beyond, r stays at what it is there, which is 1/2 within 3e-7.
EXACT_P = (0.398940249, 0.0625392444, 0.0062091574, 0.000439068805, 5.83402539e-06, -1.77247449e-08)
EXACT_Q = (0.323407398, 0.0444971209, 0.00338484907, 0.000149273904)  # behind 1
TANH_P = (0.398940076, 0.0442829572, 0.00395926198, 0.000219863051, 3.71407747e-06, -1.29606456e-08)
TANH_Q = (0.278470608, 0.0310238395, 0.00172246753, 8.4829056e-05)
EXACT, TANH = (np.array([*p, *q], dtype=np.float32) for p, q in ((EXACT_P, EXACT_Q), (TANH_P, TANH_Q)))

_FAST: dict[str, Any] = {"fastmath": {"reassoc", "contract", "nsz", "arcp", "nnan", "ninf"}, "error_model": "numpy"}
_f = np.float32
_LEAST = np.float32(1e-30)  # the scale of a row of zeros
_NO_SIGN = np.int32(0x7FFFFFFF)


@njit(**_FAST)
def quantize_rows(values_nD, codes_nD, scales_n):
    """values float32 -> codes uint8 and a scale a row: value = scale x (code - ZERO), the largest at 127 steps."""
    n, D = values_nD.shape
    bits_nD = values_nD.view(np.int32)  # magnitudes of floats have the order of their bits; integer maxima are vectors
    peak = np.empty(1, np.int32)
    largest = peak.view(np.float32)
    for i in range(n):
        top = np.int32(0)
        for j in range(D):
            top = max(top, bits_nD[i, j] & _NO_SIGN)
        peak[0] = top
        scale = max(largest[0] / _f(127.0), _LEAST)
        inverse = _f(1.0) / scale
        scales_n[i] = scale
        for j in range(D):
            codes_nD[i, j] = np.uint8(np.int32(values_nD[i, j] * inverse + _f(ZERO + 0.5)))


@njit(**_FAST)
def rescale_rows(sums_nN, scales_n, bias_N):
    """sums x scale of the row + bias, in place."""
    n, N = sums_nN.shape
    for i in range(n):
        scale = scales_n[i]
        for j in range(N):
            sums_nN[i, j] = sums_nN[i, j] * scale + bias_N[j]


@njit(**_FAST)
def gelu_codes(sums_nN, scales_n, bias_N, constants, codes_nN):
    """GELU(sums x scale + bias) as codes with GELU_ZERO; their scales take the place of the old. `sums` is used up."""
    n, N = sums_nN.shape
    p0, p1, p2, p3, p4, p5, q1, q2, q3, q4 = (
        constants[0], constants[1], constants[2], constants[3], constants[4],
        constants[5], constants[6], constants[7], constants[8], constants[9],
    )  # fmt: skip
    bits_nN = sums_nN.view(np.int32)
    peak = np.empty(1, np.int32)
    largest = peak.view(np.float32)
    for i in range(n):
        scale = scales_n[i]
        for j in range(N):
            x = sums_nN[i, j] * scale + bias_N[j]
            y = min(max(x, _f(-5.0)), _f(5.0))
            z = y * y
            p = p0 + z * (p1 + z * (p2 + z * (p3 + z * (p4 + z * p5))))
            q = _f(1.0) + z * (q1 + z * (q2 + z * (q3 + z * q4)))
            sums_nN[i, j] = x * (_f(0.5) + y * p / q)
        top = np.int32(0)
        for j in range(N):
            top = max(top, bits_nN[i, j])  # bits of negative numbers are below those of 0
        peak[0] = top
        scale = max(largest[0] / _f(255 - GELU_ZERO), _f(LOWEST_GELU / GELU_ZERO))
        inverse = _f(1.0) / scale
        scales_n[i] = scale
        for j in range(N):
            codes_nN[i, j] = np.uint8(np.int32(sums_nN[i, j] * inverse + _f(GELU_ZERO + 0.5)))


@njit(**_FAST)
def add_and_norm(sums_nD, scales_n, bias_D, residual_nD, weight_D, shift_D, eps, out_nD):
    """LayerNorm(residual + sums x scale + bias) x weight + shift, float32."""
    n, D = sums_nD.shape
    share = _f(1.0) / _f(D)
    for i in range(n):
        scale = scales_n[i]
        total = _f(0.0)
        for j in range(D):
            x = sums_nD[i, j] * scale + bias_D[j] + residual_nD[i, j]
            out_nD[i, j] = x
            total += x
        mean = total * share
        total = _f(0.0)
        for j in range(D):
            x = out_nD[i, j] - mean
            total += x * x
        factor = _f(1.0) / _f(math.sqrt(total * share + eps))
        for j in range(D):
            out_nD[i, j] = (out_nD[i, j] - mean) * factor * weight_D[j] + shift_D[j]
