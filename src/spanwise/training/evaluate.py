"""Losses on batches that never change: the same numbers whenever and how often they are asked for."""

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Literal, Protocol

import torch
from torch import Tensor, nn

from spanwise.data.batch import Batch
from spanwise.runtime.device import autocast


class SummedLoss(Protocol):
    """A loss that says more than its sum: perhaps `num_correct`, `is_log_likelihood`, or `tallies` and `measures`."""

    @property
    def sum(self) -> Tensor: ...


Loss = Tensor | SummedLoss


def loss_sum(value: Loss) -> Tensor:
    """Return the scalar of a loss: a plain tensor, or the `sum` of an object that also counts its correct guesses."""
    return value if isinstance(value, Tensor) else value.sum


def num_correct(value: Loss) -> Tensor | None:
    """Return how many targets were guessed right, where the loss counts them."""
    return getattr(value, "num_correct", None)


def evaluate_batches(
    model: nn.Module, batches: Iterable[Batch], *, device: torch.device, precision: Literal["fp32", "bf16"] = "fp32"
) -> dict[str, float]:
    """Mean loss of each target name over all batches, what else its losses say, and the weighted `loss`.

    Keys: `loss`, `<name>_loss`, `<name>_perplexity` for a loss that says it is a log-likelihood (of any other, such as
    a regression, exp(mean) says nothing), `<name>_accuracy` for one that counts `num_correct`, and `<name>_<measure>`
    for one that has `tallies` (a tensor of counts, added up over the batches) and `measures(tallies)`. Names without a
    target are left out. Dropout is off; no random number is drawn, so training goes on as if nothing had been asked.
    """
    sums: dict[str, float] = {}
    correct: dict[str, int] = {}
    counts: dict[str, int] = {}
    likelihoods: set[str] = set()
    tallies: dict[str, Tensor] = {}
    measures: dict[str, Callable[[Tensor], Mapping[str, float]]] = {}
    was_training = model.training
    model.eval()
    try:
        with torch.no_grad():  # not inference mode: a tensor cached inside the model must stay usable
            for batch in batches:
                with autocast(precision, device):
                    losses = model(batch.to(device))
                for name, value in losses.items():
                    counts[name] = counts.get(name, 0) + int(batch.counts.get(name, 0))
                    sums[name] = sums.get(name, 0.0) + float(loss_sum(value))
                    if getattr(value, "is_log_likelihood", False):
                        likelihoods.add(name)
                    right = num_correct(value)
                    if right is not None:
                        correct[name] = correct.get(name, 0) + int(right)
                    counted = getattr(value, "tallies", None)
                    if counted is not None:
                        tallies[name] = counted if name not in tallies else tallies[name] + counted
                        measures[name] = value.measures
    finally:
        model.train(was_training)
    weights = getattr(model, "loss_weights", {})
    found: dict[str, float] = {}
    for name, count in counts.items():
        if not count:
            continue
        mean = sums[name] / count
        found["loss"] = found.get("loss", 0.0) + weights.get(name, 1.0) * mean
        found[f"{name}_loss"] = mean
        if name in likelihoods:
            found[f"{name}_perplexity"] = math.exp(mean) if mean < 700 else math.inf
        if name in correct:
            found[f"{name}_accuracy"] = correct[name] / count
        if name in tallies:
            more = measures[name](tallies[name].cpu())
            found |= {f"{name}_{measure}": float(number) for measure, number in more.items()}
    return found
