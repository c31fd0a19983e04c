"""Folders of an encoder with its pre-training heads: the encoder as it saves itself, the heads beside it.

    config.json, model.safetensors    what encoder.save_pretrained writes: AutoModel loads it with nothing missing
    heads.safetensors                 the masked-LM and span-boundary heads, as spanwise.load and pipelines read them
    spanwise.json                     what the folder is: options of the heads, SHA-256 of both weight files

Heads of BERT-type encoders have the names of the released SpanBERT; those of other families our own (`sbo.bias`).
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from spanwise.errors import CheckpointError, ConfigError
from spanwise.interop.checkpoint import fill
from spanwise.interop.huggingface import read_folder
from spanwise.interop.json_files import read_json_object
from spanwise.interop.model_config import encoder_config
from spanwise.interop.record import FORMAT_VERSION, RECORD
from spanwise.interop.tables import bert
from spanwise.interop.tensor_files import HEADS, SAFETENSORS, read_safetensors, sha256_of, write_safetensors
from spanwise.runtime.files import write_text_atomic

logger = logging.getLogger(__name__)

OPTIONS = "pretraining_options"  # of SpanBoundaryPretraining, in spanwise.json
SUM = "sbo_sum"  # a head that adds its inputs has shapes that no other reader knows


def write_heads(folder: Path, encoder: Any, heads: Mapping[str, nn.Module], options: Mapping[str, Any]) -> None:
    """Write the encoder, heads by name ("mlm", "sbo", "sbo_sum") and the record into a folder.

    Raises: ConfigError for an encoder that can't save itself.
    """
    if not hasattr(encoder, "save_pretrained"):
        raise ConfigError(
            f"{type(encoder).__name__} has no save_pretrained(); save model.state_dict() with torch or safetensors."
        )
    folder.mkdir(parents=True, exist_ok=True)
    encoder.save_pretrained(folder)
    is_bert = getattr(getattr(encoder, "config", None), "model_type", None) == "bert"
    tensors: dict[str, Tensor] = {}
    for name, head in heads.items():
        theirs = _bert_names(name) if is_bert else {}
        own = {ours: tensor.detach().to("cpu", torch.float32) for ours, tensor in head.state_dict().items()}
        tensors |= {theirs.get(ours, f"{name}.{ours}"): tensor.contiguous() for ours, tensor in own.items()}
    write_safetensors(tensors, folder / HEADS)
    files = [name for name in (SAFETENSORS, HEADS) if (folder / name).exists()]
    record = {
        "architecture": type(encoder).__name__,
        "heads": dict.fromkeys(sorted(heads), HEADS),
        "tensor_files": {name: {"sha256": sha256_of(folder / name)} for name in files},
        OPTIONS: dict(options),
        "format_version": FORMAT_VERSION,
    }
    write_text_atomic(folder / RECORD, json.dumps(record, indent=2, ensure_ascii=False) + "\n")


def read_options(folder: Path) -> dict[str, Any]:
    """The options that a folder was saved with; {} for a folder of others."""
    path = folder / RECORD
    options = read_json_object(path).get(OPTIONS, {}) if path.exists() else {}
    if not isinstance(options, dict):
        raise CheckpointError(f"{path}: {OPTIONS!r} must be an object; write the folder again.")
    return options


def read_heads(folder: Path) -> dict[str, dict[str, Tensor]]:
    """The heads of a folder by name, in our names: ours, or those of a class of a family that we know.

    Raises: CheckpointError for damaged files.
    """
    path = folder / "config.json"
    try:
        encoder_config(read_json_object(path), path)
    except CheckpointError:  # a family that we don't know; it may still have our heads beside it
        heads: dict[str, dict[str, Tensor]] = {}
    else:
        heads = dict(read_folder(folder).heads)
    if (folder / HEADS).exists():
        _check_hash(folder)
        for name, tensor in read_safetensors(folder / HEADS).items():
            head, _, rest = name.partition(".")
            if head in ("mlm", "sbo", SUM):
                heads.setdefault(head, {})[rest] = tensor
    return heads


def _check_hash(folder: Path) -> None:
    record = read_json_object(folder / RECORD) if (folder / RECORD).exists() else {}
    expected = record.get("tensor_files", {}).get(HEADS, {}).get("sha256")
    if expected is not None and sha256_of(folder / HEADS) != expected:
        raise CheckpointError(f"{folder / HEADS} is damaged: its SHA-256 is not the one in {RECORD}. Copy it again.")


def fill_heads(heads: Mapping[str, nn.Module], stored: Mapping[str, Mapping[str, Tensor]], folder: Path) -> None:
    """Fill modules by name; one that the folder lacks stays as it is, which is logged.

    Raises: CheckpointError where shapes differ.
    """
    for name, head in heads.items():
        if name in stored:
            fill(head, stored[name], f"the {name} head of {folder}")
        else:
            logger.warning("%s has no %s head; it starts fresh.", folder, name)


def _bert_names(head: str) -> dict[str, str]:
    return {line.ours: line.theirs[0] for line in bert.HEADS.get(head, ())}
