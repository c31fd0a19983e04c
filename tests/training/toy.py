"""A small real model and data source for tests of the loop: embeddings, one mixing layer, dropout, a tied decoder."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import save_file
from torch import Tensor, nn
from torch.nn import functional as F

from spanwise.data.batch import Batch
from spanwise.nn.sequences import Sequences

VOCAB = 40


@dataclass(frozen=True)
class ToyTargets:
    positions: Tensor  # [N]
    ids: Tensor  # [N]


@dataclass(frozen=True)
class ToyLoss:
    sum: Tensor
    num_correct: Tensor
    is_log_likelihood: bool = True


class ToyModel(nn.Module):
    """Guess the next id (`next`) and the same id (`same`) from d hidden values."""

    def __init__(self, d: int = 32, dropout: float = 0.1) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(7)
        self.table = nn.Embedding(VOCAB, d)
        self.mix = nn.Linear(d, d)
        self.norm = nn.LayerNorm(d)
        self.dropout = nn.Dropout(dropout)
        self.decoder = nn.Linear(d, VOCAB)
        self.decoder.weight = self.table.weight
        self.register_buffer("scale", torch.ones(1))
        self.loss_weights = {"next": 1.0, "same": 0.5}
        with torch.no_grad():
            for parameter in (self.table.weight, self.mix.weight):
                parameter.copy_(torch.randn(parameter.shape, generator=generator) * 0.1)
            self.mix.bias.zero_()
            self.decoder.bias.zero_()

    def forward(self, batch: Batch) -> dict[str, ToyLoss]:
        hidden = self.table(batch.input_ids)
        hidden = self.norm(hidden + self.dropout(F.gelu(self.mix(hidden)))) * self.scale
        found = {}
        for name, targets in batch.targets.items():
            logits = self.decoder(hidden[targets.positions]).float()
            loss = F.cross_entropy(logits, targets.ids, reduction="sum")
            found[name] = ToyLoss(sum=loss, num_correct=(logits.argmax(-1) == targets.ids).sum())
        return found


class ToySource:
    """`packs` packs of `tokens` tokens a step, each a pure function of (step, pack), with its own counts."""

    def __init__(self, packs: int = 2, tokens: int = 24, epoch_steps: int = 10) -> None:
        self.packs, self.tokens, self.epoch_steps = packs, tokens, epoch_steps

    def step(self, index: int) -> list[Batch]:
        return [self.pack(index, k) for k in range(self.packs)]

    def pack(self, index: int, k: int) -> Batch:
        rng = np.random.default_rng((index, k))
        ids = torch.from_numpy(rng.integers(0, VOCAB, self.tokens))
        count = int(rng.integers(2, self.tokens - 1))
        return make_batch(ids, {"next": count, "same": max(0, count - 10)}, blocks=(100 * index + k,))

    def position(self, index: int) -> dict:
        return {"epoch": index / self.epoch_steps, "tokens": index * self.packs * self.tokens}


def make_batch(ids: Tensor, counts: dict[str, int], blocks: tuple[int, ...] = ()) -> Batch:
    targets = {}
    for name, count in counts.items():
        positions = torch.arange(count)
        wanted = ids[positions + 1] if name == "next" else ids[positions]
        targets[name] = ToyTargets(positions=positions, ids=wanted)
    return Batch(
        input_ids=ids,
        token_type_ids=torch.zeros_like(ids),
        sequences=Sequences.from_lengths([len(ids)]),
        targets=targets,
        counts=counts,
        ids=blocks,
    )


def toy_saver(model: nn.Module):
    """What a caller gives as `save_model`."""

    def save(folder: Path) -> None:
        (folder / "config.json").write_text(json.dumps({"model_type": "toy"}))
        save_file({name: p.detach().clone() for name, p in model.named_parameters()}, folder / "model.safetensors")

    return save
