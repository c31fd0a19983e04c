"""What the interop needs to know of one family of Hugging Face models. Each family is one file in `tables/`.

A family is data: how its `config.json` says what `EncoderConfig` says, how its tensors are named, which classes it has
and which heads each of them holds. Nothing outside `tables/` knows a family's name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from spanwise.interop.key_map import KeyMap
from spanwise.nn.config import EncoderConfig
from spanwise.nn.sequence_head import SequenceForm

Activation = Literal["gelu", "gelu_tanh"]
Kind = Literal["task", "pretraining", "language_model", "encoder"]
KINDS: tuple[Kind, ...] = ("encoder", "language_model", "pretraining", "task")  # from the least to the most special


@dataclass(frozen=True, kw_only=True)
class Architecture:
    """One class: the heads whose tensors its files hold, beside embeddings and layers."""

    kind: Kind
    heads: tuple[str, ...] = ()
    pooler: bool = False
    auto: str | None = None  # the Auto class that finds it
    pipeline: str | None = None  # the task's name on model hubs
    only_gelu: bool = False  # its head has the error-function GELU, whatever the encoder has
    settings: Mapping[str, Any] = field(default_factory=dict)  # of config.json, that its head is computed with


@dataclass(frozen=True, kw_only=True)
class Family:
    """One `model_type` of Hugging Face."""

    model_type: str
    label: str  # as people write it
    settings: Mapping[str, str]  # our field -> their key, for values that mean the same
    defaults: Mapping[str, Any]  # our values where their key is absent; those not named here are required
    constants: Mapping[str, Any] = field(default_factory=dict)  # our values that the family has no choice of
    activation_key: str = "hidden_act"
    activations: Mapping[str, Activation]  # their name -> ours; the first name of each is the one written
    only: Mapping[str, Any] = field(default_factory=dict)  # their settings of which one value is supported
    read_settings: Callable[[Mapping[str, Any]], dict[str, Any]] = lambda settings: {}
    write_settings: Callable[[EncoderConfig, int | None], dict[str, Any]] = lambda config, pad_id: {}
    refusal: Callable[[EncoderConfig, int | None], str | None]  # what of an encoder no class here computes
    key_map: Callable[[EncoderConfig, Mapping[str, Any]], KeyMap]  # of an encoder, and the content of config.json
    architectures: Mapping[str, Architecture]  # by class name, the most special first
    forms: Mapping[str, SequenceForm]  # of the heads that read whole sequences
    has_sharing: bool = False  # whether its files hold shared layers once
    is_stock: bool = True  # whether Hugging Face has its classes
    names_borders: bool = False  # whether config.json has ids of the first and last token whose defaults may be wrong


def refuse_unless(config: EncoderConfig, **values: Any) -> str | None:
    """The first of our values that is not what a family computes, in words; None where all agree."""
    for name, only in values.items():
        if getattr(config, name) != only:
            return f"{name} = {getattr(config, name)}"
    return None
