"""BERT, and with it SpanBERT, in Hugging Face folders and in the original SpanBERT code.

Names of LayerNorm are `weight` and `bias` today and were `gamma` and `beta` before 2019; the reader takes both.

Source: Hugging Face `BertForPreTraining` and the other `Bert...` classes; SpanBERT models/pair_bert.py for
`cls.pair_target_predictions.*` (FAMILY section 2).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from spanwise.interop.family import Activation, Architecture, Family, refuse_unless
from spanwise.interop.key_map import KeyMap, LayerPart, Line, layer_lines
from spanwise.nn.config import EncoderConfig

EMBEDDING_TABLES = (
    ("word", "word_embeddings"),
    ("position", "position_embeddings"),
    ("token_type", "token_type_embeddings"),
)
LAYER = (
    LayerPart("attention.qkv", ("attention.self.query", "attention.self.key", "attention.self.value")),
    LayerPart("attention.output", ("attention.output.dense",)),
    LayerPart("attention.residual.norm", ("attention.output.LayerNorm",)),
    LayerPart("feed_forward.up", ("intermediate.dense",)),
    LayerPart("feed_forward.down", ("output.dense",)),
    LayerPart("feed_forward.residual.norm", ("output.LayerNorm",)),
)
SETTINGS = {
    "vocab_size": "vocab_size",
    "hidden_size": "hidden_size",
    "num_layers": "num_hidden_layers",
    "num_heads": "num_attention_heads",
    "intermediate_size": "intermediate_size",
    "max_positions": "max_position_embeddings",
    "num_token_types": "type_vocab_size",
    "norm_eps": "layer_norm_eps",
    "hidden_dropout": "hidden_dropout_prob",
    "attention_dropout": "attention_probs_dropout_prob",
    "initializer_range": "initializer_range",
}
DEFAULTS = {
    "max_positions": 512,
    "num_token_types": 2,
    "norm_eps": 1e-12,
    "hidden_dropout": 0.1,
    "attention_dropout": 0.1,
    "initializer_range": 0.02,
}
ACTIVATIONS: dict[str, Activation] = {
    "gelu": "gelu",
    "gelu_pytorch_tanh": "gelu_tanh",
    "gelu_new": "gelu_tanh",
    "gelu_fast": "gelu_tanh",
    "gelu_accurate": "gelu_tanh",
    "gelu_python": "gelu",
    "gelu_tanh": "gelu_tanh",
}
ONLY = {"position_embedding_type": "absolute", "add_cross_attention": False, "pruned_heads": {}}


def linear(ours: str, theirs: str) -> tuple[Line, Line]:
    """Weight and bias of a linear layer or LayerNorm; ours may be "" for a head that is one."""
    front = f"{ours}." if ours else ""
    return Line(f"{front}weight", f"{theirs}.weight"), Line(f"{front}bias", f"{theirs}.bias")


def stock_settings(config: EncoderConfig) -> dict[str, Any]:
    """What the class needs that our values say otherwise: at least one token type, and a decoder where causal."""
    return {
        "type_vocab_size": max(1, config.num_token_types),
        **({"is_decoder": True} if config.causal else {}),
    }


def embedding_lines(config: EncoderConfig, root: str) -> tuple[tuple[Line, ...], dict[str, Tensor]]:
    """Lines of the tables and their norm below `root`, and the table of zeros that stands for no token types."""
    lines = [
        Line(f"embeddings.{ours}.weight", f"{root}embeddings.{theirs}.weight") for ours, theirs in EMBEDDING_TABLES
    ]
    fillers = {}
    if config.num_token_types == 0:
        lines.pop()
        fillers = {f"{root}embeddings.token_type_embeddings.weight": torch.zeros(1, config.embedding_width)}
    return (*lines, *linear("embeddings.norm", f"{root}embeddings.LayerNorm")), fillers


HEADS = {
    "mlm": (
        Line("bias", "cls.predictions.bias"),
        *linear("dense", "cls.predictions.transform.dense"),
        *linear("norm", "cls.predictions.transform.LayerNorm"),
    ),
    "nsp": linear("", "cls.seq_relationship"),
    "sbo": (
        Line("bias", "cls.pair_target_predictions.bias"),
        Line("positions.weight", "cls.pair_target_predictions.position_embeddings.weight"),
        *linear("linear1", "cls.pair_target_predictions.mlp_layer_norm.linear1"),
        Line("norm1.weight", "cls.pair_target_predictions.mlp_layer_norm.layer_norm1.gamma"),
        Line("norm1.bias", "cls.pair_target_predictions.mlp_layer_norm.layer_norm1.beta"),
        *linear("linear2", "cls.pair_target_predictions.mlp_layer_norm.linear2"),
        Line("norm2.weight", "cls.pair_target_predictions.mlp_layer_norm.layer_norm2.gamma"),
        Line("norm2.bias", "cls.pair_target_predictions.mlp_layer_norm.layer_norm2.beta"),
    ),
    "qa": linear("linear", "qa_outputs"),
    "classification": linear("out", "classifier"),
    "tagging": linear("out", "classifier"),
    "multiple_choice": linear("out", "classifier"),
}


def key_map(config: EncoderConfig, settings: Mapping[str, Any]) -> KeyMap:
    """All lines for an encoder of this shape."""
    embeddings, fillers = embedding_lines(config, "bert.")
    layers, repeats = layer_lines(config, LAYER, lambda i: f"bert.encoder.layer.{i}")
    return KeyMap(
        encoder=embeddings + layers,
        pooler=linear("pooler.dense", "bert.pooler.dense"),
        heads=HEADS,
        copies={
            "cls.predictions.decoder.weight": "bert.embeddings.word_embeddings.weight",
            "cls.predictions.decoder.bias": "cls.predictions.bias",
            "cls.pair_target_predictions.decoder.weight": "bert.embeddings.word_embeddings.weight",
        },
        buffers=frozenset({"bert.embeddings.position_ids", "bert.embeddings.token_type_ids"}),
        root="bert.",
        bare=("embeddings.", "encoder.", "pooler."),
        repeats=repeats,
        fillers=fillers,
    )


def refusal(config: EncoderConfig, pad_id: int | None) -> str | None:
    if config.is_factorised:
        return f"embedding_size = {config.embedding_size}"
    return refuse_unless(config, position_offset=0, embedding_norm=True)


FAMILY = Family(
    model_type="bert",
    label="BERT",
    settings=SETTINGS,
    defaults=DEFAULTS,
    activations=ACTIVATIONS,
    only=ONLY,
    read_settings=lambda settings: {"causal": bool(settings.get("is_decoder", False))},
    write_settings=lambda config, pad_id: {"position_embedding_type": "absolute"} | stock_settings(config),
    refusal=refusal,
    key_map=key_map,
    architectures={
        "BertForQuestionAnswering": Architecture(
            kind="task", heads=("qa",), auto="AutoModelForQuestionAnswering", pipeline="question-answering"
        ),
        "BertForSequenceClassification": Architecture(
            kind="task",
            heads=("classification",),
            pooler=True,
            auto="AutoModelForSequenceClassification",
            pipeline="text-classification",
        ),
        "BertForTokenClassification": Architecture(
            kind="task", heads=("tagging",), auto="AutoModelForTokenClassification", pipeline="token-classification"
        ),
        "BertForMultipleChoice": Architecture(
            kind="task", heads=("multiple_choice",), pooler=True, auto="AutoModelForMultipleChoice"
        ),
        "BertForPreTraining": Architecture(
            kind="pretraining", heads=("mlm", "nsp"), pooler=True, auto="AutoModelForPreTraining"
        ),
        "BertForMaskedLM": Architecture(
            kind="language_model", heads=("mlm",), auto="AutoModelForMaskedLM", pipeline="fill-mask"
        ),
        "BertForNextSentencePrediction": Architecture(
            kind="language_model", heads=("nsp",), pooler=True, auto="AutoModelForNextSentencePrediction"
        ),
        "BertModel": Architecture(kind="encoder", auto="AutoModel"),
    },
    forms={"classification": "pooled", "multiple_choice": "pooled"},
)
