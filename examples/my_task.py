"""A task of one's own: how many names does a sentence have? Data, head, loss and score in one file.

    spanwise finetune my_task.py:name_count --model MODEL --train names.jsonl --dev dev.jsonl --out RUN
    spanwise evaluate my_task.py:name_count --model RUN/final --data dev.jsonl
    spanwise predict my_task.py:name_count --model RUN/final --input new.jsonl --output counts.json

The files hold one JSON object per line: {"text": "Ada met Bob in Seoul.", "names": 3}. Every token has a rate, their
sum is the number of names that is expected, and the loss is that of a Poisson distribution with this mean.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from spanwise.nn.losses.loss_sum import LossSum
from spanwise.tasks.base import Task
from spanwise.tasks.files.tables import read_table, text_of, value_of
from spanwise.tasks.frames import frames_of
from spanwise.tasks.recipe import FinetuningRecipe, usual_recipe
from spanwise.tasks.sequence_rows import RowWriter, SequenceRows


@dataclass(frozen=True)
class Counted:
    """Sentences and the number of names in each; no numbers where they are to be predicted."""

    texts: list[str]
    counts: list[float] | None


@dataclass(frozen=True)
class CountTargets:
    counts: Tensor  # [W] float32


@dataclass(frozen=True, kw_only=True)
class CountedRows(SequenceRows):
    """Sentences as token ids, and how to lay some of them into a pack."""

    counts: np.ndarray

    def assemble(self, rows):
        return self.lay(rows, "names", CountTargets(torch.from_numpy(self.counts[rows])))


class CountHead(nn.Module):
    """The expected number of names of each sequence: the sum of its tokens' rates."""

    title = "number of names"

    def __init__(self, hidden_size: int) -> None:
        super().__init__()
        self.rate = nn.Linear(hidden_size, 1)

    def forward(self, hidden, sequences):
        rates = nn.functional.softplus(self.rate(hidden).float().squeeze(1))
        return torch.segment_reduce(rates, "sum", offsets=sequences.cu_seqlens.long())


@dataclass(frozen=True)
class NameCount(Task[Counted, CountedRows, float, dict[str, float]]):
    """Count the names of a sentence."""

    max_length: int = 128  # tokens; the rest of a longer sentence is not read
    head_name: ClassVar[str] = "name_count"
    target_name: ClassVar[str] = "names"
    main_score: ClassVar[str] = "right"

    def read(self, path, *, purpose, errors="strict"):
        rows = read_table(path, errors=errors).rows
        counts = None if purpose == "predict" else [float(value_of(row, "names")) for row in rows]
        return Counted([text_of(row, "text") for row in rows], counts)

    def featurize(self, data, tokenizer, config, *, training):
        frame, writer = frames_of(tokenizer)[0], RowWriter(config.num_token_types)
        room = min(self.max_length, config.max_positions) - frame.num_specials
        for encoding in tokenizer.encode_batch(data.texts):
            writer.add([frame.wrap(encoding.ids[:room])], num_dropped=max(0, len(encoding.ids) - room))
        counts = data.counts if training else np.zeros(len(data.texts))
        return CountedRows(counts=np.array(counts, dtype=np.float32), **writer.arrays())

    def build_head(self, config):
        return CountHead(config.hidden_size)

    def loss(self, head, hidden_TD, batch):
        expected, counts = head(hidden_TD, batch.sequences), batch.target("names", CountTargets).counts
        loss = nn.functional.poisson_nll_loss(expected, counts, log_input=False, reduction="sum")
        return {"names": LossSum(loss, (expected.round() == counts).sum())}

    def output(self, head, hidden_TD, batch):
        return head(hidden_TD, batch.sequences)[: len(batch.ids)].tolist()

    def decode(self, data, features, outputs):
        return {str(number): round(count, 3) for number, count in enumerate(outputs)}

    def score(self, data, predictions):
        errors = [abs(round(count) - gold) for count, gold in zip(predictions.values(), data.counts, strict=True)]
        return {"right": 100 * np.mean([e == 0 for e in errors]), "off_by_one": 100 * np.mean([e <= 1 for e in errors])}


def name_count() -> FinetuningRecipe:
    """The task with the values that most tasks are fine-tuned with."""
    return usual_recipe(NameCount())
