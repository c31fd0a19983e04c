"""Extractive question answering head: two scores a token, start and end of the answer.

Source: Devlin et al. 2019 (BERT), section 4.2.
"""

from __future__ import annotations

from torch import Tensor, nn

from spanwise.nn.config import EncoderConfig


class QuestionAnsweringHead(nn.Module):
    """Linear D -> 2."""

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.linear = nn.Linear(config.hidden_size, 2)

    def forward(self, hidden: Tensor) -> Tensor:
        """hidden: [T, D]. Returns [T, 2] float32: column 0 scores the first token of the answer, column 1 its last."""
        return self.linear(hidden).float()
