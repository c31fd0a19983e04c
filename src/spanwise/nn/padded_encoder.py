"""Any encoder that reads padded rows behind the call of `Encoder`: packed in, padded within, packed out.

Letters: T tokens in the pack, S sequences, B sequences that are padded together, L the longest of them, D hidden size.
"""

from collections.abc import Iterator, Sequence
from typing import Protocol, cast

import numpy as np
import torch
from torch import Tensor, nn

from spanwise.errors import ConfigError
from spanwise.nn.config import EncoderConfig
from spanwise.nn.encoder import Encoder
from spanwise.nn.sequences import Sequences

MOST_CELLS = 1 << 14  # of one padded batch, filler included


class _Output(Protocol):
    last_hidden_state: Tensor


class PaddedBody(Protocol):
    """A module that is called as the encoders of `transformers` are, and says which table holds its words."""

    def __call__(self, *, input_ids: Tensor, attention_mask: Tensor, **more: Tensor) -> _Output: ...

    def get_input_embeddings(self) -> nn.Module: ...


class _Tables(nn.Module):
    """The word table, under the name that every encoder here gives it, and what else embeds tokens."""

    def __init__(self, word: nn.Module, rest: nn.Module | None) -> None:
        super().__init__()
        self.word = word
        if rest is not None and rest is not word:
            self.rest = rest


class PaddedEncoder(Encoder):
    """Wraps `body`, a module that takes ids and a mask [B, L] and gives hidden states [B, L, D].

    Its parameters have the names of a native encoder as far as they can: `embeddings.word.weight`, `embeddings.rest.*`
    and `layers.N.*`, so that freezing, layer-wise learning rates and new vocabulary rows work; all others are `body.*`.
    There is no pooler, and no product in int8. Where `is_padded` is false, filler would change what `body` computes,
    and only sequences of one length go together.
    """

    def __init__(
        self, config: EncoderConfig, body: nn.Module, *, pad_id: int, has_token_types: bool, is_padded: bool = True
    ) -> None:
        nn.Module.__init__(self)
        self.config = config
        self.embeddings = _Tables(  # type: ignore[assignment]
            cast(PaddedBody, body).get_input_embeddings(), cast("nn.Module | None", getattr(body, "embeddings", None))
        )
        self.layers = _layers_of(body, config.num_layers)
        self.body = body
        self.pooler = None
        self.pad_id, self.has_token_types, self.is_padded = pad_id, has_token_types, is_padded

    def forward(
        self, input_ids: Tensor, token_type_ids: Tensor, sequences: Sequences, rows: Tensor | None = None
    ) -> Tensor:
        """Encode one pack as `Encoder.forward` does; all tokens are computed, whichever `rows` are wanted."""
        self.check_lengths(sequences)
        if sequences.num_positions:
            raise ConfigError(
                f"positions with gaps came, and {type(self.body).__name__}, which runs through transformers, counts "
                "them itself; keep every token in its sequence (task.separators=seen)."
            )
        device = input_ids.device
        parts, places = [], []
        for place_BL, keep_BL in _padded_batches(sequences.lengths, is_padded=self.is_padded):
            place, keep = torch.from_numpy(place_BL).to(device), torch.from_numpy(keep_BL).to(device)
            more = {"token_type_ids": token_type_ids[place]} if self.has_token_types else {}
            ids_BL = input_ids[place].masked_fill(~keep, self.pad_id)
            output = cast(PaddedBody, self.body)(input_ids=ids_BL, attention_mask=keep.long(), **more)
            parts.append(output.last_hidden_state[keep])
            places.append(place[keep])
        packed_TD = torch.cat(parts).float()
        hidden_TD = torch.zeros_like(packed_TD).index_copy(0, torch.cat(places), packed_TD)
        if rows is None:
            return hidden_TD
        return torch.zeros_like(hidden_TD).index_copy(0, rows, hidden_TD[rows])


def _layers_of(body: nn.Module, num_layers: int) -> nn.ModuleList:
    """Return the list of the encoder's layers, or an empty one where it has no list of this length."""
    lists = (part for part in body.modules() if isinstance(part, nn.ModuleList) and len(part) == num_layers)
    return next(lists, nn.ModuleList())


def _padded_batches(lengths: Sequence[int], *, is_padded: bool) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield, per padded batch, where in the pack each cell [B, L] is read from, and which cells hold a token.

    Sequences of like length go together: less than half of a batch is filler, none where not `is_padded`, and it has at
    most MOST_CELLS cells.
    """
    lengths_S = np.asarray(lengths, dtype=np.int64)
    begins_S = np.cumsum(lengths_S) - lengths_S
    order = np.argsort(-lengths_S, kind="stable")
    first = 0
    while first < len(order):
        longest = int(lengths_S[order[first]])
        shortest = longest // 2 + 1 if is_padded else longest
        alike = int((lengths_S[order[first:]] >= shortest).sum())
        chosen = order[first : first + min(alike, max(1, MOST_CELLS // longest))]
        first += len(chosen)
        column_L = np.arange(longest)
        keep_BL = column_L < lengths_S[chosen, None]
        yield np.where(keep_BL, begins_S[chosen, None] + column_L, 0), keep_BL
