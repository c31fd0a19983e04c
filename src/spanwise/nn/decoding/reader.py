"""A causal encoder that reads one token more at a time: keys and values of what it has read stay.

`CausalReader` holds B sequences of different lengths, each in a row of its own. `fill` reads whole texts into rows, all
of them packed together; `step` reads one more token in every row. Both give the hidden state of each row's last token,
equal to what the encoder says of the whole text, but for rounding.

Letters: T tokens of a pack, B rows, C slots of a row, H heads, K size of a head, D = H x K.
Source: Vaswani et al. 2017, section 3.2.3 (masked self-attention): what is read later changes nothing before it.
"""

import functools
from collections.abc import Sequence
from typing import cast

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from spanwise.errors import ConfigError
from spanwise.nn.attention import PackedContext, packed_contexts
from spanwise.nn.encoder import Encoder
from spanwise.nn.layer import EncoderLayer, FeedForward, SelfAttention, with_products
from spanwise.nn.sequences import Sequences

FILL_TOKENS = 4096  # of one forward over whole texts
FEWEST, MOST = 4, 64  # rows of a step for which the weights come first in a product


def slot_bytes(encoder: Encoder) -> int:
    """Memory of one slot: a key and a value in every layer, in float32."""
    return 2 * encoder.config.num_layers * encoder.config.hidden_size * 4


class CausalReader:
    """B rows of at most C tokens. `lengths_B` says how much each has read.

    Raises: ConfigError for an encoder that sees both sides: its states change with every token that is read.
    """

    def __init__(self, encoder: Encoder, num_rows: int, num_slots: int) -> None:
        if not encoder.config.causal:
            raise ConfigError("this encoder sees both sides of a token; causal ones alone can be read token by token.")
        self.encoder = encoder
        self.num_slots = min(num_slots, encoder.config.max_positions)
        self.lengths_B = np.zeros(num_rows, dtype=np.int64)
        self._layers = [cast(EncoderLayer, layer) for layer in encoder.layers]
        self._step_layers = with_products(self._layers, _few_row_parts)
        self._caches: list[_Cache] = []

    def fill(self, rows: Sequence[int], texts: Sequence[np.ndarray]) -> Tensor:
        """Read a text into each of `rows`, whatever they held. Returns the last hidden states [rows, D] float32."""
        found: list[Tensor] = []
        lengths = np.array([len(text) for text in texts])
        ends = np.cumsum(lengths) // FILL_TOKENS
        for part in np.split(np.arange(len(rows)), np.flatnonzero(np.diff(ends)) + 1):
            found.append(self._fill([rows[k] for k in part], [texts[k] for k in part]))
        return torch.cat(found)

    def step(self, ids: np.ndarray) -> Tensor:
        """Read one more token in every row: ids [B]. Returns the hidden states [B, D] float32."""
        device = self.encoder.word_embedding.device
        ids_B = torch.from_numpy(np.asarray(ids, dtype=np.int64)).to(device)
        places_B = torch.from_numpy(self.lengths_B).to(device)
        sequences = Sequences(
            lengths=(1,) * len(ids),
            cu_seqlens=torch.arange(len(ids) + 1, dtype=torch.int32, device=device),
            positions=places_B,
        )
        hidden_BD = self.encoder.embeddings(ids_B, torch.zeros_like(ids_B), sequences)
        ago_BC = places_B[:, None] - torch.arange(int(self.lengths_B.max()) + 1, device=device)
        contexts = packed_contexts(self.encoder.config, sequences, training=False)
        for layer, context, cache in zip(self._step_layers, contexts, self._caches, strict=True):
            hidden_BD = layer(hidden_BD, functools.partial(cache.step, context, ago_BC))
        self.lengths_B = self.lengths_B + 1
        return self.encoder.finished(hidden_BD).float()

    def keep(self, rows: np.ndarray) -> None:
        """Forget all rows but these; they are numbered anew, in this order."""
        chosen = torch.from_numpy(np.asarray(rows, dtype=np.int64))
        self.lengths_B = self.lengths_B[rows]
        for cache in self._caches:
            cache.keep(chosen)

    def _fill(self, rows: Sequence[int], texts: Sequence[np.ndarray]) -> Tensor:
        device = self.encoder.word_embedding.device
        sequences = Sequences.from_lengths([len(text) for text in texts]).to(device)
        ids_T = torch.from_numpy(np.concatenate(texts).astype(np.int64)).to(device)
        row_T = torch.from_numpy(np.repeat(np.asarray(rows), sequences.lengths)).to(device)
        hidden_TD = self.encoder.embeddings(ids_T, torch.zeros_like(ids_T), sequences)
        if not self._caches:
            shape = (len(self.lengths_B), self.encoder.config.num_heads, self.num_slots)
            self._caches = [_Cache(shape) for _ in self._layers]
        contexts = packed_contexts(self.encoder.config, sequences, training=False)
        for layer, context, cache in zip(self._layers, contexts, self._caches, strict=True):
            hidden_TD = layer(hidden_TD, functools.partial(cache.fill, context, row_T))
        self.lengths_B = self.lengths_B.copy()
        self.lengths_B[list(rows)] = sequences.lengths
        return self.encoder.finished(hidden_TD.index_select(0, sequences.cu_seqlens[1:] - 1)).float()


