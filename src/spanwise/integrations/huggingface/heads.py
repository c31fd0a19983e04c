"""Prediction heads over the word table of someone else's model.

The table is looked up at every use, so that the tie outlives `resize_token_embeddings`, moves and copies.
Spans and their boundaries are found by tensor operations alone: nothing loops over spans or tokens, and nothing asks
the device for a number, except `places_of` without a size.
Letters: B examples, L padded length, D hidden size, E width of the word table, N targets, V vocabulary.
Source: SpanBERT, section 3.2.
"""

import contextlib
from dataclasses import dataclass
from typing import Any, Literal, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from spanwise.errors import ConfigError, DataError
from spanwise.nn.config import EncoderConfig
from spanwise.nn.heads.lm import MaskedLMHead
from spanwise.nn.heads.span_boundary import NORM_EPS
from spanwise.nn.heads.span_boundary import SpanBoundaryHead as PairHead
from spanwise.nn.init import initialize
from spanwise.nn.layer import gelu
from spanwise.nn.vocabulary_loss import vocabulary_logits, vocabulary_loss


@dataclass(frozen=True, kw_only=True)
class Boundaries:
    """For every token of a batch, [B, L] each; meant for hidden ones."""

    left: Tensor  # int64: place of the visible token before its span
    right: Tensor  # int64: place of the visible token after it
    index: Tensor  # int64: tokens of the span before this one, 0 at the first
    is_whole: Tensor  # bool: hidden, and both boundaries are usable tokens of the same example


def find_boundaries(hidden: Tensor, usable: Tensor) -> Boundaries:
    """Find the boundaries of spans, the unbroken runs of hidden tokens of an example; `usable` tokens may be one.

    hidden, usable: bool [B, L].

    A span at the edge of its example, or beside padding, is not whole: its boundary is never another token.
    """
    length = hidden.shape[1]
    place_BL = torch.arange(length, device=hidden.device).expand_as(hidden)
    if not length:
        return Boundaries(left=place_BL, right=place_BL, index=place_BL, is_whole=hidden)
    left_BL = place_BL.masked_fill(hidden, -1).cummax(1).values
    right_BL = place_BL.masked_fill(hidden, length).flip(1).cummin(1).values.flip(1)
    left_ok = (left_BL >= 0) & usable.gather(1, left_BL.clamp(min=0))
    right_ok = (right_BL < length) & usable.gather(1, right_BL.clamp(max=length - 1))
    return Boundaries(left=left_BL, right=right_BL, index=place_BL - left_BL - 1, is_whole=hidden & left_ok & right_ok)


def places_of(chosen: Tensor, size: int) -> Tensor:
    """Return the first `size` places where `chosen` (bool, read flat) is true, int64 [size]; then zeros.

    A scatter in place of `nonzero`: the size is known, so no device is waited for.
    """
    flat = chosen.reshape(-1)
    slot = torch.where(flat, flat.cumsum(0) - 1, size).clamp(max=size)
    places = torch.arange(len(flat), device=flat.device)
    return torch.zeros(size + 1, dtype=torch.int64, device=flat.device).scatter_(0, slot, places)[:size]


Combine = Literal["concat", "sum"]
IGNORED = -100
_TANH = ("gelu_new", "gelu_tanh", "gelu_fast", "gelu_pytorch_tanh")  # what transformers calls GELU's tanh form


def word_table(owner: object) -> nn.Parameter:
    """Return the word table [V, E] of a model with `get_input_embeddings()`, of an embedding module, or itself.

    Raises: ConfigError where there is none.
    """
    if isinstance(owner, nn.Parameter):
        return owner
    found = owner.get_input_embeddings() if hasattr(owner, "get_input_embeddings") else owner
    table = getattr(found, "weight", None)
    if not isinstance(table, Tensor) or table.ndim != 2:
        raise ConfigError(
            f"{type(owner).__name__} shows no word table; pass a model with get_input_embeddings(), its embedding "
            "module, or the table [V, E]."
        )
    return cast(nn.Parameter, table)  # a plain tensor in a replica of torch's DataParallel


