"""`spanwise.json`: what a folder of ours is, the SHA-256 of its weights, and what config.json has no key for."""

import re
from collections.abc import Collection, Mapping
from dataclasses import fields, replace
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from spanwise.config.parts import config_error
from spanwise.errors import CheckpointError, ConfigError
from spanwise.interop.json_files import JsonObject, Settings, read_json_object, write_json
from spanwise.interop.tensor_files import CHANGES, HEADS, SAFETENSORS, TASKS
from spanwise.nn.config import EncoderConfig
from spanwise.nn.heads.kind import FORMS, SequenceForm
from spanwise.runtime.files import MANIFEST_NAME, edited_files, is_listed, sha256_of
from spanwise.weights.learned_from import LEARNED_FROM, Learned

FORMAT_VERSION = 1
RECORD = "spanwise.json"
OWN_HEADS = "own_heads"  # heads that this package does not define: {name: {"class", "title", "labelled"}}
TASK_NAME = "[a-z][a-z0-9-]*"  # as tasks/registry.py has them
MANAGED = ("format_version", "architecture", "heads", "encoder", "tensor_files")  # written anew for every folder


_SHAPES: dict[str, TypeAdapter] = {  # of the values that are read again; other names may stand beside them
    "architecture": TypeAdapter(str),
    "heads": TypeAdapter(dict[str, str]),  # name -> the file it lies in
    "encoder": TypeAdapter(dict[str, object]),
    "forms": TypeAdapter(dict[str, str]),
    OWN_HEADS: TypeAdapter(dict[str, dict[str, object]]),
    "tensor_files": TypeAdapter(dict[str, dict[str, str]]),
    "task": TypeAdapter(dict[str, object]),
    "recipe": TypeAdapter(dict[str, object]),
    "finetuned": TypeAdapter(dict[str, object]),
    "dev_scores": TypeAdapter(dict[str, object]),
    LEARNED_FROM: TypeAdapter(list[Learned]),
}


def write_record(folder: Path, content: Settings) -> None:
    """Write the record of a folder whose weight files are there."""
    files = [name for name in (SAFETENSORS, HEADS) if (folder / name).exists()] + _files_of_tasks(folder)
    hashes = {name: {"sha256": sha256_of(folder / name)} for name in files}
    write_json(folder / RECORD, {**content, "format_version": FORMAT_VERSION, "tensor_files": hashes})


def read_record(folder: Path) -> JsonObject:
    """Read the record and compare it with the weight files; {} for a folder of others.

    Those of tasks must be there as they are listed; their content is compared when the task is read.
    Raises:
        CheckpointError: a weight file that is damaged, missing or not listed, or a record of another version.
    """
    path = folder / RECORD
    if not path.exists():
        if is_listed(folder, RECORD):  # without it the folder would be read with options that training did not choose
            raise CheckpointError(f"{path} is missing, though {MANIFEST_NAME} lists it. Copy the folder again.")
        return {}
    record = read_entries(path, _SHAPES)
    listed = record.get("tensor_files", {})
    for name in dict.fromkeys([SAFETENSORS, HEADS, *map(changes_file, tasks_of(record)), *_files_of_tasks(folder)]):
        is_there = (folder / name).exists()
        if name not in listed and is_there:
            raise CheckpointError(f"{folder / name} is not listed in {path.name}; it does not belong to this folder.")
        if name in listed and not is_there:
            raise CheckpointError(f"{folder / name} is missing, though {path.name} lists it. Copy the folder again.")
        if name in listed and name in (SAFETENSORS, HEADS):
            check_sha256(folder, name, record)
    return record


def read_entries(path: Path, shapes: Mapping[str, TypeAdapter]) -> JsonObject:
    """Read a record of ours. Raises: CheckpointError for one of another version, or an entry of another shape."""
    record = read_json_object(path)
    if record.get("format_version") != FORMAT_VERSION:
        raise CheckpointError(
            f"{path} has format_version {record.get('format_version')!r}; this version reads {FORMAT_VERSION}."
        )
    for name, shape in shapes.items():
        try:
            if name in record:
                shape.validate_python(record[name])
        except ValidationError as error:
            raise CheckpointError(f"{path}: {config_error(error, name, [])} Copy the folder again.") from None
    return record


def check_sha256(folder: Path, name: str, record: Settings) -> None:
    """Compare a weight file with the record that lists it. Raises: CheckpointError."""
    if sha256_of(folder / name) != record["tensor_files"][name].get("sha256"):
        raise CheckpointError(
            f"{folder / name} is damaged: its SHA-256 is not the one in {RECORD}. Copy the folder again, or go "
            "back to an older checkpoint."
        )


def tasks_of(record: Settings) -> tuple[str, ...]:
    """Return the names of the tasks that a folder of ours has in `tasks/`, by its record."""
    found = [re.fullmatch(f"{TASKS}/({TASK_NAME})/{re.escape(CHANGES)}", n) for n in record.get("tensor_files", {})]
    return tuple(sorted(match[1] for match in found if match))


def changes_file(task: str) -> str:
    """Return the weight file of a task, as seen from the folder."""
    return f"{TASKS}/{task}/{CHANGES}"


def _files_of_tasks(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.glob(changes_file("*")))


def notes_of_edits(folder: Path, tasks: Collection[str] = ()) -> tuple[str, ...]:
    """Return sentences about files that were changed after the folder was written; weights have hashes in the
    record. tasks: those that the folder has."""
    return tuple(
        f"{name} was changed after this folder was written ({MANIFEST_NAME} has another SHA-256): if you did not "
        f"change it, copy the folder again; if you did, `spanwise convert {folder} NEW` writes a folder that agrees"
        for name in edited_files(folder, ("config.json", RECORD, *(f"{TASKS}/{task}/{RECORD}" for task in tasks)))
    )


def descriptions_of_heads(record: Settings) -> JsonObject:
    """Return what a record says of heads that no tensor says; whoever keeps the heads hands it on as `extra`."""
    return {name: record[name] for name in ("forms", OWN_HEADS) if name in record}


def with_recorded(config: EncoderConfig, record: Settings, folder: Path) -> EncoderConfig:
    """Return the configuration with what config.json has no key for."""
    lost = record.get("encoder", {})
    known = {field.name for field in fields(EncoderConfig)}
    if not isinstance(lost, Mapping) or not lost.keys() <= known:
        raise CheckpointError(f"{folder / RECORD}: 'encoder' names what no encoder has; write the folder again.")
    try:
        return replace(config, **lost)
    except (ConfigError, TypeError) as error:
        raise CheckpointError(f"{folder / RECORD}: {error}") from error


def recorded_forms(record: Settings) -> dict[str, SequenceForm]:
    """Return the forms of heads that read whole sequences, as a folder of ours says them."""
    forms = record.get("forms", {})
    return {name: form for name, form in forms.items() if form in FORMS} if isinstance(forms, Mapping) else {}
