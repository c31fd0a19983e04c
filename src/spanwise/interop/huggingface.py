"""Hugging Face model folders, read and written without the `transformers` library.

A folder that we write holds exactly the tensors of the class that `architectures` names in model.safetensors, so
that this class loads with nothing missing and nothing unexpected. What the class has no name for stays in
heads.safetensors: the span boundary head always, the masked-LM head after fine-tuning, a pooler where it has no place.
`spanwise.json` says what the folder is, keeps the SHA-256 of both files, and what config.json has no key for.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from spanwise.errors import CheckpointError, ConfigError
from spanwise.interop.architectures import Choice, GivenHead, choose_architecture, named_architecture
from spanwise.interop.checkpoint import Checkpoint, LoadReport, real_tensors
from spanwise.interop.checks import check_complete, check_shapes, check_tied, check_values
from spanwise.interop.family import Family
from spanwise.interop.heads import SIZED_BY, TITLES
from spanwise.interop.json_files import read_json_object
from spanwise.interop.key_map import KeyMap
from spanwise.interop.model_card import write_model_card
from spanwise.interop.model_config import config_record, encoder_config, find_family, lost_values, read_labels
from spanwise.interop.sources import find_folder
from spanwise.interop.tensor_files import (
    HEADS,
    SAFETENSORS,
    StoredTensors,
    read_weights,
    sha256_of,
    write_safetensors,
)
from spanwise.nn.config import EncoderConfig
from spanwise.nn.encoder import Encoder
from spanwise.nn.sequence_head import FORMS, SequenceHead

FORMAT_VERSION = 1
RECORD = "spanwise.json"
TOKENIZER_FILES = ("tokenizer.json", "vocab.txt")
LABELLED = ("classification", "tagging")  # heads whose number of scores config.json must say
POOLER = "pooler"


class SavesItself(Protocol):
    """What is asked of a tokenizer here. `cls_id` and `sep_id` are asked for too where a family names them."""

    pad_id: int

    def save(self, folder: Path) -> None: ...


@dataclass(frozen=True, kw_only=True)
class Written:
    """What a folder became: its class, and what this class has no place for."""

    model_type: str
    architecture: str
    beside: tuple[str, ...]  # heads (or "pooler") in heads.safetensors
    notes: tuple[str, ...] = ()  # a sentence each, for a person


def read_folder(source: str | Path) -> Checkpoint:
    """Read a model folder, local or by hub id, whoever wrote it.

    Raises:
        CheckpointError: a folder that is missing, foreign, damaged or contradicts itself; names file and tensor.
    """
    folder = find_folder(source)
    config_path = folder / "config.json"
    settings = read_json_object(config_path)
    family, config = find_family(settings, config_path), encoder_config(settings, config_path)
    record = _verified_record(folder)
    config = _with_recorded(config, record, folder)
    source_class = next(iter(settings.get("architectures") or ()), "")
    architecture = family.architectures.get(source_class)
    stored = read_weights(folder)

    key_map = family.key_map(config, settings)
    own, others = _own_names(stored)
    translated = key_map.to_ours(others, architecture.heads if architecture else ())
    config = replace(
        config, pooler=any(name.startswith("pooler.") for name in {**translated.encoder, **own.get(POOLER, {})})
    )
    translated.encoder.update(own.pop(POOLER, {}))
    translated.heads.update(own)
    forms = _recorded_forms(record)
    check_tied(translated, key_map, stored)
    check_complete(translated, key_map, folder)
    check_shapes(translated, config, family, key_map, stored, forms)
    check_values(translated, key_map, stored)

    heads = {name: _as_float32(tensors) for name, tensors in translated.heads.items()}
    if (architecture and "clm" in architecture.heads) or "clm" in record.get("heads", {}):
        heads["clm"] = {}  # it is the word table
    absent = [name for name in (architecture.heads if architecture else ()) if name not in heads]
    lacking = [theirs for name in absent for line in key_map.heads[name] for theirs in line.theirs]
    if architecture and architecture.pooler and not config.pooler:
        lacking += [theirs for line in key_map.pooler for theirs in line.theirs]
    return Checkpoint(
        folder=folder,
        config=config,
        tensors=_as_float32(translated.encoder),
        heads=heads,
        source_class=source_class or _bare_class(family),
        tokenizer_folder=folder if any((folder / name).exists() for name in TOKENIZER_FILES) else None,
        report=LoadReport(
            missing=tuple(lacking), unexpected=translated.unexpected, notes=_notes(family, config, settings, heads)
        ),
        model_type=family.model_type,
        labels=read_labels(settings),
        record=record,
    )


def write_folder(
    folder: Path,
    encoder: Encoder,
    heads: Mapping[str, nn.Module | Mapping[str, Tensor]],
    tokenizer: SavesItself | None = None,
    architecture: str | None = None,
    extra: Mapping[str, Any] | None = None,
    *,
    main_head: str | None = None,
    model_type: str | None = None,
    labels: Sequence[str] = (),
) -> Written:
    """Write a model folder, plainly; the caller makes it appear whole or not at all.

    heads: by name (interop/heads.py), as modules or as tensors in our names (as `Checkpoint.heads` has them).
    architecture: the Hugging Face class that model.safetensors is for. None: the one that holds `main_head`, or the
    most special that encoder and heads allow; among equals the one of `model_type`, such as the family of the
    checkpoint that the weights came from.
    extra: further entries of spanwise.json, for instance a task's labels and thresholds. labels: names of the scores
    of that class's classifier.

    Raises:
        ConfigError: an unknown head or architecture, or an architecture that can't hold what it names.
    """
    config = encoder.config
    unknown = sorted(heads.keys() - TITLES.keys())
    if unknown:
        raise ConfigError(f"No file format for the head {unknown[0]!r}; known: {', '.join(TITLES)}.")
    parts = {name: _tensors_of(head, config) for name, head in heads.items()}
    forms = {name: head.form for name, head in heads.items() if isinstance(head, SequenceHead)}
    tokens = _token_ids(tokenizer)
    pad_id = tokens.get("pad_token_id")
    given = {name: GivenHead(tensors=tensors.keys(), form=forms.get(name)) for name, tensors in parts.items()}
    if architecture is None:
        choice = choose_architecture(config, given, pad_id, main_head=main_head, model_type=model_type)
    else:
        choice = named_architecture(architecture, config, given, pad_id)
    family = choice.family
    num_labels = next(
        (parts[name][SIZED_BY[name]].shape[0] for name in LABELLED if name in choice.architecture.heads), None
    )
    settings = config_record(
        config,
        family,
        choice.name,
        tokens=tokens if family.names_borders else {k: v for k, v in tokens.items() if k == "pad_token_id"},
        num_labels=num_labels,
        labels=labels,
    )

    main, aside, places = _arrange(encoder, parts, choice, family.key_map(config, settings))
    folder.mkdir(parents=True, exist_ok=True)
    write_safetensors(main, folder / SAFETENSORS)
    if aside:
        write_safetensors(aside, folder / HEADS)
    if tokenizer is not None:
        tokenizer.save(folder)
    _write_json(folder / "config.json", settings)
    files = [name for name in (SAFETENSORS, HEADS) if (folder / name).exists()]
    lost = lost_values(config, settings, folder / "config.json")
    record = {
        **(extra or {}),
        "format_version": FORMAT_VERSION,
        "architecture": choice.name,
        "heads": dict(sorted(places.items())),
        **({"encoder": lost} if lost else {}),
        **({"forms": forms} if forms else {}),
        "tensor_files": {name: {"sha256": sha256_of(folder / name)} for name in files},
    }
    _write_json(folder / RECORD, record)
    beside = tuple(sorted(name for name, file in places.items() if file == HEADS))
    notes = _written_notes(config, choice, beside, lost)
    write_model_card(
        folder / "README.md",
        config,
        choice,
        sorted(parts),
        notes=notes,
        has_tokenizer=tokenizer is not None,
    )
    return Written(model_type=family.model_type, architecture=choice.name, beside=beside, notes=notes)


def _arrange(
    encoder: Encoder, parts: Mapping[str, Mapping[str, Tensor]], choice: Choice, key_map: KeyMap
) -> tuple[dict[str, Tensor], dict[str, Tensor], dict[str, str]]:
    """Tensors of model.safetensors, those of heads.safetensors, and the file of each head."""
    config, architecture = encoder.config, choice.architecture
    body = real_tensors(encoder, config.vocab_size)
    main = key_map.encoder_to_theirs(body)
    aside: dict[str, Tensor] = {}
    places: dict[str, str] = {}
    ambiguous = key_map.ambiguous_heads()
    for name, tensors in parts.items():
        inside = name in architecture.heads
        stock = name in key_map.heads and tensors.keys() == {line.ours for line in key_map.heads[name]}
        if inside or (stock and name not in ambiguous):
            named = key_map.head_to_theirs(name, tensors)
        else:
            named = {f"{name}.{ours}": tensor for ours, tensor in tensors.items()}
        (main if inside else aside).update(named)
        places[name] = SAFETENSORS if inside or not tensors else HEADS
    if config.pooler:
        inside = bool(key_map.pooler) and (architecture.pooler or architecture.kind == "encoder")
        named = key_map.pooler_to_theirs(body) or {name: body[name] for name in body if name.startswith("pooler.")}
        (main if inside else aside).update(named)
        if not inside:
            places[POOLER] = HEADS
    bare = architecture.kind == "encoder"
    return (key_map.without_root(main) if bare else main), aside, places


def _own_names(stored: StoredTensors) -> tuple[dict[str, dict[str, Tensor]], dict[str, Tensor]]:
    """Heads that heads.safetensors has under our own names (`classification.out.weight`), and all other tensors."""
    own: dict[str, dict[str, Tensor]] = {}
    others: dict[str, Tensor] = {}
    for name, tensor in stored.tensors.items():
        head, _, rest = name.partition(".")
        if stored.files[name].name != HEADS or head not in (*TITLES, POOLER):
            others[name] = tensor
        else:
            own.setdefault(head, {})[name if head == POOLER else rest] = tensor
    return own, others


def _with_recorded(config: EncoderConfig, record: Mapping[str, Any], folder: Path) -> EncoderConfig:
    """The configuration with what config.json has no key for."""
    lost = record.get("encoder", {})
    known = {field.name for field in fields(EncoderConfig)}
    if not isinstance(lost, Mapping) or not lost.keys() <= known:
        raise CheckpointError(f"{folder / RECORD}: 'encoder' names what no encoder has; write the folder again.")
    try:
        return replace(config, **lost)
    except (ConfigError, TypeError) as error:
        raise CheckpointError(f"{folder / RECORD}: {error}") from error


def _recorded_forms(record: Mapping[str, Any]) -> dict[str, Any]:
    forms = record.get("forms", {})
    return {name: form for name, form in forms.items() if form in FORMS} if isinstance(forms, Mapping) else {}


def _notes(
    family: Family, config: EncoderConfig, settings: Mapping[str, Any], heads: Mapping[str, Any]
) -> tuple[str, ...]:
    """What a person should know of how a folder was read."""
    notes = []
    groups = settings.get("num_hidden_groups")
    if groups is not None and config.sharing == "none" and groups < config.num_layers:
        notes.append(
            f"{groups} groups are read as {config.num_layers} layers that no longer share their weights when trained"
        )
    for architecture in family.architectures.values():
        if architecture.only_gelu and config.activation != "gelu" and heads.keys() & set(architecture.heads):
            notes.append(
                f"the {architecture.heads[0]} head was trained with another GELU than it has here; scores differ by "
                "up to 1e-3"
            )
    return tuple(notes)


def _written_notes(
    config: EncoderConfig, choice: Choice, beside: tuple[str, ...], lost: Mapping[str, Any]
) -> tuple[str, ...]:
    """What a person should know of what was written."""
    notes = []
    if choice.reason is not None:
        notes.append(
            f"No class of Hugging Face computes this encoder ({choice.reason}); it loads with spanwise.load alone."
        )
    elif "sharing" in lost and config.sharing != "none":
        notes.append(
            f"{choice.name} knows no sharing of {config.sharing}: its layers hold equal weights, and spanwise.json "
            "remembers that they are one."
        )
    if beside:
        notes.append(f"{choice.name} has no place for {', '.join(beside)}; heads.safetensors keeps them.")
    return tuple(notes)


def _token_ids(tokenizer: SavesItself | None) -> dict[str, int | None]:
    """Ids that config.json may name; None where the tokenizer has no such token."""
    if tokenizer is None:
        return {}
    ids = {"pad_token_id": tokenizer.pad_id}
    for key, attribute in (("bos_token_id", "cls_id"), ("eos_token_id", "sep_id")):
        if hasattr(tokenizer, attribute):
            ids[key] = getattr(tokenizer, attribute)
    return {key: number if number >= 0 else None for key, number in ids.items()}


def _bare_class(family: Family) -> str:
    return next(name for name, architecture in family.architectures.items() if architecture.kind == "encoder")


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
