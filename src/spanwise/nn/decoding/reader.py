"""A causal encoder that reads one token more at a time: keys and values of what it has read stay.

`CausalReader` holds B sequences of different lengths, each in a row of its own. `fill` reads whole texts into rows, all
of them packed together; `step` reads one more token in every row. Both give the hidden state of each row's last token,
equal to what the encoder says of the whole text, but for rounding.

Letters: T tokens of a pack, B rows, C slots of a row, H heads, K size of a head, D = H x K.
Source: Vaswani et al. 2017, section 3.2.3 (masked self-attention): what is read later changes nothing before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from spanwise.errors import ConfigError
from spanwise.nn.attention import attend
from spanwise.nn.encoder import Encoder
from spanwise.nn.layer import EncoderLayer, gelu
from spanwise.nn.sequences import Sequences

FILL_TOKENS = 4096  # of one forward over whole texts
FEWEST, MOST = 4, 64  # rows of a step for which the weights come first in a product


def slot_bytes(encoder: Encoder, bytes_a_number: int = 4) -> int:
    """Memory of one slot: a key and a value in every layer."""
    return 2 * encoder.config.num_layers * encoder.config.hidden_size * bytes_a_number


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
        self._caches: list[tuple[Tensor, Tensor]] = []  # keys and values [B, H, C, K] of each layer

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
        longest = int(self.lengths_B.max()) + 1
        unread_BC = torch.arange(longest, device=device) > places_B[:, None]
        rows_B = torch.arange(len(ids), device=device)
        for layer, (keys, values) in zip(self._layers, self._caches, strict=True):
            attention = layer.attention
            q_BHK, k_BHK, v_BHK = self._parted(_linear(attention.qkv, hidden_BD)).unbind(1)
            keys[rows_B, :, places_B] = k_BHK
            values[rows_B, :, places_B] = v_BHK
            mixed_BD = _look_back(q_BHK, keys[:, :, :longest], values[:, :, :longest], unread_BC)
            hidden_BD = attention.residual(_linear(attention.output, mixed_BD), hidden_BD)
            network = layer.feed_forward
            inner_BI = gelu(_linear(network.up, hidden_BD), network.activation)
            hidden_BD = network.residual(_linear(network.down, inner_BI), hidden_BD)
        self.lengths_B = self.lengths_B + 1
        return hidden_BD.float()

    def keep(self, rows: np.ndarray) -> None:
        """Forget all rows but these; they are numbered anew, in this order."""
        chosen = torch.from_numpy(np.asarray(rows, dtype=np.int64))
        self.lengths_B = self.lengths_B[rows]
        self._caches = [
            (keys.index_select(0, chosen.to(keys.device)), values.index_select(0, chosen.to(values.device)))
            for keys, values in self._caches
        ]

    def _fill(self, rows: Sequence[int], texts: Sequence[np.ndarray]) -> Tensor:
        device = self.encoder.word_embedding.device
        sequences = Sequences.from_lengths([len(text) for text in texts]).to(device)
        ids_T = torch.from_numpy(np.concatenate(texts).astype(np.int64)).to(device)
        row_T = torch.from_numpy(np.repeat(np.asarray(rows), sequences.lengths)).to(device)
        hidden_TD = self.encoder.embeddings(ids_T, torch.zeros_like(ids_T), sequences)
        for number, layer in enumerate(self._layers):
            attention = layer.attention
            qkv = attention.qkv(hidden_TD)
            _, k_THK, v_THK = self._parted(qkv).unbind(1)
            keys, values = self._cache(number, k_THK)
            keys[row_T, :, sequences.positions] = k_THK
            values[row_T, :, sequences.positions] = v_THK
            mixed_TD = attend(qkv, sequences, self.encoder.config.num_heads, causal=True)
            hidden_TD = layer.feed_forward(attention.residual(attention.output(mixed_TD), hidden_TD))
        self.lengths_B = self.lengths_B.copy()
        self.lengths_B[list(rows)] = sequences.lengths
        return hidden_TD.index_select(0, sequences.cu_seqlens[1:] - 1).float()

    def _parted(self, qkv: Tensor) -> Tensor:
        """[n, 3D] -> [n, 3, H, K]."""
        heads = self.encoder.config.num_heads
        return qkv.view(len(qkv), 3, heads, self.encoder.config.hidden_size // heads)

    def _cache(self, number: int, like: Tensor) -> tuple[Tensor, Tensor]:
        """Keys and values of layer `number`, made when it is first read, in the type that it computes in."""
        if number == len(self._caches):
            shape = (len(self.lengths_B), like.shape[1], self.num_slots, like.shape[2])
            self._caches.append((like.new_zeros(shape), like.new_zeros(shape)))
        return self._caches[number]


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


def _linear(module: nn.Module, rows: Tensor) -> Tensor:
    """A product of a layer, for few rows; one that is no plain linear layer computes as it does."""
    return few_rows(rows, module.weight, module.bias) if type(module) is nn.Linear else module(rows)


def _look_back(q_BHK: Tensor, k_BHCK: Tensor, v_BHCK: Tensor, unread_BC: Tensor) -> Tensor:
    """What each row's new token takes from all it has read, itself included: [B, D]."""
    B, H, K = q_BHK.shape
    scores_BHC = torch.matmul(k_BHCK, q_BHK.unsqueeze(-1)).squeeze(-1) * K**-0.5
    scores_BHC = scores_BHC.masked_fill(unread_BC[:, None], float("-inf"))
    mixed_BHK = torch.matmul(torch.softmax(scores_BHC, -1).unsqueeze(2), v_BHCK).squeeze(2)
    return mixed_BHK.reshape(B, H * K)
