"""Texts of any length through an encoder: windows packed to a token budget, hidden states of the text's own tokens out.

Letters: n tokens of a window, D hidden size.
"""

import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from spanwise.data.batch import Batch
from spanwise.errors import CheckpointError
from spanwise.interop.checkpoint import Checkpoint, build_encoder
from spanwise.nn.int8.encoder import prepared_for
from spanwise.pipelines.given import InputError, checked_text
from spanwise.runtime.device import Precision, autocast, choose_device, resolve_precision
from spanwise.tasks.batches import PREDICTION, Packing, prediction_packs
from spanwise.tasks.frames import frames_of
from spanwise.tasks.sequence_rows import RowWriter, SequenceRows
from spanwise.tasks.windows import passage_windows
from spanwise.text.composition import JOINERS
from spanwise.text.tokenizers import Encoding, Tokenizer


@dataclass(frozen=True, kw_only=True)
class _Windows(SequenceRows):
    """Windows of which only the hidden states are wanted."""

    def assemble(self, rows: np.ndarray) -> Batch:
        return self.lay(rows, "window", None)


class WindowReader:
    """Reads windows of texts. `capacity`: tokens of a text that fit into one.

    Raises: CheckpointError for a model with fewer positions than its special tokens take; ConfigError for a precision
    that the device has not.
    """

    def __init__(
        self,
        checkpoint: Checkpoint,
        tokenizer: Tokenizer,
        device: str | None,
        precision: Precision,
        packing: Packing = PREDICTION,
    ) -> None:
        where = choose_device(device, precision)
        resolve_precision(precision, where)
        self.encoder = prepared_for(precision, build_encoder(checkpoint)).to(where).eval()
        self.tokenizer, self.precision, self.packing = tokenizer, precision, packing
        self.frame = frames_of(tokenizer)[0]
        self.capacity = self.encoder.config.max_positions - self.frame.num_specials
        if self.capacity < 1:
            raise CheckpointError(f"{checkpoint.folder} has {self.encoder.config.max_positions} positions, too few.")

    def encode(self, texts: Sequence[str]) -> list[Encoding]:
        """Return the tokens of texts, their characters without the white space that some tokenizers count in."""
        found = []
        for text, encoding in zip(texts, self.tokenizer.encode_batch(texts), strict=True):
            found.append(Encoding(encoding.ids, trimmed(text, encoding.offsets), encoding.word_ids))
        return found

    def checked(self, name: str, value: object) -> str:
        """Return a text of which the tokenizer keeps something. Raises: InputError."""
        text = checked_text(name, value)
        if not len(self.tokenizer.encode(text).ids):
            raise InputError(f"the tokenizer keeps nothing of {name}; give a text with at least one word.")
        return text

    def windows(self, num_tokens: int, *, on_overflow: str | None = None) -> np.ndarray:
        """Return token ranges [W, 2] that cover a text, each next one half a window on.

        Raises: InputError for more than one under "error".
        """
        if num_tokens > self.capacity and on_overflow == "error":
            raise InputError(
                f"the text has {num_tokens:,} tokens, and at most {self.capacity:,} fit; shorten it, or let it be read "
                "in windows (on_overflow)."
            )
        return passage_windows(num_tokens, self.capacity, max(1, self.capacity // 2))

    @torch.inference_mode()
    def read(self, windows: Sequence[np.ndarray]) -> Iterator[Tensor]:
        """Yield the hidden states [n, D] float32 of each window's ids [n], in order, on the model's device."""
        if not windows:
            return
        device = self.encoder.word_embedding.device
        resolved = resolve_precision(self.precision, device)
        writer = RowWriter(self.encoder.config.num_token_types)
        for ids in windows:
            writer.add([self.frame.wrap(ids)])
        first, last = len(self.frame.before), len(self.frame.after)
        for batch in prediction_packs(_Windows(**writer.arrays()), self.packing):
            moved = batch.to(device)
            with autocast(resolved, device):
                hidden_TD = self.encoder(moved.input_ids, moved.token_type_ids, moved.sequences).float()
            parts = hidden_TD.split(batch.sequences.lengths)[: len(batch.ids)]
            yield from (part[first : len(part) - last] for part in parts)


def trimmed(text: str, offsets_n2: np.ndarray) -> np.ndarray:
    """Return half-open characters of tokens without white space at their ends; of white space alone an empty range."""
    found = offsets_n2.copy()
    for row, (start, end) in enumerate(offsets_n2.tolist()):
        while start < end and text[start].isspace():
            start += 1
        while start < end and text[end - 1].isspace():
            end -= 1
        found[row] = start, end
    return found


def whole_characters(text: str, end: int, limit: int) -> int:
    """Return the end of a piece of text, moved behind the marks of its last character, at most to `limit`."""
    while end < limit and (unicodedata.category(text[end])[0] == "M" or text[end] in JOINERS):
        end += 1
    return end
