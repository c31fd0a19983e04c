"""JSON of other people, read strictly: no duplicate keys, no NaN, no bottomless nesting, no huge files. And ours."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from spanwise.errors import CheckpointError
from spanwise.runtime.disk import DISK
from spanwise.runtime.files import JsonObject
from spanwise.runtime.json_text import decode_json

Settings = Mapping[str, Any]
"""The content of a JSON file, such as config.json, where it is only read."""

MAX_BYTES = 16 << 20
MAX_DEPTH = 64


def read_json_object(path: Path) -> JsonObject:
    """Read one JSON object.

    Raises:
        CheckpointError: the file is missing, is not JSON, or is not a plain object; the message names it.
    """
    try:
        size = path.stat().st_size
        if size > MAX_BYTES:
            raise CheckpointError(f"{path} has {size} bytes; a file of settings has at most {MAX_BYTES}.")
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise CheckpointError(f"{path} is missing; a model folder needs it.") from error
    except (OSError, UnicodeDecodeError) as error:
        raise CheckpointError(f"{path} can't be read: {error}.") from error
    try:
        value = decode_json(text, is_strict=True)
        json.dumps(value, ensure_ascii=False).encode()  # half a surrogate pair, which nothing can write again, fails
        depth = _depth(value)
    except ValueError as error:
        raise CheckpointError(f"{path} is not valid JSON: {error}. Fetch or write the folder again.") from error
    if not isinstance(value, dict) or depth > MAX_DEPTH:
        raise CheckpointError(f"{path} must hold one JSON object, nested at most {MAX_DEPTH} deep.")
    return value


def write_json(path: Path, value: Settings) -> None:
    """Write one JSON object as people read it."""
    DISK.write_file(path, (json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode())


def _depth(value: Any) -> int:
    depth, level = 0, [value]
    while level:
        depth += 1
        level = [
            item
            for holder in level
            if isinstance(holder, dict | list)
            for item in (holder.values() if isinstance(holder, dict) else holder)
        ]
    return depth
