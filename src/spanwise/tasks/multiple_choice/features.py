"""Questions as sequences, one a choice: [CLS] passage [SEP] question choice [SEP].

The passage gives way first: it loses its last words, and each choice stays whole with its question. Only where both are
longer than `max_question_tokens` does the question lose its first words, and behind it the choice.

Letters: W questions, k choices of one.
Source: Devlin et al. 2019 (BERT), section 4.4; Liu et al. 2019 (RoBERTa), section 5.3 (RACE: question and answer at
most 128 tokens, the passage cut to fit).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from spanwise.data.batch import Batch
from spanwise.errors import ConfigError, DataError
from spanwise.tasks.frames import pair_frame
from spanwise.tasks.multiple_choice.loss import ChoiceTargets
from spanwise.tasks.multiple_choice.reader import ChoiceData
from spanwise.tasks.sequence_rows import ExampleBorders, RowWriter, SequenceRows
from spanwise.text.tokenizers import Tokenizer

TARGET = "choice"  # the name of the one target of this task


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
) -> ChoiceRows:
    """All questions, k sequences of at most `max_length` tokens each; what is cut is counted once a question: the most
    that one of its sequences lacks.

    Raises: ConfigError where `max_length` leaves no room; DataError for a question that is too long under "error".
    """
    frame = pair_frame(tokenizer)
    room = max_length - frame.num_specials
    if room < 4:
        raise ConfigError(f"task.max_length {max_length} leaves no room for a passage and a choice; use 16 or more.")
    firsts = tokenizer.encode_batch([question.first for question in data.questions])
    seconds = iter(tokenizer.encode_batch([q.second(choice) for q in data.questions for choice in q.choices]))
    writer = RowWriter(num_token_types)
    for question, first in zip(data.questions, firsts, strict=True):
        sequences, most_dropped = [], 0
        for _ in question.choices:
            second = next(seconds).ids
            limit = min(max_question_tokens, room - min(len(first.ids), room // 4))
            kept = second[max(0, len(second) - limit) :]
            passage = first.ids[: room - len(kept)]
            dropped = len(first.ids) + len(second) - len(passage) - len(kept)
            most_dropped = max(most_dropped, dropped)
            sequences.append(frame.wrap(passage, kept))
        if most_dropped and on_overflow == "error":
            raise DataError(
                f"{question.where}: {most_dropped:,} tokens more than fit into {max_length} (question and choice: at "
                f"most {max_question_tokens}); raise task.max_length, or let passages be cut (task.on_overflow)."
            )
        writer.add(sequences, num_dropped=most_dropped)
    gold = np.array([question.answer for question in data.questions], dtype=np.int64) if with_gold else None
    return ChoiceRows(gold=gold, **writer.arrays())
