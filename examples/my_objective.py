"""An objective of one's own with a head of its own: how long is each hidden span, seen from the tokens around it?"""

from dataclasses import dataclass, replace

import torch

from spanwise import recipes


@dataclass(frozen=True)
class Borders:  # tensors of the M hidden spans of a pack; they travel with the batch
    left: torch.Tensor  # [M] place of the token before each span
    right: torch.Tensor  # [M] place of the token behind it
    length: torch.Tensor  # [M] class of its length
    count = property(lambda self: len(self.length))  # how many targets the loss is summed over


class LengthHead(torch.nn.Linear):
    def forward(self, hidden, targets):  # hidden states of all T tokens of the pack [T, D] -> a sum
        scores = super().forward(torch.cat([hidden[targets.left], hidden[targets.right]], dim=1))
        return torch.nn.functional.cross_entropy(scores.float(), targets.length, reduction="sum")


@dataclass(frozen=True, kw_only=True)
class SpanLength:
    name = "length"
    needs = frozenset({"spans"})  # a masking that hides nothing is refused
    weight: float = 0.1

    def targets(self, pack, spans, hidden):  # spanwise/pretraining/packs.py says what these hold
        length = (spans.end - spans.start).clip(max=10) - 1
        return Borders(*map(torch.from_numpy, (spans.start - 1, spans.end, length)))

    def build(self, encoder):
        return LengthHead(2 * encoder.config.hidden_size, 10)


def spanbert_lengths():
    mini = recipes.spanbert_mini()
    return replace(mini, name="spanbert-lengths", objectives={**mini.objectives, "length": SpanLength()})
