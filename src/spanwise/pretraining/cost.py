"""What a system costs: parameters by group, and operations a token.

Letters: T tokens in the pack, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import nn

from spanwise.nn.embeddings import Embeddings
from spanwise.nn.flops import training_flops_per_token
from spanwise.nn.lm_head import TiedDecoder
from spanwise.pretraining.corruption.generator import TokenGenerator
from spanwise.pretraining.model import PretrainingModel
from spanwise.pretraining.recipe import PretrainingRecipe


def count_parameters(module: nn.Module, vocab_size: int, owner: nn.Module | None = None) -> int:
    """Return the trainable numbers of a module, without the rows that pad the vocabulary to a multiple of 64, and
    without what it shares with `owner`."""
    counted = set() if owner is None else set(owner.parameters())
    tables = {part.word.weight for part in module.modules() if isinstance(part, Embeddings)}
    total = 0
    for part in module.modules():
        for name, parameter in part.named_parameters(recurse=False):
            if parameter in counted:
                continue
            counted.add(parameter)
            padded = parameter in tables or (isinstance(part, TiedDecoder) and name == "bias")
            total += parameter[:vocab_size].numel() if padded else parameter.numel()
    return total


def parameters_by_head(model: PretrainingModel) -> dict[str, int]:
    """Return the numbers of each head, and of a generator what is its own; a tied decoder is the encoder's."""
    vocab_size = model.encoder.config.vocab_size
    counts = {name: count_parameters(head, vocab_size) for name, head in model.heads.items()}
    if isinstance(model.corruption, TokenGenerator):
        counts["generator"] = count_parameters(model.corruption, vocab_size, owner=model.encoder)
    return counts


def training_flops(
    recipe: PretrainingRecipe, model: PretrainingModel, *, length: float, attended: float, text_share: float
) -> float:
    """Return the operations of a forward and backward for one real token, those of a generator included.

    `length` is the mean length of a sequence, `attended` how many tokens a token's sequence has on average, and
    `text_share` the share of tokens that masking may hide.
    """
    hidden_share = float(getattr(recipe.masking, "ratio", 0.0)) * text_share
    config = model.encoder.config
    costs = head_costs(recipe.objectives, dict(model.heads.items()), config.vocab_size, length, hidden_share)
    total = training_flops_per_token(config, attended, costs)
    generator = model.corruption
    if isinstance(generator, TokenGenerator):
        heads = dict(generator.heads.items())
        costs = head_costs(recipe.corruption.objectives, heads, config.vocab_size, length, hidden_share)
        total += training_flops_per_token(generator.encoder.config, attended, costs)
    return total


def head_costs(
    objectives: Mapping[str, Any], heads: Mapping[str, nn.Module], vocab_size: int, length: float, hidden_share: float
) -> list[tuple[float, int]]:
    """Return (targets a token, weights that a target meets) of every head, as `training_flops_per_token` asks for them.

    Targets are the hidden tokens, `hidden_share` of all, where an objective doesn't say otherwise.
    """
    costs = []
    for name, head in heads.items():
        own = getattr(objectives[name], "targets_per_token", None)
        costs.append((hidden_share if own is None else own(length), _weights_met(head, vocab_size)))
    return costs


def _weights_met(head: nn.Module, vocab_size: int) -> int:
    """Return the matrix weights that one target of a head is multiplied with, its tied decoder included."""
    own = sum(module.weight.numel() for module in head.modules() if isinstance(module, nn.Linear))
    return own + (vocab_size * head.weight.shape[1] if isinstance(head, TiedDecoder) else 0)