def head_config(owner: object, hidden_size: int | None = None) -> EncoderConfig:
    """Describe a model as far as its heads ask, from its `config` where it has one, else from its word table."""
    settings, table = getattr(owner, "config", None), word_table(owner)
    width = hidden_size or getattr(settings, "hidden_size", None) or table.shape[1]
    return EncoderConfig(
        vocab_size=table.shape[0],
        hidden_size=width,
        embedding_size=table.shape[1],
        num_layers=1,
        num_heads=1,
        intermediate_size=1,
        activation="gelu_tanh" if getattr(settings, "hidden_act", None) in _TANH else "gelu",
        norm_eps=getattr(settings, "layer_norm_eps", None) or NORM_EPS,
        initializer_range=getattr(settings, "initializer_range", None) or 0.02,
    )


def _own_type(weight: Tensor) -> contextlib.AbstractContextManager:
    """Heads of half precision (after `model.to(torch.bfloat16)`) multiply in it; LayerNorm and losses stay float32."""
    if weight.dtype not in (torch.bfloat16, torch.float16):
        return contextlib.nullcontext()
    return torch.autocast(weight.device.type, dtype=weight.dtype)


class TiedToModel(nn.Module):
    """The part that both heads share: the table of a living model, and a bias that must fit it."""

    _tied: tuple[Any]  # the owner of the table, hidden from nn.Module's registration
    bias: Tensor

    @property
    def weight(self) -> nn.Parameter:
        """Return the word table [V, E], shared with the model; it is no parameter of the head."""
        return word_table(self._tied[0])

    def tie(self, owner: object) -> None:
        """Share the word table of `owner` from now on."""
        self._tied = (owner,)

    def resize(self, num_rows: int) -> None:
        """Let the bias fit a table of `num_rows` rows; new entries are 0."""
        bias = self.bias.detach()
        grown = torch.cat([bias[:num_rows], bias.new_zeros(max(0, num_rows - len(bias)))])
        self.bias = nn.Parameter(grown)

    def checked_table(self) -> nn.Parameter:
        """Return the table. Raises: ConfigError where it was resized without the head."""
        table = self.weight
        if len(table) != len(self.bias):
            raise ConfigError(
                f"the word table has {len(table)} rows and the head's bias {len(self.bias)}; resize the model by "
                f"resize_token_embeddings({len(table)}) of SpanBoundaryPretraining, a single head by its resize()."
            )
        return table

    def loss_sum(self, rows: Tensor, ids: Tensor) -> Tensor:
        """Return the summed cross-entropy of rows [N, E] against ids [N], a float32 scalar. -100 is no target."""
        table = self.checked_table()
        return vocabulary_loss(rows, table, self.bias, ids, len(table)).sum

    def padded_loss_sum(self, rows: Tensor, ids: Tensor) -> Tensor:
        """Return the same sum where rows that are no targets have the id -100, in shapes that a compiler knows."""
        return F.cross_entropy(
            F.linear(rows, self.checked_table(), self.bias).float(), ids, ignore_index=IGNORED, reduction="sum"
        )

    def logits(self, rows: Tensor) -> Tensor:
        """Return the scores [N, V] float32 of rows [N, E]."""
        table = self.checked_table()
        return vocabulary_logits(rows, table, self.bias, len(table))


class TiedMaskedLMHead(TiedToModel, MaskedLMHead):
    """The masked-LM head of BERT over the table of `owner`."""

    def __init__(self, owner: object, *, hidden_size: int | None = None, seed: int = 0) -> None:
        config = head_config(owner, hidden_size)
        MaskedLMHead.__init__(self, config, word_table(owner))
        self.tie(owner)
        initialize(self, config, seed, prefix="heads.mlm")

    def transform(self, rows: Tensor) -> Tensor:
        """rows: [N, D]. Returns [N, E] float32."""
        with _own_type(self.dense.weight):
            return super().transform(rows.to(self.dense.weight.dtype))

    def rows_at(self, hidden: Tensor, places: Tensor) -> Tensor:
        """Return rows [N, E] of the flat places [N] of hidden [B, L, D]."""
        return self.transform(hidden.flatten(0, 1).index_select(0, places))


