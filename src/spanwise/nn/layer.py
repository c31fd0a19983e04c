"""One encoder layer: self-attention, then a feed-forward network. A layer's arithmetic stands here and nowhere else.

What varies is given: `context` is what a token sees (the other tokens of its sequence, or keys and values that were
kept), and `with_products` puts other products and row loops in the place of linear layers (int8, few rows).

Letters: T tokens in the pack, D hidden size, I intermediate size.
Source: Vaswani et al. 2017, section 3; Devlin et al. 2019 (BERT), section 3: post-norm, GELU; Shazeer 2020 for gates;
Warner et al. 2024 (ModernBERT), section 2.1, for layers without biases and the order of normalisations.
"""

import copy
from collections.abc import Callable, Iterable
from typing import TypeVar, cast

import torch.nn.functional as F
from torch import Tensor, nn

from spanwise.nn.attention import Context
from spanwise.nn.config import EncoderConfig
from spanwise.nn.dropout import keys_at
from spanwise.nn.residual import PreNorm, Residual, ResidualNorm

SubLayer = TypeVar("SubLayer", "SelfAttention", "FeedForward")
FEED_FORWARD = -1  # its place among those that drop elements, beside the number of a layer


def gelu(x: Tensor, activation: str) -> Tensor:
    """Return GELU as its tanh approximation ("gelu_tanh"), or as the error function."""
    return F.gelu(x, approximate="tanh" if activation == "gelu_tanh" else "none")


class Inner(nn.Module):
    """The function between the two products of a feed-forward network: [T, I] -> [T, I], gated [T, 2I] -> [T, I].

    Gated, the first half of the columns is activated and the second half multiplies it (GeGLU, SwiGLU).
    """

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.activation, self.gated = config.activation, config.gated

    def forward(self, inner: Tensor) -> Tensor:
        if not self.gated:
            return self.activated(inner)
        activated, gate = inner.chunk(2, dim=1)
        return self.activated(activated) * gate

    def activated(self, inner: Tensor) -> Tensor:
        """Apply the activation alone."""
        return F.silu(inner) if self.activation == "silu" else gelu(inner, self.activation)


def residual(config: EncoderConfig, has_norm: bool = True) -> Residual:
    """Return how a sub-layer joins the residual."""
    return ResidualNorm(config) if config.norm_place == "post" else PreNorm(config, has_norm)


class SelfAttention(nn.Module):
    """Multi-head self-attention; queries, keys and values come from one fused product."""

    def __init__(self, config: EncoderConfig, has_norm: bool = True) -> None:
        super().__init__()
        D, bias = config.hidden_size, config.attention_bias
        self.qkv = nn.Linear(D, 3 * D, bias=bias)
        self.output = nn.Linear(D, D, bias=bias)
        self.residual = residual(config, has_norm)

    def forward(
        self, hidden: Tensor, context: Context, rows: Tensor | None = None, keys: Tensor | None = None
    ) -> Tensor:
        """hidden: [T, D] float32. Returns [T, D] float32, or the R `rows` alone, which see all the others.

        keys: of each row that is returned."""
        mixed_TD = context(self.qkv(self.residual.enter(hidden)))
        if rows is not None:
            mixed_TD, hidden = mixed_TD.index_select(0, rows), hidden.index_select(0, rows)
        return self.residual(self.output, mixed_TD, hidden, keys)


class FeedForward(nn.Module):
    """Linear D -> I, activation, Linear I -> D; or gated, where the first product is D -> 2I."""

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        D, I, bias = config.hidden_size, config.intermediate_size, config.feed_forward_bias
        self.up = nn.Linear(D, 2 * I if config.gated else I, bias=bias)
        self.inner = Inner(config)
        self.down = nn.Linear(I, D, bias=bias)
        self.residual = residual(config)

    def network(self, rows: Tensor) -> Tensor:
        """Compute what is added to the residual: [T, D] -> [T, D]."""
        return self.down(self.inner(self.up(self.residual.enter(rows))))

    def forward(self, hidden: Tensor, keys: Tensor | None = None) -> Tensor:
        """hidden: [T, D] float32, or some rows of it. Returns as many, float32."""
        return self.residual(self.network, hidden, hidden, keys)


class EncoderLayer(nn.Module):
    """Self-attention, then feed-forward: [T, D] -> [T, D].

    Both may be those of another layer too (ALBERT, section 3.1).
    """

    def __init__(self, attention: SelfAttention, feed_forward: FeedForward) -> None:
        super().__init__()
        self.attention, self.feed_forward = attention, feed_forward

    def forward(
        self, hidden: Tensor, context: Context, rows: Tensor | None = None, keys: Tensor | None = None
    ) -> Tensor:
        """hidden: [T, D]. Returns [T, D], or with `rows` those R alone. keys: [T] int64, of what each token drops."""
        if keys is None:
            return self.feed_forward(self.attention(hidden, context, rows))
        keys = keys if rows is None else keys.index_select(0, rows)
        return self.feed_forward(self.attention(hidden, context, rows, keys), keys_at(keys, FEED_FORWARD))


def make_layers(config: EncoderConfig) -> list[EncoderLayer]:
    """Return the layers in the order of visits; where `config.sharing` says so, all have sub-layers of the first.

    Before the first attention a pre-norm encoder normalises nothing that its embeddings have normalised already, except
    where all layers share that attention.
    """
    shares_attention = config.sharing in ("all", "attention")
    first = EncoderLayer(SelfAttention(config, not config.embedding_norm or shares_attention), FeedForward(config))
    layers = [first]
    for _ in range(1, config.num_layers):
        attention = first.attention if shares_attention else SelfAttention(config)
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
