"""A recipe as plain JSON and back, and what two recipes differ in."""

import enum
import math
import os
import sys
import types
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from spanwise.config.parts import field_names, is_ours, is_part, is_part_class, make_part
from spanwise.errors import ConfigError
from spanwise.runtime.suggest import did_you_mean

ABSENT = "(not set)"  # stands in a difference for a path that one side has not


def class_name(cls: type) -> str:
    """Return how a record names a class: its literal name where it is one of ours, `module:Class` where it is a
    user's."""
    if is_ours(cls) and "part_name" in vars(cls):
        return vars(cls)["part_name"]
    return f"{cls.__module__}:{cls.__qualname__}"


def to_record(value: object) -> Any:
    """Return plain JSON for a recipe, part or value: `{"part": name, field: value, ...}`.

    Raises: ConfigError for a value that JSON cannot keep (an open file, a lambda, not-a-number).
    """
    return _to_record(value, "")


def _to_record(value: object, path: str) -> Any:
    if value is None or (isinstance(value, bool | int | str) and not isinstance(value, enum.Enum)):
        if isinstance(value, str) and not value.isascii():
            _check_text(value, path)
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ConfigError(f"{path or 'value'} is {value}; a recipe holds finite numbers only.")
        return value
    if is_part(value):
        fields = {name: _to_record(getattr(value, name), f"{path}.{name}") for name in field_names(type(value))}
        return {"part": class_name(type(value)), **fields}
    if isinstance(value, Mapping):
        if "part" in value or "function" in value or not all(isinstance(key, str) for key in value):
            raise ConfigError(f"{path}: names must be text, and neither 'part' nor 'function'; got {list(value)}.")
        return {key: _to_record(inner, f"{path}.{key}") for key, inner in value.items()}
    if isinstance(value, tuple | list):
        return [_to_record(inner, f"{path}[{index}]") for index, inner in enumerate(value)]
    if isinstance(value, enum.Enum):
        return _to_record(value.value, path)
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, np.generic):
        return _to_record(value.item(), path)
    if isinstance(value, types.FunctionType) and "<" not in value.__qualname__:
        return {"function": f"{value.__module__}:{value.__qualname__}"}
    raise ConfigError(
        f"{path.lstrip('.') or 'value'} is {value!r}, which a recipe cannot record. "
        "Use a dataclass, a plain value, or a function defined at the top of a module."
    )


def _check_text(text: str, path: str) -> None:
    """Refuse what no file can hold; JSON can spell it, so that labels and names of a data set may have it."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ConfigError(
            f"{path.lstrip('.') or 'value'} is {text!r}, which holds half a surrogate pair at character {error.start}; "
            "correct the text that it comes from."
        ) from None


def from_record(record: object, types: Iterable[type] = ()) -> Any:
    """Build what `to_record` wrote.

    `types` are the classes a record may name. A `module:Class` that is not among them is taken only from a module
    that is already imported: reading a record never runs code.
    Raises: ConfigError naming the path, with the nearest name.
    """
    known = {class_name(cls): cls for cls in types}
    return _from_record(record, known, "")


def _from_record(record: object, known: dict[str, type], path: str) -> Any:
    if isinstance(record, Mapping) and "function" in record:
        return _imported(record["function"], path)
    if isinstance(record, Mapping) and "part" in record:
        cls = known.get(record["part"])
        if cls is None and ":" in str(record["part"]):
            cls = _imported(record["part"], path)
        if cls is None or not is_part_class(cls):
            raise ConfigError(
                f"{path or 'record'} names part {record['part']!r}, which is unknown."
                f"{did_you_mean(str(record['part']), known)}"
            )
        inner = {
            name: _from_record(value, known, f"{path}.{name}".lstrip("."))
            for name, value in record.items()
            if name != "part"
        }
        return make_part(cls, inner, path)
    if isinstance(record, Mapping):
        return {name: _from_record(value, known, f"{path}.{name}".lstrip(".")) for name, value in record.items()}
    if isinstance(record, list):
        return tuple(_from_record(value, known, f"{path}[{index}]") for index, value in enumerate(record))
    return record


def _imported(name: object, path: str) -> Any:
    module, _, inner = str(name).partition(":")
    found: Any = sys.modules.get(module)
    for step in inner.split("."):
        found = getattr(found, step, None)
    if found is None:
        raise ConfigError(f"{path or 'record'} names {name!r}, which is not loaded. Import {module} first.")
    return found


def flatten(record: object, path: str = "") -> dict[str, Any]:
    """`{"masking.p": 0.2, "masking.part": ...}`: one entry per leaf. Lists are leaves."""
    if isinstance(record, Mapping):
        flat: dict[str, Any] = {}
        for name, value in record.items():
            flat |= flatten(value, f"{path}.{name}" if path else name)
        return flat
    return {path: record}


def difference(a: object, b: object) -> list[tuple[str, Any, Any]]:
    """Return every path where two recipes (or their records) differ, as (path, value in a, value in b)."""
    left, right = flatten(_as_record(a)), flatten(_as_record(b))
    paths = list(dict.fromkeys([*left, *right]))
    return [
        (path, left.get(path, ABSENT), right.get(path, ABSENT))
        for path in paths
        if path not in left or path not in right or not _same(left[path], right[path])
    ]


def _as_record(value: object) -> Any:
    return to_record(value) if is_part(value) or not isinstance(value, Mapping) else value


def _same(a: object, b: object) -> bool:
    return a == b and isinstance(a, bool) == isinstance(b, bool)
