"""Softmax over runs of different lengths in one flat array, and its gradient, each run while it is in the cache.

Letters: P pointers (runs), N candidates of all of them, G gold positions.
"""

import numpy as np
import torch
from torch import Tensor

from spanwise.runtime.compiled import njit
from spanwise.runtime.float_operations import REORDERED, array_of, exponential, larger
from spanwise.runtime.row_threads import in_parts


def serves(scores: Tensor) -> bool:
    """Return whether the loops of this file can be used."""
    return scores.device.type == "cpu" and scores.dtype == torch.float32


def point_rows(scores: Tensor, borders: Tensor) -> tuple[Tensor, Tensor]:
    """Return the best of each run of scores [N], and the sum of the exponentials of all below it, [P] each."""
    best_P, total_P = scores.new_empty(len(borders) - 1), scores.new_empty(len(borders) - 1)
    arrays = [array_of(tensor) for tensor in (scores, borders, best_P, total_P)]
    in_parts(lambda _, first, last: _totals(*arrays, first, last), len(best_P))
    return best_P, total_P


def scaled_chances(scores: Tensor, borders: Tensor, best: Tensor, factor: Tensor) -> Tensor:
    """Return the exponentials of each run below its best [P], times its `factor` [P]: [N]."""
    found_N = torch.empty_like(scores)
    arrays = [array_of(tensor.contiguous()) for tensor in (scores, borders, best, factor, found_N)]
    in_parts(lambda _, first, last: _chances(*arrays, first, last), len(best))
    return found_N


@njit
def _totals(scores_N, borders_P1, best_P, total_P, first, last):
    for p in range(first, last):
        run = scores_N[borders_P1[p] : borders_P1[p + 1]]
        best_P[p] = _best(run)
        total_P[p] = _total(run, best_P[p])


@njit(fastmath=REORDERED)
def _best(run):
    best = np.float32(-np.inf)
    for n in range(len(run)):
        best = larger(best, run[n])
    return best


@njit(fastmath=REORDERED)
def _total(run, best):
    total = np.float32(0.0)
    for n in range(len(run)):
        total += exponential(run[n] - best)
    return total


@njit
def _chances(scores_N, borders_P1, best_P, factor_P, found_N, first, last):
    for p in range(first, last):
        run = slice(borders_P1[p], borders_P1[p + 1])
        _scaled(scores_N[run], best_P[p], factor_P[p], found_N[run])


@njit(fastmath=REORDERED)
def _scaled(run, best, factor, found):
    for n in range(len(run)):
        found[n] = exponential(run[n] - best) * factor
