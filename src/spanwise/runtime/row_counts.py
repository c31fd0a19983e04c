"""Few different numbers of rows for matrix products in bf16 on a CPU.

oneDNN makes a kernel of its own for every shape that it meets and keeps the last thousand. A kernel takes 6 to 40 ms,
several times what the product itself takes in a small model, and half a megabyte. Packs of fine-tuning and prediction
each have another number of tokens, so hardly a product would find its kernel. Filler rows up to the next of 32 counts
between two powers of 2 cost 1.5 % of the arithmetic and leave few shapes. float32 products have no such kernels.

Letters: N rows, D their width.
"""

import torch
import torch.nn.functional as F
from torch import Tensor

STEPS = 32  # counts between two powers of 2
FEWEST = 16  # rows of the smallest tile


def rounded_rows(num_rows: int) -> int:
    """The number of rows to compute with: `num_rows` or up to a 32nd more, and never below a tile."""
    multiple = max(FEWEST, (1 << max(num_rows - 1, 0).bit_length()) // (2 * STEPS))
    return -(-num_rows // multiple) * multiple


def num_filler_rows(rows: Tensor) -> int:
    """How many rows of filler products of `rows` [N, D] want; 0 where kernels are not made by shape."""
    if rows.device.type != "cpu" or not len(rows):
        return 0
    dtype = torch.get_autocast_dtype("cpu") if torch.is_autocast_enabled("cpu") else rows.dtype
    return rounded_rows(len(rows)) - len(rows) if dtype == torch.bfloat16 else 0


def with_filler(rows: Tensor) -> Tensor:
    """`rows` [N, D] with as many rows of zeros behind them as their products want."""
    num_filler = num_filler_rows(rows)
    return F.pad(rows, (0, 0, 0, num_filler)) if num_filler else rows


def with_filler_places(rows: Tensor) -> Tensor:
    """Places [N] of rows with the first one named again as often as products of so many rows want."""
    num_filler = num_filler_rows(rows)
    return torch.cat((rows, rows[:1].expand(num_filler))) if num_filler else rows


def apply_to_rows(linear: torch.nn.Linear, rows: Tensor) -> Tensor:
    """`linear(rows)` for rows [N, D], whatever N is."""
    filled = with_filler(rows)
    return linear(rows) if filled is rows else linear(filled)[: len(rows)]
