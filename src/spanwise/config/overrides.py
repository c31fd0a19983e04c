"""`path=value`: change the values of a recipe, never its parts."""

from collections.abc import Iterable, Mapping
from typing import Any, get_args

from spanwise.config.parts import field_names, field_types, is_part, make_part
from spanwise.config.plain_yaml import load_plain
from spanwise.errors import ConfigError
from spanwise.runtime.suggest import did_you_mean

_YAML_SIGNS = ("#", "|", ">", "&", "!")  # of comments, blocks, anchors and tags, which one value has no use for
Changes = dict[str, "str | Changes"]  # values as text by field, and the changes of inner parts


def override(recipe: object, assignments: Iterable[str]) -> Any:
    """Return a copy of `recipe` with each `a.b=value` applied; the recipe itself is unchanged.

    A value is read as a YAML scalar or list (`0.3`, `1e-4`, `true`, `null`, `[1, 2]`, `text`) and checked against the
    type of its field. The values of one part are set together, because some are only right together
    (`masking.lengths=poisson` with `masking.mean_words=3`); of two values for one path the later one holds.
    Raises: ConfigError for an unknown path (with the nearest name), a path that is a part, or a wrong value.
    """
    changes: Changes = {}
    for assignment in assignments:
        path, equals, text = assignment.partition("=")
        if not equals or not path.strip():
            raise ConfigError(f"{assignment!r} is not of the form path=value, such as masking.p=0.3.")
        *owners, name = path.strip().split(".")
        here = changes
        for owner in owners:
            inner = here.setdefault(owner, {})
            if isinstance(inner, str):
                raise ConfigError(f"{path.strip()} and {owner}={inner} contradict each other; leave one of them out.")
            here = inner
        if isinstance(here.get(name), dict):
            raise ConfigError(f"{path.strip()} is a part whose values are set too; set those alone.")
        here[name] = text.strip()
    return _changed(recipe, changes, "", recipe) if changes else recipe


def paths_of(value: object, prefix: str = "") -> list[str]:
    """Return every path of `value` that can be set."""
    if is_part(value):
        inner = [(name, getattr(value, name)) for name in field_names(type(value))]
    elif isinstance(value, Mapping):
        inner = list(value.items())
    else:
        return [prefix]
    return [path for name, held in inner for path in paths_of(held, f"{prefix}.{name}" if prefix else name)]


def _changed(owner: Any, changes: Changes, path: str, root: Any) -> Any:
    """Return `owner` with its changes made; `path` is where `owner` stands in `root`."""
    cls: type = type(owner)
    names = field_names(cls) if is_part(owner) else list(owner) if isinstance(owner, Mapping) else []
    if not names:
        raise ConfigError(f"{path} is a single value; {_first_path(changes, path)} does not exist.")
    values: dict[str, Any] = {}
    texts: dict[str, Any] = {}  # the same, with numbers left as they were written where the field may hold text
    for name, change in changes.items():
        here = f"{path}.{name}" if path else name
        if name not in names:
            raise ConfigError(_unknown(_first_path({name: change}, path), here, names, path, root))
        held = getattr(owner, name) if is_part(owner) else owner[name]
        if isinstance(change, dict):
            values[name] = texts[name] = _changed(held, change, here, root)
        elif is_part(held) or isinstance(held, Mapping):
            raise ConfigError(
                f"{here} is a part with values of its own; set those: "
                f"{', '.join(paths_of(held, here)) or '(it has none)'}."
            )
        elif is_part(owner):
            values[name], texts[name] = _readings(change, here, field_types(cls).get(name, Any))
        else:
            values[name] = _like(held, _parse(change, here), here)
    if not is_part(owner):
        return {**owner, **values}
    fields = {field: getattr(owner, field) for field in field_names(cls)}
    try:
        return make_part(cls, {**fields, **values}, path)
    except ConfigError:
        if texts == values:
            raise
        return make_part(cls, {**fields, **texts}, path)


def _readings(text: str, path: str, hint: Any) -> tuple[Any, Any]:
    """Return what a text says as a value of a field, and what to take where the field turns out to hold text."""
    value = _parse(text, path)
    if isinstance(value, bool) and hint is not bool and bool not in get_args(hint):
        value = text  # else `true` would pass as the number 1
    leaves = (hint, *(type(leaf) if isinstance(leaf, str) else leaf for leaf in get_args(hint)))
    may_be_text = isinstance(value, bool | int | float) and str in leaves
    return value, text if may_be_text else value


def _first_path(changes: Changes, path: str) -> str:
    """Return the whole path of the first value that is to be set."""
    steps = [path] if path else []
    inner: str | Changes = changes
    while isinstance(inner, dict):
        name, inner = next(iter(inner.items()))
        steps.append(name)
    return ".".join(steps)


def _parse(text: str, path: str) -> Any:
    if len(text) > 65_536:
        raise ConfigError(f"{path}: a value of {len(text):,} characters is too long to be one.")
    if text == "-" or text.startswith(_YAML_SIGNS) or (" #" in text and not text.startswith(("'", '"', "["))):
        return text  # a column "#1 String" is no comment, a separator "|" no block
    try:
        value = load_plain(text)
    except ConfigError:
        return text
    if isinstance(value, dict):
        raise ConfigError(f"{path} cannot be {text!r}; values are set one by one, as {path}.name=value.")
    return value


def _like(held: object, value: object, path: str) -> Any:
    """Return a value of a plain mapping, which keeps the type it had. Raises: ConfigError."""
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
