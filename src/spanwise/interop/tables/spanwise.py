"""Encoders that no class of Hugging Face computes: our own names, under `model_type: spanwise`.

Such a folder loads with `spanwise.load` alone, and its card says so. Heads are all in heads.safetensors.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from spanwise.interop.family import Architecture, Family
from spanwise.interop.key_map import KeyMap, Line
from spanwise.nn.config import EncoderConfig
from spanwise.nn.encoder import Encoder
from spanwise.runtime.outline import outline

CHOSEN = ("activation", "pooler", "sharing", "causal", "embedding_norm", "embedding_size")
NUMBERS = {field.name: field.name for field in fields(EncoderConfig) if field.name not in CHOSEN}


def read_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {name: settings[name] for name in CHOSEN if name not in ("activation", "pooler") and name in settings}


def write_settings(config: EncoderConfig, pad_id: int | None) -> dict[str, Any]:
    return {name: getattr(config, name) for name in CHOSEN if name not in ("activation", "pooler")}


def key_map(config: EncoderConfig, settings: Mapping[str, Any]) -> KeyMap:
    """Our names behind `encoder.`; a tensor that layers share stands once, under the name of its first visit."""
    with outline():
        names = [name for name, _ in Encoder(config).named_parameters()]
    return KeyMap(
        encoder=tuple(Line(name, f"encoder.{name}") for name in names if not name.startswith("pooler.")),
        pooler=tuple(Line(f"pooler.dense.{kind}", f"encoder.pooler.dense.{kind}") for kind in ("weight", "bias")),
        heads={},
        copies={},
        buffers=frozenset(),
        root="encoder.",
        bare=("embeddings.", "layers.", "pooler."),
    )


FAMILY = Family(
    model_type="spanwise",
    label="spanwise",
    settings=NUMBERS,
    defaults={},
    activation_key="activation",
    activations={"gelu": "gelu", "gelu_tanh": "gelu_tanh"},
    read_settings=read_settings,
    write_settings=write_settings,
    refusal=lambda config, pad_id: None,
    key_map=key_map,
    architectures={"SpanwiseEncoder": Architecture(kind="encoder")},
    forms={"classification": "tanh", "multiple_choice": "tanh"},
    is_stock=False,
)
