"""JSON that others wrote, decoded so that whatever is wrong with it is one kind of error."""

import hashlib
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

CHECKSUM = "checksum"  # the key of a record's own


def decode_json(text: str | bytes, *, is_strict: bool = False) -> Any:
    """Return the value that a JSON text holds; strictly, NaN, Infinity and repeated keys are errors too.

    Python's own decoder answers a file of thirty thousand opening brackets with a RecursionError, which is no
    ValueError, so that whoever catches what a damaged file can cause has to think of both. Here it is a ValueError too.
    Raises: ValueError (or its JSONDecodeError, which has a line and a column; or UnicodeDecodeError).
    """
    try:
        if is_strict:
            return json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=_without_repeated_keys)
        return json.loads(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    except ValueError as error:
        if type(error) is ValueError and "int_max_str_digits" in str(error):  # words for programmers
            raise ValueError(f"holds a number of more than {sys.get_int_max_str_digits():,} digits") from None
        raise


def object_or_empty(path: Path) -> dict[str, Any]:
    """Return the object in a JSON file; an empty one where there is none that can be read."""
    try:
        found = decode_json(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def checksum_of(record: Mapping[str, object]) -> str:
    """Return a hash of a record's values, which is the same whatever their order and layout in a file."""
    return hashlib.sha256(json.dumps(record, sort_keys=True).encode()).hexdigest()[:16]


def _refuse_constant(name: str) -> None:
    raise ValueError(f"holds {name}, which is not JSON; replace it by a number or null")


def _without_repeated_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) != len(pairs):
        names = [name for name, _ in pairs]
        repeated = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {repeated!r} stands twice in one object")
    return record
