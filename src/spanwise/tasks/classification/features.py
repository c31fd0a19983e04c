"""Texts and pairs as model inputs: [CLS] a [SEP] (b [SEP]), cut to the longest length or read in windows.

A pair whose texts have no order may be read in both orders: its sequences then come by twos, (a, b) and (b, a), and
their vectors are added before the head.

Letters: W examples, S sequences of a pack, K labels.
Source: Devlin et al. 2019 (BERT), section 4.1; Radford et al. 2018, section 3.3 (both orders of similarity).
"""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from spanwise.data.batch import Batch
from spanwise.errors import ConfigError, DataError
from spanwise.nn.losses.loss_sum import LossSum
from spanwise.nn.sequences import Sequences
from spanwise.tasks.classification.layouts import Kind
from spanwise.tasks.frames import Frame
from spanwise.tasks.input_layout import Layout, layout_frame
from spanwise.tasks.sequence_rows import ExampleBorders, RowWriter, SequenceRows, longest_first
from spanwise.tasks.windows import passage_windows
from spanwise.text.tokenizers import Tokenizer

TARGET = "label"  # the name of the one target of this task
Overflow = Literal["truncate", "windows", "error"]
Texts = tuple[np.ndarray, np.ndarray | None]  # ids of one text and of a second


@dataclass(frozen=True)
class ClassTargets:
    """Which sequences are one example, and the gold: ids [W] int64, numbers [W], or 0 and 1 [W, K]; None unlabelled.

    An id of -1 is a label that the model does not have. Where `num_orders` is 2, sequences come by twos, and `examples`
    counts the twos.
    """

    examples: ExampleBorders
    gold: Tensor | None
    num_orders: int = 1


def window_scores(head: Any, hidden_TD: Tensor, sequences: Sequences, targets: ClassTargets) -> Tensor:
    """Scores [S, K] of each window; of pairs in both orders, of the sum of the two rows that the head reads."""
    if targets.num_orders == 1:
        return head(hidden_TD, sequences)
    rows_SD = head.read(hidden_TD, sequences)[: 2 * targets.examples.num_sequences]
    return head.score(rows_SD[0::2] + rows_SD[1::2])


def example_scores(head: Any, hidden_TD: Tensor, batch: Batch) -> Tensor:
    """Scores [W, K] of each example, fp32: the mean over its windows."""
    targets = batch.target(TARGET, ClassTargets)
    return targets.examples.mean(window_scores(head, hidden_TD, batch.sequences, targets).float())


def class_loss(scores_WK: Tensor, gold: Tensor | None, kind: Kind) -> LossSum:
    """Cross-entropy, squared error, or the mean over labels of binary cross-entropy."""
    assert gold is not None  # training reads labelled files alone
    if kind == "regression":
        return LossSum(sum=(scores_WK[:, 0] - gold).square().sum())
    if kind == "multi_label":
        losses_WK = F.binary_cross_entropy_with_logits(scores_WK, gold, reduction="none")
        return LossSum(sum=losses_WK.mean(dim=1).sum())
    with torch.no_grad():
        num_correct = (scores_WK.argmax(dim=1) == gold).sum()
    loss = F.cross_entropy(scores_WK, gold, reduction="sum")
    return LossSum(sum=loss, num_correct=num_correct, is_log_likelihood=True)


