"""What weights learned from: every text and all labelled data, with source and licence, in `spanwise.json`.

    "learned_from": [{"file": "qa-train.json.xz", "what": "qa", "source": "SQuADShifts, ...", "licence": "CC BY 4.0",
                      "count": 6835, "unit": "questions"}, ...]

The list goes with the weights: whoever trains them further keeps it and adds to it, the earliest first. Weights without
a list, such as those of others, stand in it as one entry.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, Self

from spanwise.errors import ConfigError
from spanwise.runtime.files import JsonObject

LEARNED_FROM = "learned_from"  # the key of the record
NOT_STATED = "not stated"
HEADING = "## What it learned from"  # of the model card


@dataclass(frozen=True, kw_only=True)
class Origin:
    """What a person says of data that is learned from; `file` is its name where the path that is read says nothing."""

    licence: str = NOT_STATED
    source: str = NOT_STATED
    file: str | None = None

    def named(self, files: Sequence[str | Path]) -> Self:
        """Return the same with the names of several files as one, where it has no name of its own."""
        names = [name_of(file) for file in files]
        more = f" and {len(names) - 3} more" if len(names) > 3 else ""
        return replace(self, file=self.file or ", ".join(names[:3]) + more)


@dataclass(frozen=True, kw_only=True)
class Learned:
    """One entry: `what` is "text", "weights", or the task whose labels it holds; `count` is in `unit`."""

    file: str
    what: str
    source: str = NOT_STATED
    licence: str = NOT_STATED
    count: int | None = None
    unit: str = ""

    def __str__(self) -> str:
        number = "" if self.count is None else f", {self.count:,} {self.unit}"
        return f"{self.file} ({self.what}{number}). Licence: {self.licence}. Source: {self.source}."


def name_of(file: str | Path) -> str:
    """Return the last part of a path: where it lies on this machine is of no use to others."""
    return Path(file).name or str(file)


def origins_of(origins: Sequence[Origin], num_files: int, what: str) -> list[Origin]:
    """Return an origin per file: none given, one for all, or one for each.

    Raises: ConfigError for any other number; `what` names the files.
    """
    if len(origins) in (0, 1):
        return (list(origins) or [Origin()]) * num_files
    if len(origins) != num_files:
        raise ConfigError(
            f"{len(origins)} licences or sources came for {num_files} {what}; give one for all, or one for each."
        )
    return list(origins)


def learned_by(record: Mapping[str, Any], name: str) -> list[Learned]:
    """Return what the weights of a folder learned from, by its record (`Checkpoint.record`).

    name: how the folder was asked for; without a list it is one entry of its own.
    """
    listed = record.get(LEARNED_FROM)
    if isinstance(listed, list):
        return [_entry(one) for one in listed]
    return [Learned(file=name_of(name) if Path(name).exists() else name, what="weights")]


def as_record(entries: Sequence[Learned]) -> list[JsonObject]:
    """Return the list as the record holds it; what was learned from twice stands where it first stood."""
    return [asdict(entry) for entry in dict.fromkeys(entries)]


def learned_lines(record: Mapping[str, Any]) -> list[str]:
    """Return the list of a record as lines of a model card; none where it has no list."""
    listed = record.get(LEARNED_FROM)
    return [f"- {_entry(one)}" for one in listed] if isinstance(listed, list) else []


def _entry(record: Mapping[str, Any]) -> Learned:
    """One entry, without keys that a later version may have added."""
    return Learned(**{field.name: record[field.name] for field in fields(Learned) if field.name in record})
