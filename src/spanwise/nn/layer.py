"""One encoder layer: self-attention, then a feed-forward network. A layer's arithmetic stands here and nowhere else.

What varies is given: `context` is what a token sees (the other tokens of its sequence, or keys and values that were
kept), and `with_products` puts other products and row loops in the place of linear layers (int8, few rows).

Letters: T tokens in the pack, D hidden size, I intermediate size.
Source: Vaswani et al. 2017, section 3; Devlin et al. 2019 (BERT), section 3: post-norm, GELU.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from typing import TypeVar, cast

import torch.nn.functional as F
from torch import Tensor, nn

from spanwise.nn.attention import Context
from spanwise.nn.config import EncoderConfig
from spanwise.nn.residual import ResidualNorm, SomeRows

SubLayer = TypeVar("SubLayer", "SelfAttention", "FeedForward")


def gelu(x: Tensor, activation: str) -> Tensor:
    """Return GELU as the error function ("gelu") or as its tanh approximation ("gelu_tanh")."""
    return F.gelu(x, approximate="tanh" if activation == "gelu_tanh" else "none")


class Activation(nn.Module):
    """The function between the two products of a feed-forward network."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        self.kind = kind

    def forward(self, inner: Tensor) -> Tensor:
        """inner: [T, I]. Returns [T, I]."""
        return gelu(inner, self.kind)


class SelfAttention(nn.Module):
    """Multi-head self-attention; queries, keys and values come from one fused product."""

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.qkv = nn.Linear(config.hidden_size, 3 * config.hidden_size)
        self.output = nn.Linear(config.hidden_size, config.hidden_size)
        self.residual = ResidualNorm(config.hidden_size, config.norm_eps, config.hidden_dropout)

    def forward(self, hidden: Tensor, context: Context, some: SomeRows | None = None) -> Tensor:
        """hidden: [T, D] float32. Returns [T, D] float32, or the R rows named in `some`, which see all the others."""
        mixed_TD = context(self.qkv(hidden))
        if some is not None:
            mixed_TD, hidden = some.of(mixed_TD), some.of(hidden)
        return self.residual(self.output, mixed_TD, hidden, some)


class FeedForward(nn.Module):
    """Linear D -> I, GELU, Linear I -> D."""

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.up = nn.Linear(config.hidden_size, config.intermediate_size)
        self.activation = Activation(config.activation)
        self.down = nn.Linear(config.intermediate_size, config.hidden_size)
        self.residual = ResidualNorm(config.hidden_size, config.norm_eps, config.hidden_dropout)

    def network(self, rows: Tensor) -> Tensor:
        """Compute what is added to the residual: [T, D] -> [T, D]."""
        return self.down(self.activation(self.up(rows)))

    def forward(self, hidden: Tensor, some: SomeRows | None = None) -> Tensor:
        """hidden: [T, D] float32, or the rows of it that `some` names. Returns as many, float32."""
        return self.residual(self.network, hidden, hidden, some)


class EncoderLayer(nn.Module):
    """Self-attention, then feed-forward: [T, D] -> [T, D].

    Both may be those of another layer too (ALBERT, section 3.1).
    """

    def __init__(self, attention: SelfAttention, feed_forward: FeedForward) -> None:
        super().__init__()
        self.attention, self.feed_forward = attention, feed_forward

    def forward(self, hidden: Tensor, context: Context, some: SomeRows | None = None) -> Tensor:
        """hidden: [T, D]. Returns [T, D], or with `some` those R rows alone."""
        return self.feed_forward(self.attention(hidden, context, some), some)


def make_layers(config: EncoderConfig) -> list[EncoderLayer]:
    """Return the layers in the order of visits; where `config.sharing` says so, all have sub-layers of the first."""
    first = EncoderLayer(SelfAttention(config), FeedForward(config))
    layers = [first]
    for _ in range(1, config.num_layers):
        attention = first.attention if config.sharing in ("all", "attention") else SelfAttention(config)
        feed_forward = first.feed_forward if config.sharing in ("all", "feed_forward") else FeedForward(config)
        layers.append(EncoderLayer(attention, feed_forward))
    return layers


def with_products(
    layers: Iterable[EncoderLayer], replaced: Callable[[SelfAttention | FeedForward, str], dict[str, nn.Module]]
) -> list[EncoderLayer]:
    """Return layers that compute the same with other parts, and share all the rest with those given.

    replaced: the parts that take the places of a sub-layer's own, by name; it gets the sub-layer and its name. What
    several layers share is replaced once.
    """
    made: dict[int, nn.Module] = {}

    def other(part: SubLayer, name: str) -> SubLayer:
        twin = made.get(id(part))
        if twin is None:
            twin = made[id(part)] = copy.copy(part)
            twin._modules = {**part._modules, **replaced(part, name)}
        return cast(SubLayer, twin)

    return [
        EncoderLayer(
            other(layer.attention, f"layers.{i}.attention"), other(layer.feed_forward, f"layers.{i}.feed_forward")
        )
        for i, layer in enumerate(layers)
    ]
