"""Questions as sequences, one per choice: [CLS] passage [SEP] question choice [SEP].

GPT-1's layout has _start_ passage question _delimiter_ choice _classify_. The passage gives way first: it loses its
last words, down to a quarter of the sequence, and each choice stays whole with its question. Only where both are longer
than `max_question_tokens`, or than what a passage of that quarter leaves, does the question lose its first words, and
behind it the choice.

Letters: W questions, k choices of one.
Source: Devlin et al. 2019 (BERT), section 4.4; Liu et al. 2019 (RoBERTa), section 5.3 (RACE: question and answer at
most 128 tokens, the passage cut to fit); Radford et al. 2018 (GPT-1), section 3.3.
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from spanwise.data.batch import Batch
from spanwise.errors import ConfigError, DataError
from spanwise.nn.losses.loss_sum import LossSum
from spanwise.nn.losses.pointer import pointer_loss
from spanwise.tasks.input_layout import Layout, layout_frame
from spanwise.tasks.multiple_choice.reader import ChoiceData
from spanwise.tasks.sequence_rows import ExampleBorders, RowWriter, SequenceRows
from spanwise.text.tokenizers import Tokenizer

TARGET = "choice"  # the name of the one target of this task


@dataclass(frozen=True)
class ChoiceTargets:
    """Which sequences are one question, and the sequence of each right answer, int64 [W]; None unlabelled."""

    questions: ExampleBorders
    gold: Tensor | None


def choice_loss(scores: Tensor, targets: ChoiceTargets) -> LossSum:
    """Return the cross-entropy over each question's own choices, whose number may differ; `scores` [S]."""
    assert targets.gold is not None  # training reads labelled files alone
    return pointer_loss(scores[: targets.questions.num_sequences], targets.questions.borders, targets.gold)


@dataclass(frozen=True, kw_only=True)
class ChoiceRows(SequenceRows):
    """Questions with the number of each right choice, int64 [W], or None."""

    gold: np.ndarray | None

    def assemble(self, rows: np.ndarray) -> Batch:
        borders = self.borders_of(rows)
        gold = None if self.gold is None else torch.from_numpy(borders[:-1] + self.gold[rows])
        return self.lay(rows, TARGET, ChoiceTargets(ExampleBorders.of(borders), gold))


def encode_choices(
    data: ChoiceData,
    tokenizer: Tokenizer,
    *,
    max_length: int,
    max_question_tokens: int,
    num_token_types: int,
    on_overflow: str = "truncate",
    with_gold: bool = False,
    layout: Layout = "template",
    guesses_tokens: bool = False,
) -> ChoiceRows:
    """All questions, k sequences of at most `max_length` tokens each; what is cut is counted once per question: the
    most that one of its sequences lacks. `guesses_tokens`: the rows have the next token's targets.

    Raises: ConfigError where `max_length` leaves no room; DataError for a question that is too long under "error".
    """
    frame = layout_frame(tokenizer, layout, is_pair=True)
    room = max_length - frame.num_specials
    if room < 4:
        raise ConfigError(f"task.max_length {max_length} leaves no room for a passage and a choice; use 16 or more.")
    firsts = tokenizer.encode_batch([question.first for question in data.questions])
    asks_apart = layout == "extract"
    seconds = iter(
        tokenizer.encode_batch(
            [choice if asks_apart else q.second(choice) for q in data.questions for choice in q.choices]
        )
    )
    blank = " " if tokenizer.needs_blank else ""
    asked = [blank + q.question if asks_apart and q.context and q.question else "" for q in data.questions]
    writer = RowWriter(num_token_types)
    for question, first, ask in zip(data.questions, firsts, tokenizer.encode_batch(asked), strict=True):
        sequences, most_dropped = [], 0
        for _ in question.choices:
            choice = next(seconds).ids
            second = np.concatenate([ask.ids, choice])
            limit = min(max_question_tokens, room - min(len(first.ids), room // 4))
            kept = second[max(0, len(second) - limit) :]
            passage = first.ids[: room - len(kept)]
            dropped = len(first.ids) + len(second) - len(passage) - len(kept)
            most_dropped = max(most_dropped, dropped)
            border = max(0, len(kept) - len(choice))  # the question's part of it, where that stands with the passage
            sequences.append(frame.wrap(np.concatenate([passage, kept[:border]]), kept[border:]))
        if most_dropped and on_overflow == "error":
            raise DataError(
                f"{question.where}: {most_dropped:,} tokens more than fit into {max_length} (question and choice: at "
                f"most {max_question_tokens}); raise task.max_length, or let passages be cut (task.on_overflow)."
            )
        writer.add(sequences, num_dropped=most_dropped)
    gold = np.array([question.answer for question in data.questions], dtype=np.int64) if with_gold else None
    return ChoiceRows(gold=gold, silent_ids=frame.ids if guesses_tokens else None, **writer.arrays())
