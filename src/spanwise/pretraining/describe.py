"""Say what a recipe is, costs and needs, without opening a file or filling a weight.

Letters: D hidden size, I intermediate size, V vocabulary, T tokens in the pack.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from torch import nn

from spanwise.config import to_record
from spanwise.config.parts import field_names
from spanwise.errors import ConfigError
from spanwise.nn.config import EncoderConfig
from spanwise.nn.embeddings import Embeddings
from spanwise.nn.encoder import Encoder
from spanwise.nn.flops import training_flops_per_token
from spanwise.nn.heads.lm import TiedDecoder
from spanwise.pretraining.corruption.base import Symbols
from spanwise.pretraining.corruption.generator import TokenGenerator
from spanwise.pretraining.formats.base import BlockTable
from spanwise.pretraining.mixtures.length_warmup import LengthWarmup
from spanwise.pretraining.model import PretrainingModel
from spanwise.pretraining.objectives.base import Objective
from spanwise.pretraining.recipe import PretrainingRecipe
from spanwise.pretraining.system import outline_model
from spanwise.runtime.device import choose_device
from spanwise.runtime.machine import usable_memory
from spanwise.training.optim import linear_matrices

BYTES_A_PARAMETER = 16  # fp32 weight, gradient and two moments of AdamW or LAMB
BYTES_A_MOMENT = 4  # Muon has one moment for a matrix of a linear layer
BYTES_A_WEIGHT, LEAST_BYTES_A_PARAMETER = 4, 12  # alone; with its gradient and one moment
# Activations that a backward pass needs, in bytes a token, layer and hidden unit, at 16 bits.
# Source: Korthikanti et al. 2022, section 4.1: 34, the attention matrix left out (it is never stored here).
ACTIVATION_BYTES = 34
INPUT_BYTES = 4  # of a layer, in float32: all that is kept of it where activations are computed again


def describe_recipe(recipe: PretrainingRecipe, vocab_size: int | None = None) -> dict[str, Any]:
    """Return name, parts, data path, parameters by group, FLOPs a token, memory and differences from the paper.

    `vocab_size` defaults to that of the tokenizer the recipe would learn. FLOPs are those of forward and backward, for
    sequences of the recipe's longest length. Memory is in bytes; activations are an estimate for one fp32 pack, kept or
    computed again layer by layer for the backward pass.
    """
    model = outline_model(recipe, vocab_size or recipe.tokenizer.vocab_size)
    config = model.encoder.config
    length = recipe.format.max_length
    counts = parameters_by_head(model)
    num_encoder = count_parameters(model.encoder, config.vocab_size)
    total = num_encoder + sum(counts.values())
    num_embedding = config.vocab_size * config.embedding_width
    encoders = [part.config for part in model.modules() if isinstance(part, Encoder)]
    widths = sum(encoder.hidden_size * encoder.num_layers for encoder in encoders)
    with_one_moment = linear_matrices(model) if recipe.training.optimizer == "muon" else set()
    num_with_one_moment = sum(matrix.numel() for matrix in with_one_moment)
    tokens, one_layer = recipe.batch.max_tokens, max(encoder.hidden_size for encoder in encoders)
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
        "flops_per_token": training_flops(recipe, model, length=length, attended=length, text_share=1.0),
        "tokens_per_step": recipe.batch.tokens_per_step,
        "most_tokens_per_step": recipe.batch.most_tokens_per_step,
        "packs_per_step": recipe.batch.packs_per_step,
        "packs": recipe.batch.packs,
        "memory": {
            "parameters_and_optimizer": BYTES_A_PARAMETER * total - BYTES_A_MOMENT * num_with_one_moment,
            "activations_estimate": 2 * ACTIVATION_BYTES * tokens * widths,
            "activations_again_estimate": tokens * (INPUT_BYTES * widths + 2 * ACTIVATION_BYTES * one_layer),
        },
        "differences": list(recipe.differences),
        "recipe": to_record(recipe),
    }


def step_in_words(asked: int, most: int) -> str:
    """Say how many tokens a step has: as asked for, or what whole packs make of it where that is another number."""
    if asked == most:
        return f"{asked:,} real tokens"
    return f"up to {most:,} real tokens (not the {asked:,} of batch.tokens_per_step: see batch.max_tokens)"


def data_path(recipe: PretrainingRecipe, vocab_size: int) -> list[str]:
    """Return the stages from text to losses, one line each."""
    learned = recipe.tokenizer
    form = ["cased" if learned.cased else "uncased", *([learned.unicode_form] if learned.unicode_form == "NFC" else [])]
    cut = " cut at morphemes" if learned.boundaries == "morphemes" else ""
    words = ", words are morphemes" if recipe.word_unit == "morpheme" else ""
    shape = recipe.encoder
    return [
        f"text -> {learned.kind}, {', '.join(form)}, {vocab_size:,} pieces{cut} -> token store",
        f"-> {_shown(recipe.format)}{_growth(recipe.length_warmup)}",
        f"-> {_shown(recipe.masking)}{words}, {_repetition(recipe.num_maskings)}",
        f"-> {_shown(recipe.replacement)}",
        *_corruption_stages(recipe),
        f"-> encoder of {shape.num_layers} layers x {shape.hidden_size}, {shape.num_heads} heads{_unlike_bert(shape)}",
        *(f"-> {name}: {_shown(objective)}" for name, objective in recipe.objectives.items()),
    ]


def _growth(warmup: LengthWarmup) -> str:
    return f", the first {warmup.steps:,} steps of at most {warmup.max_length}" if warmup.steps else ""


def _corruption_stages(recipe: PretrainingRecipe) -> list[str]:
    """The corruption with what it learns; nothing where the encoder reads the batch as it is."""
    part = recipe.corruption
    if isinstance(part, Symbols):
        return []
    values = {name: getattr(part, name) for name in field_names(type(part)) if name != "objectives"}
    shown = ", ".join(f"{name}={value!r}" for name, value in values.items())
    return [
        f"-> {type(part).__name__}({shown})",
        *(f"   -> {name}: {_shown(objective)}" for name, objective in part.objectives.items()),
    ]


def _unlike_bert(shape: EncoderConfig) -> str:
    """Say what an encoder has that BERT's has not."""
    said = {
        "embedding_size": f"embeddings of {shape.embedding_size}",
        "sharing": f"shared: {shape.sharing.replace('_', '-')}",
        "causal": "causal",
        "position_offset": f"positions from {shape.position_offset}",
        "embedding_norm": "embeddings not normalised",
        "norm_place": "normalised before sub-layers",
        "rotary_base": f"rotary positions ({shape.rotary_base or 0:,.0f})",
        "local_window": f"{shape.local_window} tokens to each side but in each {shape.global_every}. layer",
        "gated": "SwiGLU" if shape.activation == "silu" else "GeGLU",
        "attention_bias": "attention without biases",
        "feed_forward_bias": "feed-forward without biases",
        "norm_bias": "norms without biases",
    }
    usual = EncoderConfig(hidden_size=1, num_layers=1, num_heads=1, intermediate_size=1)
    return "".join(f", {words}" for name, words in said.items() if getattr(shape, name) != getattr(usual, name))


