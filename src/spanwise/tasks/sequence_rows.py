"""Examples of one or more whole sequences each, made once and laid into packs as they stand.

An example is what a task decides about: a text, a pair, a question with its choices, a long text in windows. Its
sequences follow each other and never part: a pack holds whole examples.

Letters: W examples, S sequences (of all examples, or of a pack), N tokens in all.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from spanwise.data.batch import Batch
from spanwise.errors import DataError
from spanwise.nn.sequences import Sequences
from spanwise.tasks.language_loss import LANGUAGE, language_targets


@dataclass(frozen=True, kw_only=True)
class SequenceRows:
    """W examples. `sequence_borders` [S+1] cut the tokens, `example_borders` [W+1] the sequences; `num_dropped_W`
    counts the tokens of an example's text that no sequence shows."""

    input_ids: np.ndarray  # [N] int32
    token_types: np.ndarray  # [N] uint8
    sequence_borders: np.ndarray
    example_borders: np.ndarray
    num_dropped_W: np.ndarray
    silent_ids: np.ndarray | None = None  # given: every token of the pack but these is guessed from those before it

    def __len__(self) -> int:
        return len(self.example_borders) - 1

    @property
    def lengths_W(self) -> np.ndarray:
        """Tokens of all sequences of each example."""
        return np.diff(self.sequence_borders[self.example_borders])

    @property
    def dropped_tokens(self) -> np.ndarray:
        return self.num_dropped_W

    @property
    def num_sequences_W(self) -> np.ndarray:
        return np.diff(self.example_borders)

    @functools.cached_property
    def _most_sequences(self) -> int:
        """The sequences of the example that has most of them."""
        return int(self.num_sequences_W.max(initial=1))

    @property
    def longest(self) -> int:
        """Tokens of the longest sequence."""
        return int(np.diff(self.sequence_borders).max())

    @property
    def num_cut(self) -> int:
        """Return the number of examples that lose tokens."""
        return int((self.num_dropped_W > 0).sum())

    def cut_words(self, how: str = "") -> str:
        """Return how they are cut, for a person."""
        return f"cut to {self.longest} tokens{how} ({int(self.num_dropped_W.sum()):,} tokens dropped)"

    def lay(self, rows: np.ndarray, target: str, targets: Any, count: int | None = None) -> Batch:
        """A pack of the examples `rows`; `targets` count `count` (None: one an example)."""
        lengths: list[int] = []
        numbers: list[int] = []
        ids, types = [], []
        for row in rows:
            first, last = self.example_borders[row], self.example_borders[row + 1]
            borders = self.sequence_borders[first : last + 1]
            lengths += np.diff(borders).tolist()
            numbers += range(int(row) * self._most_sequences, int(row) * self._most_sequences + int(last - first))
            ids.append(self.input_ids[borders[0] : borders[-1]])
            types.append(self.token_types[borders[0] : borders[-1]])
        all_ids = np.concatenate(ids).astype(np.int64)
        wanted, counts = {target: targets}, {target: len(rows) if count is None else count}
        if self.silent_ids is not None:
            wanted[LANGUAGE] = language = language_targets(all_ids, lengths, self.silent_ids)
            counts[LANGUAGE] = language.count
        return Batch(
            input_ids=torch.from_numpy(all_ids),
            token_type_ids=torch.from_numpy(np.concatenate(types).astype(np.int64)),
            sequences=Sequences.from_lengths(lengths),
            targets=wanted,
            counts=counts,
            ids=tuple(int(row) for row in rows),
            sequence_ids=tuple(numbers),
        )

    def borders_of(self, rows: np.ndarray) -> np.ndarray:
        """Return where the sequences of each of `rows` begin in their pack: [len(rows) + 1]."""
        return np.concatenate([[0], np.cumsum(self.num_sequences_W[rows])]).astype(np.int64)


@dataclass
class RowWriter:
    """Collects the sequences of one example after another."""

    num_token_types: int
    ids: list[np.ndarray] = field(default_factory=list)
    types: list[np.ndarray] = field(default_factory=list)
    lengths: list[int] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)
    dropped: list[int] = field(default_factory=list)

    def add(self, sequences: Sequence[tuple[np.ndarray, np.ndarray]], num_dropped: int = 0) -> None:
        """One example: ids and token types of each of its sequences."""
        for ids, types in sequences:
            self.ids.append(ids.astype(np.int32))
            self.types.append(np.minimum(types, max(0, self.num_token_types - 1)).astype(np.uint8))
            self.lengths.append(len(ids))
        self.counts.append(len(sequences))
        self.dropped.append(num_dropped)

    def arrays(self) -> dict[str, Any]:
        """The fields of `SequenceRows`. Raises: DataError for no example, or a sequence without a token."""
        if not self.ids:
            raise DataError("there is no example to read.")
        if 0 in self.lengths:
            place = int(np.searchsorted(np.cumsum(self.counts), self.lengths.index(0), side="right"))
            raise DataError(f"example {place + 1}: the tokenizer keeps nothing of its text.")
        return {
            "input_ids": np.concatenate(self.ids),
            "token_types": np.concatenate(self.types),
            "sequence_borders": np.concatenate([[0], np.cumsum(self.lengths)]).astype(np.int64),
            "example_borders": np.concatenate([[0], np.cumsum(self.counts)]).astype(np.int64),
            "num_dropped_W": np.array(self.dropped, dtype=np.int64),
        }


def longest_first(first: int, second: int, room: int) -> tuple[int, int]:
    """How many tokens of two texts are kept: the longer one gives up its last until both fit; of two equally long ones
    the second does. Source: BERT's code."""
    if first + second <= room:
        return first, second
    half = room - room // 2
    if first <= half:
        return first, room - first
    if second <= room // 2:
        return room - second, second
    return half, room // 2


@dataclass(frozen=True)
class ExampleBorders:
    """The borders of each example among the sequences of a pack, int64 [W+1]; sequences behind the last are filler."""

    borders: Tensor
    num_sequences: int

    @classmethod
    def of(cls, borders: np.ndarray) -> ExampleBorders:
        return cls(torch.from_numpy(borders), int(borders[-1]))

    def mean(self, scores: Tensor) -> Tensor:
        """The mean of each example's rows: [S, K] to [W, K].

        A segmented sum, not index_add: the same order of additions in every run, on the GPU too.
        """
        scores = scores[: self.num_sequences]
        if self.num_sequences == len(self.borders) - 1:
            return scores
        return torch.segment_reduce(scores, "mean", offsets=self.borders, axis=0, unsafe=True)
