"""Hugging Face model folders, read and written without the `transformers` library.

A folder that we write holds exactly the tensors of the class that `architectures` names in model.safetensors, so
that this class loads with nothing missing and nothing unexpected. What the class has no name for stays in
heads.safetensors: the span boundary head always, the masked-LM head after fine-tuning, a pooler where it has no place.
`spanwise.json` says what the folder is, keeps the SHA-256 of both files, and what config.json has no key for.
"""

import math
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor

from spanwise.errors import CheckpointError
from spanwise.interop.auto.folders import read_auto_folder
from spanwise.interop.auto.model import is_other_kind
from spanwise.interop.checkpoint import Checkpoint, LoadReport
from spanwise.interop.checks import (
    check_class_settings,
    check_complete,
    check_shapes,
    check_sizes,
    check_tied,
    check_values,
)
from spanwise.interop.family import Architecture, Family
from spanwise.interop.folder_plan import FolderContent, Written, as_float32, as_type, plan_folder
from spanwise.interop.head_files import POOLER, own_names
from spanwise.interop.heads import KINDS, title_of, whole_heads
from spanwise.interop.json_files import JsonObject, Settings, read_json_object, write_json
from spanwise.interop.key_map import KeyMap, Translated
from spanwise.interop.model_card import write_model_card
from spanwise.interop.model_config import encoder_config, find_family, named_class, read_labels, read_problem_type
from spanwise.interop.record import (
    RECORD,
    notes_of_edits,
    read_record,
    recorded_forms,
    tasks_of,
    with_recorded,
    write_record,
)
from spanwise.interop.sources import find_folder
from spanwise.interop.tensor_files import HEADS, SAFETENSORS, StoredTensors, read_weights, write_safetensors
from spanwise.nn.config import EncoderConfig
from spanwise.runtime.disk import DISK
from spanwise.text.sentencepiece_files import KINDS as SENTENCEPIECE_FILES
from spanwise.weights.learned_from import learned_lines

TOKENIZER_FILES = ("tokenizer.json", "vocab.txt", "vocab.json", *SENTENCEPIECE_FILES)  # any of them
TOKENIZER_CONFIG = "tokenizer_config.json"


def read_folder(source: str | Path) -> Checkpoint:
    """Read a model folder, local or by hub id, whoever wrote it.

    Raises:
        CheckpointError: a folder that is missing, foreign, damaged or contradicts itself; names file and tensor.
    """
    folder = find_folder(source)
    config_path = folder / "config.json"
    settings = read_json_object(config_path)
    has_tokenizer = any((folder / name).exists() for name in TOKENIZER_FILES)
    if is_other_kind(settings):
        return read_auto_folder(folder, settings, has_tokenizer=has_tokenizer)
    family, config, record = _description(folder, settings, config_path)
    source_class = named_class(settings)
    architecture = family.architectures.get(source_class)
    if architecture is not None:
        check_class_settings(architecture, settings, config_path)
    stored = read_weights(folder)
    check_sizes(config, stored)
    key_map, class_heads = family.key_map(config, settings), architecture.heads if architecture else ()
    translated = _translated(stored, key_map, record, class_heads)
    config = replace(config, pooler=any(name.startswith("pooler.") for name in translated.encoder))
    check_tied(translated, key_map, stored)
    check_complete(translated, key_map, folder)
    check_shapes(translated, config, family, key_map, stored, recorded_forms(record))
    check_values(translated, key_map, stored)
    heads = _heads(translated, record, class_heads)
    return Checkpoint(
        folder=folder,
        config=config,
        tensors=as_float32(translated.encoder),
        heads=heads,
        source_class=source_class or next(name for name, one in family.architectures.items() if one.kind == "encoder"),
        tokenizer_folder=folder if has_tokenizer else None,
        report=LoadReport(
            missing=_lacking(architecture, key_map, heads, has_pooler=config.pooler),
            unexpected=translated.unexpected,
            notes=(*_notes(family, config, settings, heads), *notes_of_edits(folder, tasks_of(record))),
        ),
        model_type=family.model_type,
        labels=read_labels(settings),
        problem_type=read_problem_type(settings),
        record=record,
        role_ids=_role_ids(family, settings),
    )


