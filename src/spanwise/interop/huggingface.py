"""Hugging Face model folders, read and written without the `transformers` library.

A folder that we write holds exactly the tensors of the class that `architectures` names in model.safetensors, so
that this class loads with nothing missing and nothing unexpected. What the class has no name for stays in
heads.safetensors: the span boundary head always, the masked-LM head after fine-tuning, a pooler where it has no place.
`spanwise.json` says what the folder is and keeps the SHA-256 of both files.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from spanwise.errors import CheckpointError, ConfigError
from spanwise.interop.checkpoint import Checkpoint, LoadReport, real_tensors
from spanwise.interop.checks import check_complete, check_shapes, check_tied, check_values
from spanwise.interop.json_files import read_json_object
from spanwise.interop.model_card import write_model_card
from spanwise.interop.model_config import config_record, encoder_config
from spanwise.interop.sources import find_folder
from spanwise.interop.tables import bert
from spanwise.interop.tensor_files import (
    HEADS,
    SAFETENSORS,
    read_weights,
    sha256_of,
    write_safetensors,
)
from spanwise.nn.config import EncoderConfig
from spanwise.nn.encoder import Encoder

FORMAT_VERSION = 1
RECORD = "spanwise.json"
TOKENIZER_FILES = ("tokenizer.json", "vocab.txt")


class SavesItself(Protocol):
    """What is asked of a tokenizer here."""

    pad_id: int

    def save(self, folder: Path) -> None: ...


def read_folder(source: str | Path) -> Checkpoint:
    """Read a BERT-type model folder, local or by hub id, whoever wrote it.

    Raises:
        CheckpointError: a folder that is missing, foreign, damaged or contradicts itself; names file and tensor.
    """
    folder = find_folder(source)
    config_path = folder / "config.json"
    settings = read_json_object(config_path)
    config = encoder_config(settings, config_path)
    record = _verified_record(folder)
    stored = read_weights(folder)

    key_map = bert.key_map(config)
    translated = key_map.to_ours(stored.tensors)
    check_tied(translated, stored)
    check_complete(translated, key_map, folder)
    config = replace(config, pooler="pooler.dense.weight" in translated.encoder)
    check_shapes(translated, config, key_map, stored)
    check_values(translated, key_map, stored)

    source_class = next(iter(settings.get("architectures") or ()), "BertModel")
    absent = [name for name in bert.ARCHITECTURES.get(source_class, ()) if name not in translated.heads]
    absent = [name for name in absent if name != "pooler" or not config.pooler]
    lines = {**key_map.heads, "pooler": key_map.pooler}
    lacking = [theirs for name in absent for line in lines[name] for theirs in line.theirs]
    return Checkpoint(
        folder=folder,
        config=config,
        tensors=_as_float32(translated.encoder),
        heads={name: _as_float32(tensors) for name, tensors in translated.heads.items()},
        source_class=source_class,
        tokenizer_folder=folder if any((folder / name).exists() for name in TOKENIZER_FILES) else None,
        report=LoadReport(missing=tuple(lacking), unexpected=translated.unexpected),
        record=record,
    )


def write_folder(
    folder: Path,
    encoder: Encoder,
    heads: Mapping[str, nn.Module | Mapping[str, Tensor]],
    tokenizer: SavesItself | None = None,
    architecture: str | None = None,
    extra: Mapping[str, Any] | None = None,
) -> None:
    """Write a model folder, plainly; the caller makes it appear whole or not at all.

    heads: "mlm", "sbo", "nsp", "qa" as modules, or as tensors in our names (as `Checkpoint.heads` has them).
    architecture: the Hugging Face class that model.safetensors is for (None: the fullest that the heads allow).
    extra: further entries of spanwise.json, for instance a task's labels and thresholds.

    Raises:
        ConfigError: an unknown head or architecture, or an architecture whose heads are not there.
    """
    config = encoder.config
    key_map = bert.key_map(config)
    parts = {name: _tensors_of(head, config) for name, head in heads.items()}
    unknown = sorted(parts.keys() - key_map.heads.keys())
    if unknown:
        raise ConfigError(f"No file format for the head {unknown[0]!r}; known: {', '.join(key_map.heads)}.")
    body = real_tensors(encoder, config.vocab_size)
    available = parts.keys() | ({"pooler"} if config.pooler else set())
    architecture = architecture or next(name for name, needs in bert.ARCHITECTURES.items() if available >= set(needs))
    needs = _needs(architecture, available)

    named = {name: key_map.head_to_theirs(name, tensors) for name, tensors in parts.items()}
    if config.pooler:
        named["pooler"] = key_map.pooler_to_theirs(body)
    main = key_map.encoder_to_theirs(body)
    inside = (*needs, "pooler") if architecture == "BertModel" else needs
    aside: dict[str, Tensor] = {}
    for name, tensors in named.items():
        (main if name in inside else aside).update(tensors)

    folder.mkdir(parents=True, exist_ok=True)
    write_safetensors(key_map.without_root(main) if architecture == "BertModel" else main, folder / SAFETENSORS)
    if aside:
        write_safetensors(aside, folder / HEADS)
    if tokenizer is not None:
        tokenizer.save(folder)
    _write_json(folder / "config.json", config_record(config, architecture, getattr(tokenizer, "pad_id", 0)))
    files = [name for name in (SAFETENSORS, HEADS) if (folder / name).exists()]
    record = {
        **(extra or {}),
        "format_version": FORMAT_VERSION,
        "architecture": architecture,
        "heads": {name: HEADS if named[name].keys() <= aside.keys() else SAFETENSORS for name in sorted(parts)},
        "tensor_files": {name: {"sha256": sha256_of(folder / name)} for name in files},
    }
    _write_json(folder / RECORD, record)
    write_model_card(folder / "README.md", config, architecture, sorted(parts), has_tokenizer=tokenizer is not None)


def _needs(architecture: str, available: set[str]) -> tuple[str, ...]:
    if architecture not in bert.ARCHITECTURES:
        raise ConfigError(f"Unknown architecture {architecture!r}; known: {', '.join(bert.ARCHITECTURES)}.")
    needs = bert.ARCHITECTURES[architecture]
    lacking = [name for name in needs if name not in available]
    if lacking:
        raise ConfigError(
            f"{architecture} needs {', '.join(lacking)}; given: {', '.join(sorted(available)) or 'none'}."
        )
    return needs


def _tensors_of(head: nn.Module | Mapping[str, Tensor], config: EncoderConfig) -> dict[str, Tensor]:
    if isinstance(head, nn.Module):
        return real_tensors(head, config.vocab_size)
    return _as_float32(head)


def _as_float32(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name: tensor.to("cpu", torch.float32).contiguous() for name, tensor in tensors.items()}


def _write_json(path: Path, value: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n", encoding="utf-8")


def _verified_record(folder: Path) -> dict[str, Any]:
    path = folder / RECORD
    if not path.exists():
        return {}
    record = read_json_object(path)
    if record.get("format_version") != FORMAT_VERSION:
        raise CheckpointError(
            f"{path} has format_version {record.get('format_version')!r}; this version reads {FORMAT_VERSION}."
        )
    for name in (SAFETENSORS, HEADS):
        expected = record.get("tensor_files", {}).get(name)
        is_there = (folder / name).exists()
        if expected is None and is_there:
            raise CheckpointError(f"{folder / name} is not listed in {path.name}; it does not belong to this folder.")
        if expected is None:
            continue
        if not is_there:
            raise CheckpointError(f"{folder / name} is missing, though {path.name} lists it. Copy the folder again.")
        if sha256_of(folder / name) != expected.get("sha256"):
            raise CheckpointError(
                f"{folder / name} is damaged: its SHA-256 is not the one in {path.name}. Copy the folder again, or go "
                "back to an older checkpoint."
            )
    return record
