"""The loops between two products of bytes, each beside the same arithmetic in PyTorch."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from spanwise.nn.int8.rows import (
    EXACT,
    GELU_ZERO,
    TANH,
    ZERO,
    add_and_norm,
    gelu_codes,
    quantize_rows,
    rescale_rows,
)

RNG = np.random.default_rng(0)


def floats(*shape, scale=1.0):
    return (scale * RNG.standard_normal(shape)).astype(np.float32)


def quantized(values):
    codes, scales = np.empty(values.shape, dtype=np.uint8), np.empty(len(values), dtype=np.float32)
    quantize_rows(values, codes, scales)
    return codes, scales


def test_a_value_is_at_most_half_a_step_from_its_code_and_the_largest_has_the_last_code():
    values = floats(9, 37) * np.float32(10.0) ** np.arange(-4, 5, dtype=np.float32)[:, None]
    codes, scales = quantized(values)

    assert np.abs((codes.astype(np.float64) - ZERO) * scales[:, None] - values).max(1) == pytest.approx(
        scales / 2, rel=0.3
    )
    assert (np.abs(codes.astype(int) - ZERO).max(1) == 127).all()
    np.testing.assert_allclose(scales, np.abs(values).max(1) / 127, rtol=1e-6)


def test_a_row_of_zeros_stays_zeros():
    codes, scales = quantized(np.zeros((2, 5), dtype=np.float32))
    assert (codes == ZERO).all() and (scales > 0).all() and np.isfinite(scales).all()


def test_codes_of_a_row_are_the_same_beside_any_other_rows():
    values = floats(6, 33)
    alone, scale = quantized(values[4:5].copy())
    beside, scales = quantized(np.concatenate([1000 * values[:4], values[4:], values[:1]]))
    assert np.array_equal(alone[0], beside[4]) and scale[0] == scales[4]


def test_rescaling_gives_each_row_its_scale_and_each_column_its_bias():
    sums, scales, bias = floats(5, 19), floats(5), floats(19)
    expected = sums * scales[:, None] + bias
    rescale_rows(sums, scales, bias)
    np.testing.assert_allclose(sums, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(("constants", "approximate"), [(EXACT, "none"), (TANH, "tanh")])
def test_gelu_of_both_forms_is_right_within_half_a_step_of_its_code(constants, approximate):
    x = np.concatenate([np.linspace(-40, 40, 2001), np.linspace(-6, 6, 6001)]).astype(np.float32).reshape(2, -1)
    expected = F.gelu(torch.from_numpy(x).double(), approximate=approximate).numpy()
    sums, scales, codes = x.copy(), np.ones(2, dtype=np.float32), np.empty(x.shape, dtype=np.uint8)
    gelu_codes(sums, scales, np.zeros(x.shape[1], dtype=np.float32), constants, codes)

    np.testing.assert_allclose(sums, expected, atol=2e-5)
    near = np.abs(x) < 5
    assert np.abs(sums - expected)[near].max() < 3e-6
    values = (codes.astype(np.float64) - GELU_ZERO) * scales[:, None]
    assert (np.abs(values - expected) <= 0.501 * scales[:, None]).all()


def test_gelu_takes_scale_and_bias_first():
    sums, scales, bias, codes = floats(3, 24), np.abs(floats(3)), floats(24), np.empty((3, 24), dtype=np.uint8)
    expected = F.gelu(torch.from_numpy(sums * scales[:, None] + bias)).numpy()
    gelu_codes(sums, scales, bias, EXACT, codes)
    np.testing.assert_allclose(sums, expected, atol=3e-6)


def test_the_lowest_value_of_gelu_has_a_code():
    x = np.full((1, 8), -0.7518, dtype=np.float32)  # where the exact form is lowest
    scales, codes = np.ones(1, dtype=np.float32), np.empty((1, 8), dtype=np.uint8)
    gelu_codes(x, scales, np.zeros(8, dtype=np.float32), EXACT, codes)
    assert (codes == 0).all()


def test_add_and_norm_is_layer_norm_of_the_sum():
    sums, scales, bias, residual = floats(7, 32), floats(7), floats(32), floats(7, 32, scale=3.0)
    weight, shift, out = floats(32), floats(32), np.empty((7, 32), dtype=np.float32)
    add_and_norm(sums, scales, bias, residual, weight, shift, np.float32(1e-12), out)
    total = torch.from_numpy(sums * scales[:, None] + bias + residual)
    expected = F.layer_norm(total, (32,), torch.from_numpy(weight), torch.from_numpy(shift), 1e-12)
    np.testing.assert_allclose(out, expected.numpy(), atol=5e-6)


def test_a_constant_row_is_no_not_a_number():
    zeros, one = np.zeros((1, 16), dtype=np.float32), np.ones(16, dtype=np.float32)
    out = np.empty((1, 16), dtype=np.float32)
    add_and_norm(zeros, np.ones(1, dtype=np.float32), one, zeros, one, one, np.float32(1e-12), out)
    np.testing.assert_allclose(out, 1.0)
