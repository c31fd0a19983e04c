"""A YAML file of overrides: written with a comment beside every value, read back as `path=value`.

Such a file changes values only.
"""

import inspect
import io
import json
import textwrap
import tokenize
from collections.abc import Mapping
from typing import Any

from spanwise.config.parts import field_names, is_part
from spanwise.config.plain_yaml import load_plain
from spanwise.config.records import class_name, to_record
from spanwise.errors import ConfigError

_MAX_DEPTH = 32


def commented_yaml(recipe: object) -> str:
    """Return all values of `recipe` as YAML that a person can edit, each with its comment from the source."""
    return "\n".join([f"# {_summary(type(recipe))}", *_lines(recipe, 0)]) + "\n"


def _lines(value: Any, depth: int) -> list[str]:
    pad = "  " * depth
    comments = field_comments(type(value)) if is_part(value) else {}
    inner = {name: getattr(value, name) for name in field_names(type(value))} if is_part(value) else dict(value)
    lines = []
    for name, held in inner.items():
        comment = comments.get(name, "")
        if is_part(held):
            said = comment or _summary(type(held))
            below = _lines(held, depth + 1)
            colon = ":" if below else ": {}"
            lines.append(f"{pad}{name}{colon}  # {class_name(type(held))}: {said}".rstrip(": "))
            lines += below
        elif isinstance(held, Mapping):
            below = _lines(held, depth + 1)
            lines.append(f"{pad}{name}:{'' if below else ' {}'}" + (f"  # {comment}" if comment else ""))
            lines += below
        else:
            text = json.dumps(to_record(held), ensure_ascii=False)
            lines.append(f"{pad}{name}: {text}" + (f"  # {comment}" if comment else ""))
    return lines


def field_comments(cls: type) -> dict[str, str]:
    """Return the comment at the end of each field's line in the source of `cls` and its bases."""
    found: dict[str, str] = {}
    for base in reversed(cls.__mro__[:-1]):
        try:
            source = textwrap.dedent(inspect.getsource(base))
        except (OSError, TypeError):
            continue
        first = ""
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            if token.type == tokenize.NAME and not first and token.line.lstrip().startswith(f"{token.string}:"):
                first = token.string
            elif token.type == tokenize.COMMENT and first:
                found[first] = token.string.lstrip("# ").strip()
            elif token.type == tokenize.NEWLINE:
                first = ""
    return {name: comment for name, comment in found.items() if name in field_names(cls)}


def _summary(cls: type) -> str:
    own = vars(cls).get("__doc__") or ""
    line = own.strip().split("\n")[0]
    return (
        "" if line.startswith(f"{cls.__name__}(") else line
    )  # the text that `dataclass` writes by itself says nothing


def overrides_from_yaml(text: str) -> list[str]:
    """Return the `path=value` list of a YAML file, in its order.

    Raises: ConfigError for anything but nested names with plain values.
    """
    held = load_plain(text)
    if held is None:
        return []
    if not isinstance(held, Mapping):
        raise ConfigError(f"the YAML file must hold names with values, such as 'masking:\\n  p: 0.3'; got {held!r}.")
    return _assignments(held, "", 0)


def _assignments(held: Mapping[Any, Any], path: str, depth: int) -> list[str]:
    if depth > _MAX_DEPTH:
        raise ConfigError("the YAML file is nested too deeply.")
    found = []
    for name, value in held.items():
        here = f"{path}.{name}" if path else str(name)
        if isinstance(value, Mapping):
            found += _assignments(value, here, depth + 1)
        else:
            found.append(f"{here}={_scalar(value, here)}")
    return found


def _scalar(value: object, path: str) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ConfigError(
            f"{path} cannot be {value!r}; expected a number, a text, true, false, null or a list."
        ) from error
