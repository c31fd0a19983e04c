"""`@part("name")`: a frozen, checked dataclass that a record can name."""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any, ClassVar, Protocol, TypeVar, dataclass_transform, get_type_hints

import pydantic
import pydantic.dataclasses

from spanwise.errors import ConfigError
from spanwise.runtime.suggest import did_you_mean

_SETTINGS = pydantic.ConfigDict(extra="forbid", arbitrary_types_allowed=True, allow_inf_nan=False)
_ANY_TYPE = pydantic.ConfigDict(arbitrary_types_allowed=True, allow_inf_nan=False)

_SHOWN = 200  # characters of a value that a message shows
_WORDS = {"greater than or equal to": "at least", "less than or equal to": "at most"}
_WORDS |= {"greater than": "above", "less than": "below"}

T = TypeVar("T")


class Part(Protocol):
    """A part of a recipe, ours or a user's: a frozen dataclass."""

    __dataclass_fields__: ClassVar[dict[str, dataclasses.Field[Any]]]


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(dataclasses.field,))
def part(name: str) -> Callable[[type[T]], type[T]]:
    """Make a class a part: keyword-only, frozen, its values checked, unknown names refused.

    The class gets `part_name = name`; a `__post_init__` of its own may raise ConfigError for what types cannot say.
    Raises (when such a part is made): ConfigError naming the field, what came, what was expected, the nearest name.
    """

    def decorate(cls: type[T]) -> type[T]:
        checked: Any = pydantic.dataclasses.dataclass(frozen=True, kw_only=True, config=_SETTINGS)(cls)
        checked.part_name = name  # Any: a class that is changed here has no type that says so
        make = checked.__init__

        @functools.wraps(make)
        def init(self: Any, *positional: Any, **values: Any) -> None:
            if positional:
                raise ConfigError(f"{cls.__name__} takes named values only, got {positional[0]!r} without a name.")
            try:
                make(self, **values)
            except pydantic.ValidationError as error:
                raise config_error(error, cls.__name__, field_names(checked)) from None

        checked.__init__ = init
        return checked

    return decorate


def is_part_class(cls: object) -> bool:
    """Return whether a class is a dataclass, ours or a user's plain one: all such can stand in a recipe."""
    return isinstance(cls, type) and dataclasses.is_dataclass(cls)


def is_part(value: object) -> bool:
    return is_part_class(type(value))


def is_ours(value: object) -> bool:
    """Return whether a class, or that of a value, is of this package; what is not is a user's own."""
    cls = value if isinstance(value, type) else type(value)
    return cls.__module__.split(".")[0] == "spanwise"


def field_names(cls: type) -> list[str]:
    """Return the names of the values that a part is made from, in order."""
    return [field.name for field in dataclasses.fields(cls) if field.init]


@functools.cache
def field_types(cls: type) -> dict[str, Any]:
    """Return the annotations of a class by name, evaluated once for each class: a large one takes a millisecond."""
    return get_type_hints(cls)


def make_part(cls: type, values: dict[str, Any], path: str = "") -> Any:
    """Build a part from already built inner values, with errors that name the whole path.

    Plain dataclasses (without `@part`) are checked against their annotations too.
    Raises: ConfigError.
    """
    owner = path or cls.__name__
    for name in values:
        if name not in field_names(cls):
            raise ConfigError(f"{_join(path, name)} is unknown: {_offer(name, field_names(cls), owner)}")
    try:
        if hasattr(cls, "__pydantic_validator__"):
            return _construct(cls, values)
        hints = field_types(cls)
        for name, value in values.items():
            try:
                values = {**values, name: _field_adapter(hints[name]).validate_python(value)}
            except pydantic.ValidationError as error:
                raise config_error(error, _join(path, name), []) from None
        return cls(**values)
    except pydantic.ValidationError as error:
        raise config_error(error, path, field_names(cls)) from None
    except TypeError as error:
        raise ConfigError(f"{owner}: {error}.") from error


def _construct(cls: type[Any], values: dict[str, Any]) -> Any:
    """Call pydantic's own constructor, not the wrapper, so that the error still carries its location."""
    made = object.__new__(cls)
    inner: Callable[..., None] = getattr(cls.__init__, "__wrapped__", cls.__init__)
    inner(made, **values)
    return made


@functools.cache
def _field_adapter(hint: Any) -> pydantic.TypeAdapter:
    if isinstance(hint, type) and (dataclasses.is_dataclass(hint) or hasattr(hint, "__pydantic_validator__")):
        return pydantic.TypeAdapter(pydantic.InstanceOf[hint])
    return pydantic.TypeAdapter(hint, config=_ANY_TYPE)


def config_error(error: pydantic.ValidationError, path: str, names: list[str]) -> ConfigError:
    """Return one ConfigError for all that pydantic found: path, what came, what was expected, nearest name."""
    lines = []
    for found in error.errors(include_url=False):
        steps = [str(step) for step in found["loc"]]  # those of pydantic's own, such as `dict[str,int]`, say nothing
        place = _join(path, *(step for step in steps if "[" not in step and not step.startswith("constrained-")))
        word = str(found["loc"][-1]) if found["loc"] else ""
        if found["type"] in ("unexpected_keyword_argument", "extra_forbidden", "no_such_attribute"):
            lines.append(f"{place} is unknown: {_offer(word, names, path)}")
        elif found["type"] in ("missing", "missing_keyword_only_argument", "missing_argument"):
            lines.append(f"{place} is missing; give it a value.")
        else:
            lines.append(f"{place} cannot be {_shown(found['input'])}; expected {_expected(found['msg'])}.")
    return ConfigError("\n".join(dict.fromkeys(lines)))


def _shown(value: object) -> str:
    """Return a value as a message names it: a long one is cut."""
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def _expected(message: str) -> str:
    """Return pydantic's words for what it expected as we say them."""
    if message.startswith("Unable to parse input string as an integer"):
        return "a valid integer"
    message = message.removeprefix("Input should be ").removeprefix("Value error, ")
    for theirs, ours in _WORDS.items():
        message = message.replace(theirs, ours)
    return message


def _offer(word: str, names: list[str], owner: str) -> str:
    return f"{owner} has {', '.join(names) or 'no values'}.{did_you_mean(word, names)}"


def _join(path: str, *steps: str) -> str:
    return ".".join(step for step in (path, *steps) if step)
