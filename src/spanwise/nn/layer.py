"""One encoder layer: self-attention, then a feed-forward network, each ending in LayerNorm(residual + dropout).

Letters: T tokens in the pack, D hidden size, I intermediate size.
Source: Vaswani et al. 2017, section 3; Devlin et al. 2019 (BERT), section 3: post-norm, GELU.
"""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor, nn

from spanwise.nn.attention import attend
from spanwise.nn.config import EncoderConfig
from spanwise.nn.residual import ResidualNorm, SomeRows
from spanwise.nn.sequences import Sequences


def gelu(x: Tensor, activation: str) -> Tensor:
    """GELU as the error function ("gelu") or as its tanh approximation ("gelu_tanh")."""
    return F.gelu(x, approximate="tanh" if activation == "gelu_tanh" else "none")


class SelfAttention(nn.Module):
    """Multi-head self-attention; queries, keys and values come from one fused product."""

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.num_heads = config.num_heads
        self.dropout = config.attention_dropout
        self.causal = config.causal
        self.qkv = nn.Linear(config.hidden_size, 3 * config.hidden_size)
        self.output = nn.Linear(config.hidden_size, config.hidden_size)
        self.residual = ResidualNorm(config.hidden_size, config.norm_eps, config.hidden_dropout)

    def forward(self, hidden: Tensor, sequences: Sequences, some: SomeRows | None = None) -> Tensor:
        """hidden: [T, D] float32. Returns [T, D] float32, or the R rows named in `some`, which see all the others."""
        dropout = self.dropout if self.training else 0.0
        mixed_TD = attend(self.qkv(hidden), sequences, self.num_heads, dropout, causal=self.causal)
        if some is not None:
            mixed_TD, hidden = some.of(mixed_TD), some.of(hidden)
        return self.residual(self.output(mixed_TD), hidden, some)


class FeedForward(nn.Module):
    """Linear D -> I, GELU, Linear I -> D."""

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.activation = config.activation
        self.up = nn.Linear(config.hidden_size, config.intermediate_size)
        self.down = nn.Linear(config.intermediate_size, config.hidden_size)
        self.residual = ResidualNorm(config.hidden_size, config.norm_eps, config.hidden_dropout)

    def forward(self, hidden: Tensor, some: SomeRows | None = None) -> Tensor:
        """hidden: [T, D] float32, or the rows of it that `some` names. Returns as many, float32."""
        return self.residual(self.down(gelu(self.up(hidden), self.activation)), hidden, some)


class EncoderLayer(nn.Module):
    """Self-attention, then feed-forward: [T, D] -> [T, D].

    first: the encoder's first layer, whose attention, feed-forward or both this layer uses too where
    `config.sharing` says so (ALBERT, section 3.1).
    """

    def __init__(self, config: EncoderConfig, first: EncoderLayer | None = None) -> None:
        super().__init__()
        shares_attention = first is not None and config.sharing in ("all", "attention")
        shares_feed_forward = first is not None and config.sharing in ("all", "feed_forward")
        self.attention: SelfAttention = first.attention if first and shares_attention else SelfAttention(config)
        self.feed_forward: FeedForward = first.feed_forward if first and shares_feed_forward else FeedForward(config)

    def forward(self, hidden: Tensor, sequences: Sequences, some: SomeRows | None = None) -> Tensor:
        """hidden: [T, D]. Returns [T, D], or with `some` those R rows alone."""
        return self.feed_forward(self.attention(hidden, sequences, some), some)