class SpanBoundaryHead(TiedToModel, PairHead):
    """Guess hidden tokens from the two visible tokens around their span and their place in it, in a padded batch.

    ```python
    head = SpanBoundaryHead(model)                                   # a model of transformers; its table is shared
    loss = head(hidden, mask_labels, labels=input_ids_before_masking, attention_mask=attention_mask)
    logits = head(hidden, mask_labels)                               # [N, V]: one row a hidden token, in their order
    ```

    hidden: [B, L, D]; mask_labels: [B, L], 1 at hidden tokens and 0 elsewhere; spans are the runs of ones of each
    example. `attention_mask` [B, L] says which tokens may be a boundary: without it all, padding included; with 0
    at [CLS] and [SEP] spans at the edge have none. A span without two boundaries has no rows (and no loss).

    `combine`: "concat" as in the paper (left, right, position: 2D + P inputs) or "sum" of the three (P is D then).
    Tokens from the `num_positions`-th on share the table's last row, or have none with `beyond="skip"`.
    """

    def __init__(
        self,
        owner: object,
        *,
        hidden_size: int | None = None,
        num_positions: int = 30,
        position_size: int | None = None,
        combine: Combine = "concat",
        beyond: Literal["last", "skip"] = "last",
        seed: int = 0,
    ) -> None:
        config = head_config(owner, hidden_size)
        size = config.hidden_size
        if combine not in ("concat", "sum") or beyond not in ("last", "skip"):
            raise ConfigError(f"combine is 'concat' or 'sum' and beyond 'last' or 'skip'; got {combine!r}, {beyond!r}.")
        if combine == "sum" and position_size not in (None, size):
            raise ConfigError(
                f"combine='sum' adds positions to hidden states of {size}, so position_size={position_size} can't be; "
                "leave it out."
            )
        position_size = size if combine == "sum" else 200 if position_size is None else position_size
        if min(num_positions, position_size) < 1:
            raise ConfigError(
                f"num_positions and position_size must be at least 1, got {num_positions} and {position_size}."
            )
        PairHead.__init__(self, config, word_table(owner), num_positions, position_size)
        if combine == "sum":
            self.linear1 = nn.Linear(size, size)
        self.combine, self.beyond = combine, beyond
        self.tie(owner)
        initialize(self, config, seed, prefix="heads.sbo")

    def transform(self, left: Tensor, right: Tensor, position_index: Tensor) -> Tensor:
        """left, right: [N, D]; position_index: [N], cut at the last row of the position table. Returns [N, E]."""
        position_index = position_index.clamp(0, self.num_positions - 1)
        with _own_type(self.linear1.weight):
            if self.combine == "concat":
                return super().transform(left, right, position_index)
            inner_ND = self.norm1(gelu(self.linear1(left + right + self.positions(position_index)), "gelu"))
            return self.norm2(gelu(self.linear2(inner_ND), "gelu"))

    def forward(
        self, hidden: Tensor, mask_labels: Tensor, labels: Tensor | None = None, attention_mask: Tensor | None = None
    ) -> Tensor:
        """Return the mean loss of the N rows against `labels` [B, L] (original ids), or their logits [N, V].

        Raises: DataError for shapes that do not fit.
        """
        if hidden.ndim != 3 or mask_labels.shape != hidden.shape[:2]:
            raise DataError(
                f"hidden must be [B, L, D] and mask_labels [B, L]; got {list(hidden.shape)} and "
                f"{list(mask_labels.shape)}."
            )
        usable_BL = torch.ones_like(mask_labels, dtype=torch.bool) if attention_mask is None else attention_mask != 0
        found = find_boundaries(mask_labels != 0, usable_BL)
        chosen_BL = self.has_row(found)
        places_N = places_of(chosen_BL, int(chosen_BL.sum()))
        rows_NE = self.rows_at(hidden, places_N, found)
        if labels is None:
            return self.logits(rows_NE)
        return self.loss_sum(rows_NE, labels.reshape(-1).index_select(0, places_N)) / max(1, len(places_N))

    def has_row(self, found: Boundaries) -> Tensor:
        """Tell which tokens get a row, bool [B, L]."""
        return found.is_whole if self.beyond == "last" else found.is_whole & (found.index < self.num_positions)

    def rows_at(self, hidden: Tensor, places: Tensor, found: Boundaries) -> Tensor:
        """Return rows [N, E] of the flat places [N] of hidden [B, L, D]."""
        length = hidden.shape[1]
        first_N = places.div(max(1, length), rounding_mode="floor") * length  # where their example begins
        flat = hidden.flatten(0, 1)
        left_ND, right_ND = (
            flat.index_select(0, first_N + side.reshape(-1).index_select(0, places).clamp(0, max(0, length - 1)))
            for side in (found.left, found.right)
        )
        return self.transform(left_ND, right_ND, found.index.reshape(-1).index_select(0, places))