def _repetition(num_maskings: int | None) -> str:
    if num_maskings is None:
        return "new at every epoch (dynamic)"
    return f"the same {num_maskings} maskings again and again (static)"


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
    counts = {name: count_parameters(head, vocab_size, owner=model.encoder) for name, head in model.heads.items()}
    if isinstance(model.corruption, TokenGenerator):
        counts["generator"] = count_parameters(model.corruption, vocab_size, owner=model.encoder)
    return counts


def flops_on_text(
    recipe: PretrainingRecipe, model: PretrainingModel, tables: Sequence[tuple[BlockTable, float]]
) -> float:
    """Return the operations of training for one token of this text: tables of blocks, and the share of each."""
    per_token, attended, text_share = 0.0, 0.0, 0.0
    for table, share in tables:
        lengths = table.packed_lengths.astype(float)
        per_token += share / float(lengths.mean())  # sequences
        attended += share * float((lengths**2).sum() / lengths.sum())
        text_share += share * float(table.text_lengths.sum() / lengths.sum())
    return training_flops(recipe, model, length=1 / per_token, attended=attended, text_share=text_share)


def training_flops(
    recipe: PretrainingRecipe, model: PretrainingModel, *, length: float, attended: float, text_share: float
) -> float:
    """Return the operations of a forward and backward for one real token, those of a generator included.

    `length` is the mean length of a sequence, `attended` how many tokens a token's sequence has on average, and
    `text_share` the share of tokens that masking may hide.
    """
    hidden_share = float(recipe.masking.ratio) * text_share
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
    objectives: Mapping[str, Objective],
    heads: Mapping[str, nn.Module],
    vocab_size: int,
    length: float,
    hidden_share: float,
) -> list[tuple[float, int]]:
    """Return (targets per token, weights that a target meets) of every head, as `training_flops_per_token` takes them.

    Targets are the hidden tokens, `hidden_share` of all, where an objective doesn't say otherwise; one that says what
    every token meets counts every token.
    """
    costs = []
    for name, head in heads.items():
        weights_per_token = getattr(objectives[name], "weights_per_token", None)
        if weights_per_token is not None:
            costs.append((1.0, round(weights_per_token(head, length))))
            continue
        own = getattr(objectives[name], "targets_per_token", None)
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


def check_room(recipe: PretrainingRecipe, device: str | None) -> None:
    """Refuse a new model that this machine can't hold, before text is read, a folder made or a weight allocated.

    Only what is certain counts: the weights, on a CPU what an update keeps beside each, and no word table, which the
    text decides. Activations depend on how text fills the packs. Raises: ConfigError naming what to make smaller.
    """
    memory = usable_memory()
    number = sum(parameter.numel() for parameter in outline_model(recipe, 1).parameters())
    on_cpu = choose_device(device).type == "cpu"
    needed = number * (LEAST_BYTES_A_PARAMETER if on_cpu else BYTES_A_WEIGHT)
    if memory is None or needed <= memory:
        return
    shape = recipe.encoder
    what = "weights, gradients and the optimizer's moments" if on_cpu else "weights"
    raise ConfigError(
        f"this model of {number / 1e9:,.1f} billion parameters needs {needed / 1e9:,.0f} GB for its {what}, and this "
        f"process may hold {memory / 1e9:,.1f} GB. Make smaller: encoder.hidden_size ({shape.hidden_size:,}), "
        f"encoder.num_layers ({shape.num_layers:,}), encoder.intermediate_size ({shape.intermediate_size:,}) or "
        f"encoder.max_positions ({shape.max_positions:,})."
    )
