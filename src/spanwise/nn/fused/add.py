"""Sums and products into float32 memory from bfloat16 or float32 arrays, without a float32 copy in between."""

from torch import Tensor

from spanwise.runtime.compiled import njit
from spanwise.runtime.float_operations import array_of, widened
from spanwise.runtime.row_threads import in_parts


def add_rows(total: Tensor, share: Tensor, *, fresh: bool) -> None:
    """total [N, D] float32 plus share [N, D] of either type, in place; where `fresh`, share alone."""
    arrays = (array_of(total), array_of(share))
    in_parts(lambda _, first, last: _add(*arrays, fresh, first, last), len(total))


@njit
def _add(total_ND, share_ND, fresh, first, last):
    for n in range(first, last):
        if fresh:
            for d in range(total_ND.shape[1]):
                total_ND[n, d] = widened(share_ND[n, d])
        else:
            for d in range(total_ND.shape[1]):
                total_ND[n, d] += widened(share_ND[n, d])
