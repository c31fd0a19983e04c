"""Encoders that no class of Hugging Face computes: our own names, under `model_type: spanwise`.

Such a folder loads with `spanwise.load` alone, and its card says so. Heads are all in heads.safetensors.
"""

from dataclasses import fields
from typing import get_type_hints

from spanwise.interop.family import Architecture, EncoderLines, Family
from spanwise.interop.json_files import JsonObject, Settings
from spanwise.interop.key_map import Line, linear
from spanwise.nn.config import EncoderConfig
from spanwise.nn.encoder import Encoder
from spanwise.runtime.outline import outline

NUMBERS = {name: name for name, hint in get_type_hints(EncoderConfig).items() if hint in (int, float)}
OTHERS = tuple(
    field.name for field in fields(EncoderConfig) if field.name not in (*NUMBERS, "activation", "pooler")
)  # tensors say whether there is a pooler


def read_settings(settings: Settings) -> JsonObject:
    return {name: settings[name] for name in OTHERS if name in settings}


def write_settings(config: EncoderConfig, pad_id: int | None) -> JsonObject:
    return {name: getattr(config, name) for name in OTHERS}


def encoder(config: EncoderConfig, settings: Settings) -> EncoderLines:
    """Return our names behind `encoder.`; a tensor that layers share stands once, under the name of its first visit."""
    with outline():
        names = [name for name, _ in Encoder(config).named_parameters()]
    return EncoderLines(lines=tuple(Line(name, f"encoder.{name}") for name in names if not name.startswith("pooler.")))


SPANWISE = Family(
    model_type="spanwise",
    label="spanwise",
    settings=NUMBERS,
    defaults={},
    activation_key="activation",
    activations={"gelu": "gelu", "gelu_tanh": "gelu_tanh", "silu": "silu"},
    read_settings=read_settings,
    write_settings=write_settings,
    encoder=encoder,
    pooler=linear("pooler.dense", "encoder.pooler.dense"),
    heads={},
    root="encoder.",
    bare=("embeddings.", "layers.", "final_norm.", "pooler."),
    architectures={"SpanwiseEncoder": Architecture(kind="encoder")},
    forms={"classification": "tanh", "multiple_choice": "tanh"},
    is_stock=False,
)