def _description(folder: Path, settings: Settings, path: Path) -> tuple[Family, EncoderConfig, JsonObject]:
    """Return what config.json (at `path`) and spanwise.json say of a model: family, encoder values and record."""
    family, config = find_family(settings, path), encoder_config(settings, path)
    record = read_record(folder)
    config = with_recorded(config, record, folder)
    if (refused := family.refusal(config, None)) is not None:
        raise CheckpointError(
            f"{folder / RECORD} says {refused}, which {family.label} has not; write the folder again."
        )
    if stated := family.stated_forms(settings):
        record = {**record, "forms": {**stated, **recorded_forms(record)}}
    return family, config, record


def _translated(stored: StoredTensors, key_map: KeyMap, record: Settings, class_heads: Sequence[str]) -> Translated:
    """Return the tensors of a folder in our names, those of heads.safetensors among them."""
    own, others = own_names(stored, record.get("heads", {}))
    translated = key_map.to_ours(others, class_heads)
    translated.encoder.update(own.pop(POOLER, {}))
    translated.heads.update(own)
    return translated


def _heads(translated: Translated, record: Settings, class_heads: Sequence[str]) -> dict[str, dict[str, Tensor]]:
    """Return the heads of a folder that are whole, and those that have no tensors but the word table."""
    heads = whole_heads({name: as_float32(tensors) for name, tensors in translated.heads.items()})
    recorded = record.get("heads", {})
    for name in (*recorded, *class_heads):
        if name == "clm" or (name in recorded and name not in (*KINDS, POOLER)):
            heads.setdefault(name, {})
    return heads


def _lacking(
    architecture: Architecture | None, key_map: KeyMap, heads: Collection[str], *, has_pooler: bool
) -> tuple[str, ...]:
    """The tensors, under their names, that the class named by a folder has and the folder does not hold."""
    if architecture is None:
        return ()
    lines = [line for name in architecture.heads if name not in heads for line in key_map.heads[name]]
    if architecture.pooler and not has_pooler:
        lines.extend(key_map.pooler)
    return tuple(theirs for line in lines for theirs in line.theirs)


def write_folder(folder: Path, content: FolderContent, *, dtype: torch.dtype = torch.float32) -> Written:
    """Write a model folder, plainly; the caller makes it appear whole or not at all.

    dtype: of the numbers in the files; bfloat16 halves them and keeps 8 binary digits.

    Raises:
        ConfigError: a head whose name can't stand in files, an unknown architecture, or one that can't hold what it
        names.
    """
    encoder, tokenizer = content.encoder, content.tokenizer
    plan = plan_folder(folder, content)
    DISK.make_folders(folder)
    write_safetensors(as_type(plan.arranged.main, dtype), folder / SAFETENSORS)
    if plan.arranged.aside:
        write_safetensors(as_type(plan.arranged.aside, dtype), folder / HEADS)
    if tokenizer is not None:
        tokenizer.save(folder)
        _limit_length(folder / TOKENIZER_CONFIG, encoder.config.max_positions)
    write_json(folder / "config.json", {**plan.settings, "dtype": str(dtype).removeprefix("torch.")})
    write_record(folder, plan.record)
    write_model_card(
        folder / "README.md",
        encoder.config,
        plan.choice,
        {name: title_of(name, plan.record) for name in sorted(plan.arranged.places.keys() - {POOLER})},
        notes=(*content.facts, *plan.written.notes),
        has_tokenizer=tokenizer is not None,
        pipeline=content.pipeline,
        is_half=dtype == torch.bfloat16,
        learned=learned_lines(plan.record),
    )
    return plan.written


def _limit_length(path: Path, max_positions: int) -> None:
    """Make the tokenizer of a folder, which truncates for its users, leave no more tokens than there are positions."""
    if not path.exists():
        return
    settings = read_json_object(path)
    if not 0 < settings.get("model_max_length", math.inf) <= max_positions:
        write_json(path, {**settings, "model_max_length": max_positions})


def _notes(family: Family, config: EncoderConfig, settings: Settings, heads: Settings) -> tuple[str, ...]:
    """Say in sentences what a person should know of how a folder was read."""
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


def _role_ids(family: Family, settings: Settings) -> dict[str, int]:
    """Return the ids that config.json gives to special tokens beside the usual ones, by their roles."""
    named = {role: settings.get(key) for role, key in family.role_ids.items()}
    return {role: number for role, number in named.items() if isinstance(number, int)}
