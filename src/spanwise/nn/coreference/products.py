"""The head's large matrix products, in the precision that a run asks for; all around them stays in float32.

Scores of pairs are sums of numbers of order ten whose differences decide, so they are never rounded. The hidden layers
below them may be: their errors average out over thousands of units.
"""

import torch
import torch.nn.functional as F
from torch import Tensor


def product_dtype(device: torch.device) -> torch.dtype | None:
    """Return the type that autocast asks for here; None: products as their factors are."""
    return torch.get_autocast_dtype(device.type) if torch.is_autocast_enabled(device.type) else None


def rounded(values: Tensor, dtype: torch.dtype | None) -> Tensor:
    return values if dtype is None else values.to(dtype)


def factor(weight: Tensor, dtype: torch.dtype | None) -> Tensor:
    """A weight that many chunks are multiplied by, rounded once.

    With gradients it stays as it is, and each chunk rounds it anew: so what the chunks send back adds up in float32.
    """
    return weight if torch.is_grad_enabled() else rounded(weight, dtype)


def product(rows: Tensor, weight: Tensor, dtype: torch.dtype | None, bias: Tensor | None = None) -> Tensor:
    """`rows @ weight.T + bias` with factors rounded to `dtype`; the result is of the rows' own type."""
    if dtype is None:
        return F.linear(rows, weight, bias)
    found = F.linear(rows.to(dtype), weight.to(dtype)).to(rows.dtype)
    return found if bias is None else found.add_(bias)
