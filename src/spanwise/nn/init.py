"""Initial weights from our own counter hash: the same on every machine and with every version of torch and numpy.

A weight is a pure function of (seed, name of its parameter, its index): splitmix64 turns the counter into 53 random
bits, and an inverse normal distribution turns those into a value. Only additions, products, quotients and square
roots are used, which IEEE 754 rounds alike everywhere; library logarithms differ in their last bit between machines.

Source: Steele et al. 2014 (splitmix64); Acklam's rational approximation of the inverse normal (relative error below
1.2e-9, far below float32). BERT: weights N(0, 0.02), biases 0, LayerNorm 1 and 0. Radford et al. 2019 (GPT-2), section
2.3, for pre-norm encoders.
Differs: Google's BERT truncates at two standard deviations, Hugging Face and the original SpanBERT do not; nor do we.
"""

import numpy as np
import torch
from torch import nn

from spanwise.nn.config import EncoderConfig
from spanwise.nn.embeddings import Embeddings

BLOCK = 1 << 17  # values made at once: temporaries stay in the second-level cache
GOLDEN = np.uint64(0x9E3779B97F4A7C15)
MIX_1, MIX_2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)

# Acklam's coefficients, highest power first
CENTRE_TOP = (
    -3.969683028665376e01,
    2.209460984245205e02,
    -2.759285104469687e02,
    1.383577518672690e02,
    -3.066479806614716e01,
    2.506628277459239e00,
)
CENTRE_BOTTOM = (
    -5.447609879822406e01,
    1.615858368580409e02,
    -1.556989798598866e02,
    6.680131188771972e01,
    -1.328068155288572e01,
    1.0,
)
TAIL_TOP = (
    -7.784894002430293e-03,
    -3.223964580411365e-01,
    -2.400758277161838e00,
    -2.549732539343734e00,
    4.374664141464968e00,
    2.938163982698783e00,
)
TAIL_BOTTOM = (7.784695709041462e-03, 3.224671290700398e-01, 2.445134137142996e00, 3.754408661907416e00, 1.0)
TAIL_BORDER = 0.02425
LN_2 = 0.6931471805599453


def initialize(
    module: nn.Module, config: EncoderConfig, seed: int, prefix: str = "", owner: nn.Module | None = None
) -> None:
    """Fill all parameters of `module` in place: matrices and tables N(0, config.initializer_range), biases 0,
    LayerNorm 1 and 0, padded rows of the word table 0.

    `prefix` goes before every parameter name in the key, so that two modules of one class can start apart. What
    `module` shares with `owner` is left as it is.
    """
    owned = set() if owner is None else set(owner.parameters())
    for module_name, part in module.named_modules():
        for name, parameter in part.named_parameters(recurse=False):
            path = ".".join(filter(None, (prefix, module_name, name)))
            if parameter in owned:
                continue
            with torch.no_grad():
                if isinstance(part, nn.LayerNorm):
                    parameter.fill_(1.0 if name == "weight" else 0.0)
                elif parameter.ndim == 1:
                    parameter.zero_()
                else:
                    std = config.initializer_range * _residual_scale(module_name, config)
                    values = normal(seed, path, parameter.numel(), std)
                    parameter.copy_(torch.from_numpy(values).view(parameter.shape))
    for part in module.modules():
        if isinstance(part, Embeddings):
            with torch.no_grad():
                part.word.weight[config.vocab_size :] = 0.0


def _residual_scale(module_name: str, config: EncoderConfig) -> float:
    """Return what a matrix's deviation is multiplied with.

    In pre-norm encoders the 2L products whose results are summed up in the residual start smaller, so that their sum
    does not grow with the number of layers L.
    """
    is_summed = module_name.endswith(("attention.output", "feed_forward.down"))
    return (2 * config.num_layers) ** -0.5 if config.norm_place == "pre" and is_summed else 1.0


def normal(seed: int, name: str, count: int, std: float) -> np.ndarray:
    """`count` float32 values of N(0, std²) that depend on seed, name and index alone."""
    values = np.empty(count, dtype=np.float32)
    key = _key(seed, name)
    for begin in range(0, count, BLOCK):
        counters = np.arange(begin, min(begin + BLOCK, count), dtype=np.uint64)
        uniform = ((_mix(key, counters) >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53
        values[begin : begin + len(counters)] = inverse_normal(uniform) * std
    return values


def inverse_normal(uniform: np.ndarray) -> np.ndarray:
    """The value below which a standard normal variable falls with chance `uniform`, 0 < uniform < 1."""
    centred = uniform - 0.5
    square = centred * centred
    values = centred * _polynomial(CENTRE_TOP, square) / _polynomial(CENTRE_BOTTOM, square)
    tail = np.flatnonzero(np.abs(centred) > 0.5 - TAIL_BORDER)
    outside = np.minimum(uniform[tail], 1.0 - uniform[tail])
    depth = np.sqrt(-2.0 * _log(outside))
    # the approximation gives the lower tail, which is negative; the upper one mirrors it
    values[tail] = _polynomial(TAIL_TOP, depth) / _polynomial(TAIL_BOTTOM, depth) * -np.sign(centred[tail])
    return values


def _polynomial(coefficients: tuple[float, ...], x: np.ndarray) -> np.ndarray:
    total = np.full_like(x, coefficients[0])
    for coefficient in coefficients[1:]:
        total *= x
        total += coefficient
    return total


def _log(x: np.ndarray) -> np.ndarray:
    """Natural logarithm from exactly rounded operations: x = m 2^e, ln m = 2 artanh((m-1)/(m+1))."""
    mantissa, exponent = np.frexp(x)
    ratio = (mantissa - 1.0) / (mantissa + 1.0)  # mantissa in [0.5, 1), so |ratio| <= 1/3
    square = ratio * ratio
    series = _polynomial(tuple(1.0 / k for k in range(33, 0, -2)), square)
    return exponent * LN_2 + 2.0 * ratio * series


def _key(seed: int, name: str) -> np.uint64:
    """FNV-1a of the name, mixed with the seed."""
    hashed = 0xCBF29CE484222325
    for byte in name.encode():
        hashed = (hashed ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return _mix(np.uint64(hashed), np.array([seed & 0xFFFFFFFFFFFFFFFF], dtype=np.uint64))[0]


def _mix(key: np.uint64, counters: np.ndarray) -> np.ndarray:
    """The splitmix64 output for each counter of the stream `key`."""
    with np.errstate(over="ignore"):
        state = (counters + np.uint64(1)) * GOLDEN + key
        state = (state ^ (state >> np.uint64(30))) * MIX_1
        state = (state ^ (state >> np.uint64(27))) * MIX_2
        return state ^ (state >> np.uint64(31))
