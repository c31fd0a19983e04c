"""A causal encoder that writes on: one token after another, for many texts at a time.

Texts are written side by side in batches whose keys and values fit into a fixed memory. Where a text would outgrow the
positions of the model, its oldest tokens leave the window and the rest is read anew; how many left is counted.

Letters: B texts written side by side, V vocabulary, Vp = V rounded up to a multiple of 64, D hidden size.
Source: Radford et al. 2018 (GPT-1), section 3.1; top-k sampling: Fan et al. 2018, section 5.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from spanwise.nn.decoding.reader import CausalReader, few_rows, slot_bytes
from spanwise.nn.encoder import Encoder
from spanwise.nn.sampling import GROUP, draw
from spanwise.runtime.device import Precision, autocast, resolve_precision
from spanwise.runtime.seed import uniforms

CACHE_BYTES = 1 << 28  # keys and values of the texts that are written side by side
MAX_ROWS = 64
StopReason = Literal["max_new_tokens", "stop_token", "stop_string", "end_of_text"]


@dataclass(frozen=True, kw_only=True)
class Choosing:
    """How the next token is chosen: the most likely one, or one drawn from the `top_k` best (None: from all) after
    scores are divided by `temperature`. Ids in `banned` are never chosen."""

    banned: np.ndarray
    sample: bool = False
    top_k: int | None = None
    temperature: float = 1.0


@dataclass(kw_only=True)
class Writing:
    """One text being written. `key` numbers its random draws (runtime/seed.py): the n-th token takes the n-th."""

    prompt: np.ndarray  # [n] int64, at least one
    key: int = 0
    new: list[int] = field(default_factory=list)
    reason: StopReason = "max_new_tokens"
    num_dropped: int = 0  # tokens that had left the window when the last token was chosen
    num_windows: int = 1

    def tail(self, count: int) -> np.ndarray:
        """The last `count` tokens of prompt and continuation."""
        return np.concatenate([self.prompt, np.array(self.new, dtype=np.int64)])[-count:]


class CausalModel:
    """Writes on from prompts. `num_ids`: how many ids are tokens; the rest of the table is none."""

    def __init__(self, encoder: Encoder, num_ids: int) -> None:
        self.encoder = encoder.eval()
        self.num_ids = num_ids

    @property
    def max_positions(self) -> int:
        return self.encoder.config.max_positions

    @torch.inference_mode()
    def write(
        self,
        texts: Sequence[Writing],
        choosing: Choosing,
        *,
        max_new_tokens: int,
        ended: Callable[[Writing], StopReason | None],
        precision: Precision = "fp32",
    ) -> None:
        """Write every text on, in place, until `ended` names a reason after one of its tokens or `max_new_tokens` are
        written. What is written doesn't depend on the other texts, but for rounding."""
        device = self.encoder.word_embedding.device
        resolved = resolve_precision(precision, device)
        with autocast(resolved, device):
            for batch in self._batches(texts, max_new_tokens):
                self._write_batch(batch, choosing, max_new_tokens, ended)

    def _batches(self, texts: Sequence[Writing], max_new_tokens: int) -> Iterator[list[Writing]]:
        """Texts of like length together, as many as fit into the memory."""
        num_slots = CACHE_BYTES // slot_bytes(self.encoder)
        batch: list[Writing] = []
        for text in sorted(texts, key=lambda text: len(text.prompt)):
            slots = min(self.max_positions, len(text.prompt) + max_new_tokens)
            if batch and ((len(batch) + 1) * slots > num_slots or len(batch) == MAX_ROWS):
                yield batch
                batch = []
            batch.append(text)
        if batch:
            yield batch

    def _write_batch(
        self,
        batch: list[Writing],
        choosing: Choosing,
        max_new_tokens: int,
        ended: Callable[[Writing], StopReason | None],
    ) -> None:
        longest = max(len(text.prompt) for text in batch)
        reader = CausalReader(self.encoder, len(batch), longest + max_new_tokens)
        hidden_BD = reader.fill(range(len(batch)), [self._window(text, max_new_tokens) for text in batch])
        active = np.ones(len(batch), dtype=bool)
        for number in range(max_new_tokens):
            ids_B = self._choose(hidden_BD, choosing, [text.key for text in batch], number)
            for row in np.flatnonzero(active):
                text = batch[row]
                text.new.append(int(ids_B[row]))
                if reason := ended(text):
                    text.reason, active[row] = reason, False
            left = max_new_tokens - number - 1
            if not active.any() or not left:
                return
            if active.sum() <= len(batch) // 2:
                kept = np.flatnonzero(active)
                reader.keep(kept)
                batch, ids_B, active = [batch[row] for row in kept], ids_B[kept], active[kept]
            hidden_BD = self._read(reader, batch, ids_B, active, left)

    def _read(
        self, reader: CausalReader, batch: list[Writing], ids_B: np.ndarray, active: np.ndarray, left: int
    ) -> Tensor:
        """Read the tokens just chosen; rows that are full lose their oldest tokens and are read anew."""
        full = np.flatnonzero(reader.lengths_B >= reader.num_slots)
        for row in full:  # a place for the step, which this row's result is not taken from
            reader.lengths_B[row] -= 1
        hidden_BD = reader.step(ids_B)
        full = full[active[full]]
        if len(full):
            texts = [self._window(batch[row], left) for row in full]
            hidden_BD[torch.from_numpy(full).to(hidden_BD.device)] = reader.fill(full.tolist(), texts)
        return hidden_BD

    def _window(self, text: Writing, left: int) -> np.ndarray:
        """Return the tokens of a text that are read: all, or those that leave room for `left` more, at most half."""
        length = len(text.prompt) + len(text.new)
        if length <= self.max_positions:
            return text.tail(length)
        kept = self.max_positions + 1 - max(1, min(left, self.max_positions // 2))
        text.num_dropped = length - kept
        text.num_windows += bool(text.new)
        return text.tail(kept)

    def _choose(self, hidden_BD: Tensor, choosing: Choosing, keys: Sequence[int], number: int) -> np.ndarray:
        """The next token of each row, [B] int64."""
        scores_BV = few_rows(hidden_BD, self.encoder.word_embedding[: self.num_ids]).float()
        scores_BV[:, torch.from_numpy(choosing.banned).to(scores_BV.device)] = float("-inf")
        if not choosing.sample:
            return scores_BV.argmax(-1).cpu().numpy()
        chances_BV = chances(scores_BV, choosing.top_k, choosing.temperature)
        uniform_B = torch.from_numpy(np.concatenate([uniforms(key, 1, number) for key in keys]))
        return draw(chances_BV, uniform_B.to(chances_BV.device)).cpu().numpy()


def chances(scores_BV: Tensor, top_k: int | None, temperature: float) -> Tensor:
    """Weights [B, Vp] float64 that ids are drawn from: softmax of the scores, all but the `top_k` best without any."""
    if top_k is not None and top_k < scores_BV.shape[1]:
        best_BK, places_BK = scores_BV.topk(top_k)
        scores_BV = torch.full_like(scores_BV, float("-inf")).scatter_(1, places_BK, best_BK)
    weights_BV = torch.softmax(scores_BV.double() / temperature, -1)
    return F.pad(weights_BV, (0, -weights_BV.shape[1] % GROUP))
