"""Sinusoids as the first values of a learned position table.

Tokens at distance d then have the same inner product wherever they stand, so attention to a neighbour is a linear
map away instead of something to be learned for every position.

Source: Vaswani et al. 2017, section 3.5 (the sinusoids; here a start, not a constant).
Letters: L positions, D hidden size.
"""

import math

import torch
from torch import Tensor

from spanwise.nn.encoder import Encoder

LONGEST_WAVE = 10_000.0


def sinusoids(num_positions: int, hidden_size: int) -> Tensor:
    """Sines in the first half of the columns, cosines in the second: [L, D], each row of mean square 1/2."""
    num_waves = (hidden_size + 1) // 2
    rates = torch.exp(torch.arange(num_waves, dtype=torch.float64) * (-math.log(LONGEST_WAVE) / num_waves))
    angles = torch.arange(num_positions, dtype=torch.float64)[:, None] * rates
    return torch.cat([angles.sin(), angles.cos()], dim=1)[:, :hidden_size].float()


def set_sinusoidal_positions(encoder: Encoder) -> None:
    """Overwrite the position table, which the encoder must have, at the variance that random weights would have."""
    position = encoder.embeddings.position
    assert position is not None  # the recipe was checked
    table = position.weight
    with torch.no_grad():
        table.copy_(sinusoids(*table.shape) * (math.sqrt(2.0) * encoder.config.initializer_range))
