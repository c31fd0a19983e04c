"""`config.json` of Hugging Face against our `EncoderConfig`, in both directions, for BERT-type models.

Only plain numbers and names are read. `auto_map`, `trust_remote_code`, `_attn_implementation` and everything else
that could make a loader run code has no effect here.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from spanwise.errors import CheckpointError, ConfigError
from spanwise.nn.config import EncoderConfig

SUPPORTED_MODEL_TYPES = ("bert",)
# our field -> (their key, required)
NUMBERS: dict[str, tuple[str, bool]] = {
    "vocab_size": ("vocab_size", True),
    "hidden_size": ("hidden_size", True),
    "num_layers": ("num_hidden_layers", True),
    "num_heads": ("num_attention_heads", True),
    "intermediate_size": ("intermediate_size", True),
    "max_positions": ("max_position_embeddings", False),
    "num_token_types": ("type_vocab_size", False),
    "norm_eps": ("layer_norm_eps", False),
    "hidden_dropout": ("hidden_dropout_prob", False),
    "attention_dropout": ("attention_probs_dropout_prob", False),
    "initializer_range": ("initializer_range", False),
}
FRACTIONS = frozenset({"norm_eps", "hidden_dropout", "attention_dropout", "initializer_range"})
ACTIVATIONS: dict[str, Literal["gelu", "gelu_tanh"]] = {
    "gelu": "gelu",
    "gelu_python": "gelu",
    "gelu_tanh": "gelu_tanh",
    "gelu_new": "gelu_tanh",
    "gelu_fast": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
}
# settings that change what is computed, with the only value that a BERT encoder has
REFUSED_UNLESS = {"position_embedding_type": "absolute", "is_decoder": False, "add_cross_attention": False}


def encoder_config(record: dict[str, Any], path: Path) -> EncoderConfig:
    """Read the shape of an encoder out of the content of `path`; `pooler` is left False, tensors decide it.

    Raises:
        CheckpointError: another kind of model, a missing or senseless value.
    """
    model_type = record.get("model_type")
    if model_type is None and not {"hidden_size", "num_hidden_layers", "num_attention_heads"} <= record.keys():
        raise CheckpointError(f"{path} names no model_type and lacks BERT's settings (hidden_size, num_hidden_layers).")
    if model_type is not None and model_type not in SUPPORTED_MODEL_TYPES:
        supported = ", ".join(SUPPORTED_MODEL_TYPES)
        raise CheckpointError(f"{path} says model_type {model_type!r}; this version reads: {supported}.")
    for key, only in REFUSED_UNLESS.items():
        if record.get(key, only) != only:
            raise CheckpointError(f"{path} says {key} = {record[key]!r}; only {only!r} is supported.")
    values: dict[str, Any] = {}
    for ours, (theirs, required) in NUMBERS.items():
        value = record.get(theirs)
        if value is None:
            if required:
                raise CheckpointError(f"{path} lacks {theirs!r}.")
            continue
        wanted = (int, float) if ours in FRACTIONS else (int,)
        if isinstance(value, bool) or not isinstance(value, wanted):
            raise CheckpointError(f"{path} says {theirs} = {value!r}; a number was expected.")
        values[ours] = float(value) if ours in FRACTIONS else value
    activation = record.get("hidden_act", "gelu")
    if activation not in ACTIVATIONS:
        raise CheckpointError(f"{path} says hidden_act {activation!r}; supported: {', '.join(ACTIVATIONS)}.")
    try:
        return EncoderConfig(activation=ACTIVATIONS[activation], **values)
    except ConfigError as error:
        raise CheckpointError(f"{path}: {error}") from error


def config_record(config: EncoderConfig, architecture: str, pad_id: int) -> dict[str, Any]:
    """The content of `config.json` for the class `architecture`, stock keys only."""
    record = {theirs: getattr(config, ours) for ours, (theirs, _) in NUMBERS.items()}
    return {
        "architectures": [architecture],
        "model_type": "bert",
        "hidden_act": "gelu_pytorch_tanh" if config.activation == "gelu_tanh" else "gelu",
        "dtype": "float32",
        "pad_token_id": pad_id,
        "position_embedding_type": "absolute",
        "tie_word_embeddings": True,
        **record,
    }
