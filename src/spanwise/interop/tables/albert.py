"""ALBERT in Hugging Face folders: factorised embeddings, layers in groups that share their weights.

Layer i of L uses group floor(i G / L) of G. One group is `sharing="all"`; as many groups as layers is "none". A sharing
in between, of attention or feed-forward alone, is written as one group a layer with equal weights; a folder of others
with 1 < G < L is read as "none", which computes the same and trains on without sharing.

The class of Hugging Face always has the product E -> D, also where E = D; Google's code and ours have none there, so
it is written as the identity, and nothing else is read.

Source: Hugging Face `AlbertForPreTraining` and the other `Albert...` classes; Lan et al. 2020, section 3.1.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from spanwise.errors import ConfigError
from spanwise.interop.family import Activation, Architecture, Family, refuse_unless
from spanwise.interop.key_map import KeyMap, LayerPart, Line, layer_lines
from spanwise.interop.tables import bert
from spanwise.interop.tables.bert import embedding_lines, linear, stock_settings
from spanwise.nn.config import EncoderConfig

LAYER = (
    LayerPart("attention.qkv", ("attention.query", "attention.key", "attention.value")),
    LayerPart("attention.output", ("attention.dense",)),
    LayerPart("attention.residual.norm", ("attention.LayerNorm",)),
    LayerPart("feed_forward.up", ("ffn",)),
    LayerPart("feed_forward.down", ("ffn_output",)),
    LayerPart("feed_forward.residual.norm", ("full_layer_layer_norm",)),
)
HEADS = {
    "mlm": (
        Line("bias", "predictions.bias"),
        *linear("dense", "predictions.dense"),
        *linear("norm", "predictions.LayerNorm"),
    ),
    "sop": linear("", "sop_classifier.classifier"),
    "qa": linear("linear", "qa_outputs"),
    "classification": linear("out", "classifier"),
    "tagging": linear("out", "classifier"),
    "multiple_choice": linear("out", "classifier"),
}
ACTIVATIONS: dict[str, Activation] = {"gelu_new": "gelu_tanh", **bert.ACTIVATIONS}
MAPPING = "albert.encoder.embedding_hidden_mapping_in"


def read_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    groups, layers = settings.get("num_hidden_groups", 1), settings["num_hidden_layers"]
    if isinstance(groups, bool) or not isinstance(groups, int) or not 1 <= groups <= layers:
        raise ConfigError(f"num_hidden_groups = {groups!r}; a number from 1 to num_hidden_layers was expected.")
    return {"sharing": "all" if groups == 1 else "none"}


def write_settings(config: EncoderConfig, pad_id: int | None) -> dict[str, Any]:
    return {
        "embedding_size": config.embedding_width,
        "num_hidden_groups": 1 if config.sharing == "all" else config.num_layers,
        "inner_group_num": 1,
        "classifier_dropout_prob": config.hidden_dropout,
        **stock_settings(config),
    }


def key_map(config: EncoderConfig, settings: Mapping[str, Any]) -> KeyMap:
    """All lines for an encoder of this shape and the groups of `settings`."""
    groups = settings.get("num_hidden_groups", 1)

    def place(layer: int) -> str:
        group = layer * groups // config.num_layers
        return f"albert.encoder.albert_layer_groups.{group}.albert_layers.0"

    embeddings, fillers = embedding_lines(config, "albert.")
    if config.is_factorised:
        embeddings += linear("embeddings.projection", MAPPING)
    else:
        fillers |= _identity(config.hidden_size)
    layers, repeats = layer_lines(config, LAYER, place)
    return KeyMap(
        encoder=embeddings + layers,
        pooler=linear("pooler.dense", "albert.pooler"),
        heads=HEADS,
        copies={
            "predictions.decoder.weight": "albert.embeddings.word_embeddings.weight",
            "predictions.decoder.bias": "predictions.bias",
        },
        buffers=frozenset({"albert.embeddings.position_ids", "albert.embeddings.token_type_ids"}),
        root="albert.",
        bare=("embeddings.", "encoder.", "pooler."),
        repeats=repeats,
        fillers=fillers,
    )


def _identity(hidden_size: int) -> dict[str, Tensor]:
    return {f"{MAPPING}.weight": torch.eye(hidden_size), f"{MAPPING}.bias": torch.zeros(hidden_size)}


def refusal(config: EncoderConfig, pad_id: int | None) -> str | None:
    return refuse_unless(config, causal=False, position_offset=0, embedding_norm=True)


FAMILY = Family(
    model_type="albert",
    label="ALBERT",
    settings=bert.SETTINGS | {"embedding_size": "embedding_size"},
    defaults=bert.DEFAULTS | {"hidden_dropout": 0.0, "attention_dropout": 0.0, "embedding_size": 128},
    activations=ACTIVATIONS,
    only=bert.ONLY | {"inner_group_num": 1},
    read_settings=read_settings,
    write_settings=write_settings,
    refusal=refusal,
    key_map=key_map,
    architectures={
        "AlbertForQuestionAnswering": Architecture(
            kind="task", heads=("qa",), auto="AutoModelForQuestionAnswering", pipeline="question-answering"
        ),
        "AlbertForSequenceClassification": Architecture(
            kind="task",
            heads=("classification",),
            pooler=True,
            auto="AutoModelForSequenceClassification",
            pipeline="text-classification",
        ),
        "AlbertForTokenClassification": Architecture(
            kind="task", heads=("tagging",), auto="AutoModelForTokenClassification", pipeline="token-classification"
        ),
        "AlbertForMultipleChoice": Architecture(
            kind="task", heads=("multiple_choice",), pooler=True, auto="AutoModelForMultipleChoice"
        ),
        "AlbertForPreTraining": Architecture(
            kind="pretraining", heads=("mlm", "sop"), pooler=True, auto="AutoModelForPreTraining"
        ),
        "AlbertForMaskedLM": Architecture(
            kind="language_model", heads=("mlm",), auto="AutoModelForMaskedLM", pipeline="fill-mask"
        ),
        "AlbertModel": Architecture(kind="encoder", auto="AutoModel"),
    },
    forms={"classification": "pooled", "multiple_choice": "pooled"},
    has_sharing=True,
    names_borders=True,
)