@dataclass(frozen=True, kw_only=True)
class LabelledRows(SequenceRows):
    """Examples with their gold labels: ids [W] int64, numbers [W] float32, 0 and 1 [W, K] float32, or None."""

    gold: np.ndarray | None = None
    num_orders: int = 1  # sequences that one window has: 2 where pairs are read in both orders

    @property
    def num_windows_W(self) -> np.ndarray:
        return self.num_sequences_W // self.num_orders

    def assemble(self, rows: np.ndarray) -> Batch:
        gold = None if self.gold is None else torch.from_numpy(self.gold[rows])
        examples = ExampleBorders.of(self.borders_of(rows) // self.num_orders)
        return self.lay(rows, TARGET, ClassTargets(examples, gold, self.num_orders))


@dataclass(frozen=True, kw_only=True)
class Fit:
    """How long a sequence may be, and what is done with more: `stride` tokens from window to window."""

    max_length: int
    on_overflow: Overflow = "truncate"
    stride: int = 64


def encode_texts(
    texts: tuple[str, ...],
    pairs: tuple[str, ...] | None,
    tokenizer: Tokenizer,
    *,
    fit: Fit,
    num_token_types: int,
    places: tuple[str, ...],
    gold: np.ndarray | None = None,
    layout: Layout = "template",
    both_orders: bool = False,
    guesses_tokens: bool = False,
) -> LabelledRows:
    """All examples as sequences of at most `fit.max_length` tokens.

    A text that is too long is cut (of a pair the longer one first), or read in windows (of a pair the longer one, the
    other, cut to half the room, in each of them), or refused. `guesses_tokens`: the rows have the next token's targets.
    Raises: DataError naming the example under "error"; ConfigError where `max_length` leaves no room.
    """
    frame = layout_frame(tokenizer, layout, is_pair=pairs is not None)
    both_orders = both_orders and pairs is not None
    room = fit.max_length - frame.num_specials
    if room < (1 if pairs is None else 2):
        raise ConfigError(f"task.max_length {fit.max_length} leaves no room for a text; use 8 or more.")
    first_ids = [encoding.ids for encoding in tokenizer.encode_batch(texts)]
    second_ids: list[Any] = [None] * len(texts)
    if pairs is not None:
        second_ids = [encoding.ids for encoding in tokenizer.encode_batch(pairs)]
    writer = RowWriter(num_token_types)
    for number, (first, second) in enumerate(zip(first_ids, second_ids, strict=True)):
        length = len(first) + (0 if second is None else len(second))
        if length <= room:
            writer.add(_wrapped(frame, [(first, second)], both_orders))
            continue
        if fit.on_overflow == "error":
            raise DataError(
                f"{places[number]}: {length + frame.num_specials:,} tokens, and at most {fit.max_length} fit; shorten "
                "the text, raise task.max_length, or let it be cut or read in windows (task.on_overflow)."
            )
        if fit.on_overflow == "truncate":
            kept = longest_first(len(first), 0 if second is None else len(second), room)
            cut = None if second is None else second[: kept[1]]
            writer.add(_wrapped(frame, [(first[: kept[0]], cut)], both_orders), num_dropped=length - sum(kept))
        else:
            windows, num_dropped = _windows(first, second, room, fit.stride)
            writer.add(_wrapped(frame, windows, both_orders), num_dropped)
    return LabelledRows(
        gold=gold, num_orders=1 + both_orders, silent_ids=frame.ids if guesses_tokens else None, **writer.arrays()
    )


def _wrapped(frame: Frame, windows: list[Texts], both_orders: bool) -> list[tuple[np.ndarray, np.ndarray]]:
    """The sequences of an example's windows, in one order or both."""
    wrapped = []
    for first, second in windows:
        wrapped.append(frame.wrap(first, second))
        if both_orders and second is not None:
            wrapped.append(frame.wrap(second, first))
    return wrapped


def _windows(first: np.ndarray, second: np.ndarray | None, room: int, stride: int) -> tuple[list[Texts], int]:
    """The windows of one example, and how many tokens of the shorter text none of them shows."""
    if second is None:
        return [(first[a:b], None) for a, b in passage_windows(len(first), room, stride)], 0
    first_is_longer = len(first) > len(second)
    long, short = (first, second) if first_is_longer else (second, first)
    kept = short[: room // 2]
    parts = [long[a:b] for a, b in passage_windows(len(long), room - len(kept), stride)]
    windows: list[Texts] = [(part, kept) if first_is_longer else (kept, part) for part in parts]
    return windows, len(short) - len(kept)
