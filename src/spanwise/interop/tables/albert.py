"""ALBERT in Hugging Face folders: factorised embeddings, layers in groups that share their weights.

Layer i of L uses group floor(i G / L) of G. One group is `sharing="all"`; as many groups as layers is "none". A sharing
in between, of attention or feed-forward alone, is written as one group a layer with equal weights; a folder of others
with 1 < G < L is read as "none", which computes the same and trains on without sharing.

The class of Hugging Face always has the product E -> D, also where E = D; Google's code and ours have none there, so
it is written as the identity, and nothing else is read.

Source: Hugging Face `AlbertForPreTraining` and the other `Albert...` classes; Lan et al. 2020, section 3.1.
"""

from dataclasses import replace

import torch

from spanwise.errors import ConfigError
from spanwise.interop.family import Activation, Architecture, EncoderLines, Family, usual_classes
from spanwise.interop.json_files import JsonObject, Settings
from spanwise.interop.key_map import LayerPart, Line, linear
from spanwise.interop.tables import bert
from spanwise.nn.config import EncoderConfig

LAYER = (
    LayerPart("attention.qkv", ("attention.query", "attention.key", "attention.value")),
    LayerPart("attention.output", ("attention.dense",)),
    LayerPart("attention.residual.norm", ("attention.LayerNorm",)),
    LayerPart("feed_forward.up", ("ffn",)),
    LayerPart("feed_forward.down", ("ffn_output",)),
    LayerPart("feed_forward.residual.norm", ("full_layer_layer_norm",)),
)
ACTIVATIONS: dict[str, Activation] = {"gelu_new": "gelu_tanh", **bert.ACTIVATIONS}
MAPPING = "albert.encoder.embedding_hidden_mapping_in"


def read_settings(settings: Settings) -> JsonObject:
    groups, layers = settings.get("num_hidden_groups", 1), settings["num_hidden_layers"]
    if isinstance(groups, bool) or not isinstance(groups, int) or not 1 <= groups <= layers:
        raise ConfigError(f"num_hidden_groups = {groups!r}; a number from 1 to num_hidden_layers was expected.")
    return {"sharing": "all" if groups == 1 else "none"}


def write_settings(config: EncoderConfig, pad_id: int | None) -> JsonObject:
    return {
        "embedding_size": config.embedding_width,
        "num_hidden_groups": 1 if config.sharing == "all" else config.num_layers,
        "inner_group_num": 1,
        "classifier_dropout_prob": config.hidden_dropout,
        **bert.stock_settings(config),
    }


def encoder(config: EncoderConfig, settings: Settings) -> EncoderLines:
    """Return the names of an encoder of this shape and the groups of `settings`."""
    groups = settings.get("num_hidden_groups", 1)

    def place(layer: int) -> str:
        group = layer * groups // config.num_layers
        return f"albert.encoder.albert_layer_groups.{group}.albert_layers.0"

    found = bert.encoder_lines(config, "albert.", layer=LAYER, place=place, projection=MAPPING)
    if config.is_factorised:
        return found
    identity = {f"{MAPPING}.weight": torch.eye(config.hidden_size), f"{MAPPING}.bias": torch.zeros(config.hidden_size)}
    return replace(found, fillers={**found.fillers, **identity})


ALBERT = Family(
    model_type="albert",
    label="ALBERT",
    settings=bert.SETTINGS | {"embedding_size": "embedding_size"},
    defaults=bert.DEFAULTS | {"hidden_dropout": 0.0, "attention_dropout": 0.0, "embedding_size": 128},
    computes=frozenset({"activation", "pooler", "sharing"}),
    activations=ACTIVATIONS,
    only=bert.ONLY | {"inner_group_num": 1},
    read_settings=read_settings,
    write_settings=write_settings,
    encoder=encoder,
    pooler=linear("pooler.dense", "albert.pooler"),
    heads={
        "mlm": (
            Line("bias", "predictions.bias"),
            *linear("dense", "predictions.dense"),
            *linear("norm", "predictions.LayerNorm"),
        ),
        "sop": linear("", "sop_classifier.classifier"),
        **bert.TASK_HEADS,
    },
    copies={
        "predictions.decoder.weight": "albert.embeddings.word_embeddings.weight",
        "predictions.decoder.bias": "predictions.bias",
    },
    root="albert.",
    bare=("embeddings.", "encoder.", "pooler."),
    architectures={
        **usual_classes("Albert"),
        "AlbertForPreTraining": Architecture(
            kind="pretraining", heads=("mlm", "sop"), pooler=True, auto="AutoModelForPreTraining"
        ),
    },
    forms={"classification": "pooled", "multiple_choice": "pooled"},
    has_sharing=True,
    names_borders=True,
)