class _Cache:
    """Keys and values [B, H, C, K] of one layer, made when it is first read, in the type that it computes in."""

    def __init__(self, shape: tuple[int, int, int]) -> None:
        self.shape = shape
        self.keys = self.values = torch.empty(0)

    def fill(self, context: PackedContext, rows: Tensor, qkv: Tensor) -> Tensor:
        """Keep what tokens [T, 3D] of new texts are, each in its row. Returns what they take from each other [T, D]."""
        qkv = context.rotate(qkv)
        self._write(qkv, rows, context.sequences.positions)
        return context.attend(qkv)

    def _write(self, qkv: Tensor, rows: Tensor, places: Tensor) -> None:
        """Keep the keys and values of tokens [n, 3D], each at its row and place."""
        B, H, C = self.shape
        _, k_nHK, v_nHK = qkv.view(len(qkv), 3, H, -1).unbind(1)
        if not len(self.keys):
            self.keys, self.values = (k_nHK.new_zeros(B, H, C, k_nHK.shape[2]) for _ in range(2))
        self.keys[rows, :, places], self.values[rows, :, places] = k_nHK, v_nHK

    def step(self, context: PackedContext, ago_BC: Tensor, qkv: Tensor) -> Tensor:
        """Return what each row's new token takes from those it has read, itself included: [B, 3D] -> [B, D].

        ago_BC: how many tokens before the new one each slot was read; below 0 for slots that were not.
        """
        qkv = context.rotate(qkv)
        self._write(qkv, torch.arange(len(qkv), device=qkv.device), context.sequences.positions)
        longest, H = ago_BC.shape[1], self.shape[1]
        unseen_BC = ago_BC < 0
        if context.reach.before is not None:
            unseen_BC |= ago_BC > context.reach.before
        q_BHK = qkv.view(len(qkv), 3, H, -1)[:, 0]
        scores_BHC = torch.matmul(self.keys[:, :, :longest], q_BHK.unsqueeze(-1)).squeeze(-1) * q_BHK.shape[2] ** -0.5
        scores_BHC = scores_BHC.masked_fill(unseen_BC[:, None], float("-inf"))
        mixed_BHK = torch.matmul(torch.softmax(scores_BHC, -1).unsqueeze(2), self.values[:, :, :longest]).squeeze(2)
        return mixed_BHK.reshape(len(qkv), -1)

    def keep(self, chosen: Tensor) -> None:
        """Forget all rows but these, numbered anew in this order."""
        chosen = chosen.to(self.keys.device)
        self.keys, self.values = self.keys.index_select(0, chosen), self.values.index_select(0, chosen)
        self.shape = (len(chosen), *self.shape[1:])


def few_rows(rows: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """rows [B, n] times weight [m, n] transposed, plus bias [m], for few rows: [B, m].

    On a CPU in float32 the weight comes first in the product: 4 to 64 rows of GPT-1's width then take 0.6 to 0.9 of the
    time, and fewer or more are left to the usual order.
    """
    is_float = rows.device.type == "cpu" and rows.dtype == torch.float32 and not torch.is_autocast_enabled("cpu")
    if not (is_float and FEWEST <= len(rows) <= MOST):
        return F.linear(rows, weight, bias)
    product = torch.mm(weight, rows.t()) if bias is None else torch.addmm(bias[:, None], weight, rows.t())
    return product.t().contiguous()


class _FewRows(nn.Module):
    """A linear layer for few rows, with the weights of another."""

    def __init__(self, plain: nn.Linear) -> None:
        super().__init__()
        self.plain = plain

    def forward(self, rows: Tensor) -> Tensor:
        return few_rows(rows, self.plain.weight, self.plain.bias)


def _few_row_parts(part: SelfAttention | FeedForward, name: str) -> dict[str, nn.Module]:
    """Return the products of a sub-layer for few rows; one that is no plain linear layer computes as it does."""
    return {key: _FewRows(product) for key, product in part.named_children() if type(product) is nn.Linear}
