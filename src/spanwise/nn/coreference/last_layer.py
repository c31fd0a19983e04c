"""From the parts of a hidden layer to one score per row: everything behind the matrix product in one pass.

The hidden layer of a span or a pair is a sum: a product of its own and rows of tables that many share (of its first
piece, its antecedent, its features). On the processor, without gradients, a compiled loop adds them up, takes ReLU and
the last layer row by row, in the cache; in PyTorch each of these reads and writes the whole layer again.

Letters: n rows, F size of the hidden layer.
"""

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from spanwise.runtime.compiled import njit


class Shared(NamedTuple):
    """Row `index_n[i]` of `table` is added to row i."""

    table: Tensor
    index_n: Tensor


def one_pass(device: torch.device) -> bool:
    """Return whether `scores_of_sums` can be used now: it knows neither gradients nor other devices."""
    return device.type == "cpu" and not torch.is_grad_enabled()


def scores_of_sums(inner_nF: Tensor, shared: tuple[Shared, Shared, Shared], last: nn.Linear) -> Tensor:
    """last(ReLU(inner + three shared rows)), float32 [n]. inner_nF: float32 or bfloat16."""
    scores_n = torch.empty(len(inner_nF))
    tables = [array for table, index_n in shared for array in (_floats(table), index_n.contiguous().numpy())]
    out_F = _floats(last.weight)[0]
    if inner_nF.dtype == torch.bfloat16:
        inner = inner_nF.contiguous().view(torch.int16).numpy().view(np.uint16)
        _from_halves(inner, *tables, out_F, scores_n.numpy())
    else:
        _from_floats(_floats(inner_nF), *tables, out_F, scores_n.numpy())
    return scores_n + last.bias


def _floats(tensor: Tensor) -> np.ndarray:
    return tensor.detach().float().contiguous().numpy()


@njit(inline="always", fastmath={"reassoc", "contract", "nsz"})
def _score(x_F, a_F, b_F, c_F, out_F):
    total = np.float32(0.0)
    for f in range(len(out_F)):
        value = x_F[f] + a_F[f] + b_F[f] + c_F[f]
        total += max(value, np.float32(0.0)) * out_F[f]
    return total


@njit(fastmath={"reassoc", "contract", "nsz"})
def _from_floats(inner_nF, a, a_n, b, b_n, c, c_n, out_F, scores_n):
    for n in range(len(inner_nF)):
        scores_n[n] = _score(inner_nF[n], a[a_n[n]], b[b_n[n]], c[c_n[n]], out_F)


@njit(fastmath={"reassoc", "contract", "nsz"})
def _from_halves(inner_nF, a, a_n, b, b_n, c, c_n, out_F, scores_n):
    """inner_nF: the bits of bfloat16, which are the upper half of a float32's."""
    bits_F = np.empty(inner_nF.shape[1], dtype=np.uint32)
    x_F = bits_F.view(np.float32)
    for n in range(len(inner_nF)):
        for f in range(len(bits_F)):
            bits_F[f] = np.uint32(inner_nF[n, f]) << np.uint32(16)
        scores_n[n] = _score(x_F, a[a_n[n]], b[b_n[n]], c[c_n[n]], out_F)
