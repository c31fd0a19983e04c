"""What a recipe is, costs and needs, without opening a file or filling a weight.

Letters: D hidden size, I intermediate size, V vocabulary, T tokens in the pack.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import nn

from spanwise.config import to_record
from spanwise.config.parts import field_names
from spanwise.nn.encoder import Encoder
from spanwise.nn.flops import training_flops_per_token
from spanwise.nn.lm_head import TiedDecoder
from spanwise.pretraining.recipe import PretrainingRecipe

BYTES_A_PARAMETER = 16  # fp32 weight, gradient and two moments of AdamW
# Activations that a backward pass needs, in bytes a token, layer and hidden unit, at 16 bits.
# Source: Korthikanti et al. 2022, section 4.1: 34, the attention matrix left out (it is never stored here).
ACTIVATION_BYTES = 34


def describe_recipe(recipe: PretrainingRecipe, vocab_size: int | None = None) -> dict[str, Any]:
    """Return name, parts, data path, parameters by group, FLOPs a token, memory and differences from the paper.

    `vocab_size` defaults to that of the tokenizer the recipe would learn. FLOPs are those of forward and backward, for
    sequences of the recipe's longest length. Memory is in bytes; activations are an estimate for one fp32 pack.
    """
    config = recipe.encoder.config(vocab_size or recipe.tokenizer.vocab_size)
    with torch.device("meta"):  # shapes without memory
        encoder = Encoder(config)
        heads = {name: objective.build(encoder) for name, objective in recipe.objectives.items()}
    length = recipe.format.max_length
    flops = training_flops_per_token(config, length, head_costs(recipe, heads, config.vocab_size, length, 1.0))
    counts = {name: count_parameters(head, config.vocab_size) for name, head in heads.items()}
    num_encoder = count_parameters(encoder, config.vocab_size)
    total = num_encoder + sum(counts.values())
    num_embedding = config.vocab_size * config.embedding_width
    activations = 2 * ACTIVATION_BYTES * recipe.batch.max_tokens * config.hidden_size * config.num_layers
    return {
        "name": recipe.name,
        "data_path": data_path(recipe, config.vocab_size),
        "parameters": {
            "encoder": num_encoder,
            "heads": sum(counts.values()),
            "total": total,
            "word_embedding": num_embedding,
            "by_head": counts,
        },
        "flops_per_token": flops,
        "tokens_per_step": recipe.batch.tokens_per_step,
        "packs_per_step": recipe.batch.packs_per_step,
        "memory": {"parameters_and_optimizer": BYTES_A_PARAMETER * total, "activations_estimate": activations},
        "differences": list(recipe.differences),
        "recipe": to_record(recipe),
    }


def data_path(recipe: PretrainingRecipe, vocab_size: int) -> list[str]:
    """Return the stages from text to losses, one line each."""
    learned = recipe.tokenizer
    case = "cased" if learned.cased else "uncased"
    shape = recipe.encoder
    return [
        f"text -> {learned.kind}, {case}, {vocab_size:,} pieces -> token store",
        f"-> {_shown(recipe.format)}",
        f"-> {_shown(recipe.masking)}, {_repetition(recipe.num_maskings)}",
        f"-> {_shown(recipe.replacement)}",
        f"-> encoder of {shape.num_layers} layers x {shape.hidden_size}, {shape.num_heads} heads",
        *(f"-> {name}: {_shown(objective)}" for name, objective in recipe.objectives.items()),
    ]


def _repetition(num_maskings: int | None) -> str:
    if num_maskings is None:
        return "new at every epoch (dynamic)"
    return f"the same {num_maskings} maskings again and again (static)"


def count_parameters(module: nn.Module, vocab_size: int) -> int:
    """Return the trainable numbers of a module, without the rows that pad the vocabulary to a multiple of 64."""
    total = 0
    for name, parameter in module.named_parameters():
        padded = (isinstance(module, Encoder) and name == "embeddings.word.weight") or (
            isinstance(module, TiedDecoder) and name == "bias"
        )
        total += parameter[:vocab_size].numel() if padded else parameter.numel()
    return total


def head_costs(
    recipe: PretrainingRecipe, heads: Mapping[str, nn.Module], vocab_size: int, length: float, text_share: float
) -> list[tuple[float, int]]:
    """Return (targets a token, weights that a target meets) of every head, as `training_flops_per_token` asks for them.

    `length` is that of a sequence; `text_share` the share of its tokens that masking may hide.
    """
    hidden_share = float(getattr(recipe.masking, "ratio", 0.0)) * text_share
    costs = []
    for name, head in heads.items():
        own = getattr(recipe.objectives[name], "targets_per_token", None)
        costs.append((hidden_share if own is None else own(length), _weights_met(head, vocab_size)))
    return costs


def _weights_met(head: nn.Module, vocab_size: int) -> int:
    """Return the matrix weights that one target of a head is multiplied with, its tied decoder included."""
    own = sum(module.weight.numel() for module in head.modules() if isinstance(module, nn.Linear))
    return own + (vocab_size * head.weight.shape[1] if isinstance(head, TiedDecoder) else 0)


def _shown(part: Any) -> str:
    """Return a part as it is written in Python, with every value that is set."""
    names = [name for name in field_names(type(part)) if getattr(part, name) is not None]
    return f"{type(part).__name__}({', '.join(f'{name}={getattr(part, name)!r}' for name in names)})"
