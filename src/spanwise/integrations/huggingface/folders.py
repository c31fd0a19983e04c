"""Folders of an encoder with its pre-training heads: the encoder as it saves itself, the heads beside it.

    config.json, model.safetensors    what encoder.save_pretrained writes: AutoModel loads it with nothing missing
    heads.safetensors                 the masked-LM and span-boundary heads, as spanwise.load and pipelines read them
    spanwise.json                     what the folder is: options of the heads, SHA-256 of both weight files

Heads have our own names (`sbo.linear1.weight`), which serve encoders of every family.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from spanwise.errors import CheckpointError, ConfigError
from spanwise.interop.auto.model import is_other_kind
from spanwise.interop.checkpoint import fill
from spanwise.interop.huggingface import read_folder
from spanwise.interop.json_files import read_json_object
from spanwise.interop.model_config import encoder_config
from spanwise.interop.record import RECORD, read_record, write_record
from spanwise.interop.tensor_files import HEADS, read_safetensors, write_safetensors

logger = logging.getLogger(__name__)

OPTIONS = "pretraining_options"  # of SpanBoundaryPretraining, in spanwise.json
SUM = "sbo_sum"  # a head that adds its inputs has shapes that no other reader knows


def write_heads(folder: Path, encoder: object, heads: Mapping[str, nn.Module], options: Mapping[str, object]) -> None:
    """Write the encoder, heads by name ("mlm", "sbo", "sbo_sum") and the record into a folder.

    Raises: ConfigError for an encoder that can't save itself.
    """
    if not hasattr(encoder, "save_pretrained"):
        raise ConfigError(
            f"{type(encoder).__name__} has no save_pretrained(); save model.state_dict() with torch or safetensors."
        )
    folder.mkdir(parents=True, exist_ok=True)
    encoder.save_pretrained(folder)
    tensors: dict[str, Tensor] = {}
    for name, head in heads.items():
        own = {f"{name}.{ours}": tensor.detach().to("cpu", torch.float32) for ours, tensor in head.state_dict().items()}
        tensors |= {ours: tensor.contiguous() for ours, tensor in own.items()}
    write_safetensors(tensors, folder / HEADS)
    places = dict.fromkeys(sorted(heads), HEADS)
    write_record(folder, {"architecture": type(encoder).__name__, "heads": places, OPTIONS: dict(options)})


def read_options(folder: Path) -> dict[str, Any]:
    """Return the options that a folder was saved with; {} for a folder of others."""
    options = read_record(folder).get(OPTIONS, {})
    if not isinstance(options, dict):
        raise CheckpointError(f"{folder / RECORD}: {OPTIONS!r} must be an object; write the folder again.")
    return options


def read_heads(folder: Path) -> dict[str, dict[str, Tensor]]:
    """Return the heads of a folder by name, in our names: ours, or those of a class that is read here.

    Raises: CheckpointError for damaged files.
    """
    heads = _heads_of_class(folder)
    if (folder / HEADS).exists():
        read_record(folder)  # compares the files with their hashes
        for name, tensor in read_safetensors(folder / HEADS).items():
            head, _, rest = name.partition(".")
            if head in ("mlm", "sbo", SUM):
                heads.setdefault(head, {})[rest] = tensor
    return heads


def _heads_of_class(folder: Path) -> dict[str, dict[str, Tensor]]:
    path = folder / "config.json"
    settings = read_json_object(path)
    try:
        if is_other_kind(settings):
            return dict(read_folder(folder).heads)
        encoder_config(settings, path)
    except CheckpointError:  # what tasks could not take (GPT-2, an unusual shape); our heads may still lie beside it
        return {}
    return dict(read_folder(folder).heads)


def fill_heads(heads: Mapping[str, nn.Module], stored: Mapping[str, Mapping[str, Tensor]], folder: Path) -> None:
    """Fill modules by name; one that the folder lacks stays as it is, which is logged.

    Raises: CheckpointError where shapes differ.
    """
    for name, head in heads.items():
        if name in stored:
            fill(head, stored[name], f"the {name} head of {folder}")
        else:
            logger.warning("%s has no %s head; it starts fresh.", folder, name)
