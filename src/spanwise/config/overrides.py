"""`path=value`: change the values of a recipe, never its parts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, get_args, get_type_hints

from spanwise.config.parts import field_names, is_part, make_part
from spanwise.config.plain_yaml import load_plain
from spanwise.errors import ConfigError
from spanwise.runtime.suggest import did_you_mean


def override(recipe: Any, assignments: Iterable[str]) -> Any:
    """A copy of `recipe` with each `a.b=value` applied in order; the recipe itself is unchanged.

    A value is read as a YAML scalar or list (`0.3`, `1e-4`, `true`, `null`, `[1, 2]`, `text`) and checked against the
    type of its field.
    Raises: ConfigError for an unknown path (with the nearest name), a path that is a part, or a wrong value.
    """
    for assignment in assignments:
        path, equals, text = assignment.partition("=")
        if not equals or not path.strip():
            raise ConfigError(f"{assignment!r} is not of the form path=value, such as masking.p=0.3.")
        recipe = _set(recipe, path.strip().split("."), text.strip(), "", recipe)
    return recipe


def paths_of(value: Any, prefix: str = "") -> list[str]:
    """Every path of `value` that can be set."""
    if is_part(value):
        inner = [(name, getattr(value, name)) for name in field_names(type(value))]
    elif isinstance(value, Mapping):
        inner = list(value.items())
    else:
        return [prefix]
    return [path for name, held in inner for path in paths_of(held, f"{prefix}.{name}" if prefix else name)]


def _set(owner: Any, steps: list[str], text: str, path: str, root: Any) -> Any:
    """`owner` with the value at `steps` replaced; `path` is where `owner` stands in `root`."""
    name, rest = steps[0], steps[1:]
    here = f"{path}.{name}" if path else name
    names = field_names(type(owner)) if is_part(owner) else list(owner) if isinstance(owner, Mapping) else []
    if not names:
        raise ConfigError(f"{path} is a single value; {'.'.join([path, *steps])} does not exist.")
    if name not in names:
        raise ConfigError(_unknown(".".join([path, *steps]).lstrip("."), here, names, path, root))
    held = getattr(owner, name) if is_part(owner) else owner[name]
    if rest:
        changed = _set(held, rest, text, here, root)
    elif is_part(held) or isinstance(held, Mapping):
        raise ConfigError(
            f"{here} is a part with values of its own; set those: {', '.join(paths_of(held, here)) or '(it has none)'}."
        )
    else:
        changed = _parse(text, here)
    if not is_part(owner):
        return {**owner, name: changed if rest else _like(held, changed, here)}
    fields = {field: getattr(owner, field) for field in field_names(type(owner))}
    if rest:
        return make_part(type(owner), {**fields, name: changed}, path)
    hint = get_type_hints(type(owner)).get(name, Any)
    if isinstance(changed, bool) and hint is not bool and bool not in get_args(hint):
        changed = text  # else `true` would pass as the number 1
    try:
        return make_part(type(owner), {**fields, name: changed}, path)
    except ConfigError:
        if changed == text or not isinstance(changed, bool | int | float) or str not in (hint, *_leaves(hint)):
            raise
        return make_part(type(owner), {**fields, name: text}, path)


def _leaves(hint: Any) -> list[Any]:
    """The types a union or Literal is made of; a Literal's texts count as `str`."""
    return [type(leaf) if isinstance(leaf, str) else leaf for leaf in get_args(hint)]


def _parse(text: str, path: str) -> Any:
    if len(text) > 65_536:
        raise ConfigError(f"{path}: a value of {len(text):,} characters is too long to be one.")
    try:
        value = load_plain(text)
    except ConfigError:
        return text
    if isinstance(value, dict):
        raise ConfigError(f"{path} cannot be {text!r}; values are set one by one, as {path}.name=value.")
    return value


def _like(held: Any, value: Any, path: str) -> Any:
    """A value of a plain mapping keeps the type it had."""
    if held is None or type(value) is type(held) or (isinstance(held, float) and type(value) is int):
        return value
    if isinstance(held, float) and isinstance(value, str):
        try:
            return float(value)
        except ValueError:
            pass
    raise ConfigError(f"{path} cannot be {value!r}; expected a value like {held!r}.")


def _unknown(full: str, here: str, names: list[str], path: str, root: Any) -> str:
    beside = [f"{path}.{name}".lstrip(".") for name in names]
    suggestion = did_you_mean(here, beside) or did_you_mean(full, paths_of(root))
    return f"{here} is unknown: {path or 'the recipe'} has {', '.join(names)}.{suggestion}"
