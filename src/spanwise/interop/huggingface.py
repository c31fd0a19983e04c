"""Hugging Face model folders, read and written without the `transformers` library.

A folder that we write holds exactly the tensors of the class that `architectures` names in model.safetensors, so
that this class loads with nothing missing and nothing unexpected. What the class has no name for stays in
heads.safetensors: the span boundary head always, the masked-LM head after fine-tuning, a pooler where it has no place.
`spanwise.json` says what the folder is, keeps the SHA-256 of both files, and what config.json has no key for.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from spanwise.errors import ConfigError
from spanwise.interop.architectures import Choice, GivenHead, choose_architecture, named_architecture
from spanwise.interop.checkpoint import Checkpoint, LoadReport, real_tensors
from spanwise.interop.checks import check_complete, check_shapes, check_sizes, check_tied, check_values
from spanwise.interop.family import Family
from spanwise.interop.head_files import POOLER, Arranged, arrange, own_names
from spanwise.interop.heads import SIZED_BY, TITLES, joined, parted
from spanwise.interop.json_files import read_json_object, write_json
from spanwise.interop.model_card import write_model_card
from spanwise.interop.model_config import (
    config_record,
    encoder_config,
    find_family,
    lost_values,
    named_class,
    read_labels,
)
from spanwise.interop.record import notes_of_edits, read_record, recorded_forms, with_recorded, write_record
from spanwise.interop.sources import find_folder
from spanwise.interop.tensor_files import HEADS, SAFETENSORS, read_weights, write_safetensors
from spanwise.nn.config import EncoderConfig
from spanwise.nn.encoder import Encoder
from spanwise.nn.sequence_head import SequenceHead

TOKENIZER_FILES = ("tokenizer.json", "vocab.txt", "vocab.json", "spiece.model")  # any of them
TOKENIZER_CONFIG = "tokenizer_config.json"
LABELLED = ("classification", "tagging")  # heads whose number of scores config.json must say


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


@dataclass(frozen=True, kw_only=True)
class FolderPlan:
    """The content of a folder before it is written."""

    choice: Choice
    settings: dict[str, Any]  # of config.json
    arranged: Arranged
    record: dict[str, Any]  # of spanwise.json
    written: Written


def read_folder(source: str | Path) -> Checkpoint:
    """Read a model folder, local or by hub id, whoever wrote it.

    Raises:
        CheckpointError: a folder that is missing, foreign, damaged or contradicts itself; names file and tensor.
    """
    folder = find_folder(source)
    config_path = folder / "config.json"
    settings = read_json_object(config_path)
    family, config = find_family(settings, config_path), encoder_config(settings, config_path)
    record = read_record(folder)
    config = with_recorded(config, record, folder)
    source_class = named_class(settings)
    architecture = family.architectures.get(source_class)
    stored = read_weights(folder)
    check_sizes(config, stored)

    key_map = family.key_map(config, settings)
    own, others = own_names(stored)
    translated = key_map.to_ours(others, architecture.heads if architecture else ())
    translated.encoder.update(own.pop(POOLER, {}))
    translated.heads.update(own)
    config = replace(config, pooler=any(name.startswith("pooler.") for name in translated.encoder))
    check_tied(translated, key_map, stored)
    check_complete(translated, key_map, folder)
    check_shapes(translated, config, family, key_map, stored, recorded_forms(record))
    check_values(translated, key_map, stored)

    heads = joined({name: _as_float32(tensors) for name, tensors in translated.heads.items()})
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
            missing=tuple(lacking),
            unexpected=translated.unexpected,
            notes=(*_notes(family, config, settings, heads), *notes_of_edits(folder)),
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
    problem_type: str | None = None,
    facts: Sequence[str] = (),
    pipeline: str | None = None,
    kept: Mapping[str, Mapping[str, Tensor]] | None = None,
    dtype: torch.dtype = torch.float32,
) -> Written:
    """Write a model folder, plainly; the caller makes it appear whole or not at all.

    heads: by name (interop/heads.py), as modules or as tensors in our names (as `Checkpoint.heads` has them).
    architecture: the Hugging Face class that model.safetensors is for. None: the one that holds `main_head`, or the
    most special that encoder and heads allow; among equals the one of `model_type`, such as the family of the
    checkpoint that the weights came from.
    extra: further entries of spanwise.json, for instance a task's labels and thresholds. labels: names of the scores
    of that class's classifier. problem_type: what config.json calls its kind. facts: sentences for the model card.
    pipeline: the name of the pipeline that the card shows.
    kept: heads of earlier training, which have no say in the class and lie beside it.
    dtype: of the numbers in the files; bfloat16 halves them and keeps 8 binary digits.

    Raises:
        ConfigError: an unknown head or architecture, or an architecture that can't hold what it names.
    """
    plan = plan_folder(
        folder,
        encoder,
        heads,
        tokenizer,
        architecture,
        extra,
        main_head=main_head,
        model_type=model_type,
        labels=labels,
        problem_type=problem_type,
        kept=kept,
    )
    folder.mkdir(parents=True, exist_ok=True)
    write_safetensors(_as_type(plan.arranged.main, dtype), folder / SAFETENSORS)
    if plan.arranged.aside:
        write_safetensors(_as_type(plan.arranged.aside, dtype), folder / HEADS)
    if tokenizer is not None:
        tokenizer.save(folder)
        _limit_length(folder / TOKENIZER_CONFIG, encoder.config.max_positions)
    write_json(folder / "config.json", {**plan.settings, "dtype": str(dtype).removeprefix("torch.")})
    write_record(folder, plan.record)
    write_model_card(
        folder / "README.md",
        encoder.config,
        plan.choice,
        sorted(plan.arranged.places.keys() - {POOLER}),
        notes=(*facts, *plan.written.notes),
        has_tokenizer=tokenizer is not None,
        pipeline=pipeline,
        is_half=dtype == torch.bfloat16,
    )
    return plan.written


def plan_folder(
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
    problem_type: str | None = None,
    kept: Mapping[str, Mapping[str, Tensor]] | None = None,
) -> FolderPlan:
    """What `write_folder` would write, which may be said before hours of training. Arguments and errors are its own."""
    config = encoder.config
    kept = {name: tensors for name, tensors in (kept or {}).items() if name not in heads and tensors}
    unknown = sorted((heads.keys() | kept.keys()) - TITLES.keys())
    if unknown:
        raise ConfigError(f"No file format for the head {unknown[0]!r}; known: {', '.join(TITLES)}.")
    parts: dict[str, dict[str, Tensor]] = {}
    for name, head in heads.items():
        parts |= parted(name, _tensors_of(head, config))
    forms = {name: form for name, form in recorded_forms(extra or {}).items() if name in heads.keys() | kept.keys()}
    forms |= {name: head.form for name, head in heads.items() if isinstance(head, SequenceHead)}
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
        problem_type=problem_type,
    )
    for name, tensors in kept.items():
        parts |= parted(name, _as_float32(tensors))
    body = real_tensors(encoder, config.vocab_size)
    arranged = arrange(body, parts, choice.architecture, family.key_map(config, settings))
    lost = lost_values(config, settings, folder / "config.json")
    record = {
        **(extra or {}),
        "architecture": choice.name,
        "heads": dict(sorted(arranged.places.items())),
        **({"encoder": lost} if lost else {}),
        **({"forms": forms} if forms else {}),
    }
    beside = tuple(sorted(name for name, file in arranged.places.items() if file == HEADS))
    written = Written(
        model_type=family.model_type,
        architecture=choice.name,
        beside=beside,
        notes=_written_notes(config, choice, beside, lost),
    )
    return FolderPlan(choice=choice, settings=settings, arranged=arranged, record=record, written=written)


def _limit_length(path: Path, max_positions: int) -> None:
    """A tokenizer that truncates for its users must not leave more tokens than the encoder has positions."""
    if not path.exists():
        return
    settings = read_json_object(path)
    if not 0 < settings.get("model_max_length", math.inf) <= max_positions:
        write_json(path, {**settings, "model_max_length": max_positions})


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
    return _as_type(tensors, torch.float32)


def _as_type(tensors: Mapping[str, Tensor], dtype: torch.dtype) -> dict[str, Tensor]:
    return {name: tensor.to("cpu", dtype).contiguous() for name, tensor in tensors.items()}
