"""No number of any part is without range, and what is out of range is refused with field, value and expectation."""

import dataclasses
import importlib
import pkgutil
import sys
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import pytest
from annotated_types import Ge, Gt, Le, Lt

import spanwise
from spanwise.config import override, part
from spanwise.config.ranges import Chance, Count, Share
from spanwise.errors import ConfigError
from spanwise.recipes import catalogue
from spanwise.tasks.registry import TASKS, task_recipe

HUGE = (
    "99999999999999999999", "-99999999999999999999", "1e308", "-1e308", "1e999", "-1e999", ".nan", "nan", "inf", "-inf",
    "9" * 400, "9" * 5000, "true", "[]", "[1]", "''",
)  # fmt: skip


def numbers_in(hint: Any, limits: tuple[object, ...] = ()):
    """Each int and float that a field's type is made of, with the limits that stand around it."""
    if get_origin(hint) is Annotated:
        inner, *notes = get_args(hint)
        found = [limit for note in notes for limit in getattr(note, "metadata", [note])]
        yield from numbers_in(inner, (*limits, *found))
    elif get_origin(hint) is not Literal:
        if hint in (int, float):
            yield hint, limits
        for inner in get_args(hint):
            yield from numbers_in(inner, limits)


def unlimited(cls: type) -> list[str]:
    """The fields of a part that hold a number without a lower or an upper end."""
    hints = get_type_hints(cls, include_extras=True)
    return [
        f"{cls.__module__}.{cls.__name__}.{field.name}"
        for field in dataclasses.fields(cls)
        for _, limits in numbers_in(hints[field.name])
        if not (any(isinstance(x, Ge | Gt) for x in limits) and any(isinstance(x, Le | Lt) for x in limits))
    ]


# spaCy and datatrove are too heavy for every test run to install; what stands on them are their settings, no parts of a
# recipe.
NOT_IMPORTED = ("spanwise.serving.spacy.", "spanwise.integrations.datatrove")


def test_every_number_of_every_part_has_a_range():
    for module in pkgutil.walk_packages(spanwise.__path__, "spanwise."):
        if not module.name.endswith("__main__") and not module.name.startswith(NOT_IMPORTED):
            importlib.import_module(module.name)
    modules = [module for name, module in sys.modules.items() if name.split(".")[0] == "spanwise"]
    parts = {
        cls
        for module in modules
        for cls in vars(module).values()
        if isinstance(cls, type) and dataclasses.is_dataclass(cls) and hasattr(cls, "part_name")
    }
    parts = {cls for cls in parts if cls.__module__.startswith("spanwise.")}
    assert len(parts) >= 50
    assert [field for cls in parts for field in unlimited(cls)] == []


def test_a_number_without_a_range_would_be_found():
    @part("bare")
    class Bare:
        a: int = 0
        b: Annotated[float, Ge(0)] = 0.0
        c: tuple[float, ...] | None = None
        d: Share = 0.5
        e: Annotated[Count, Ge(3)] | None = None
        f: Chance | Literal["x"] = "x"

    globals()["Bare"] = Bare
    assert [name.rpartition(".")[2] for name in unlimited(Bare)] == ["a", "b", "c"]


def leaves(recipe, path=""):
    """The path and value of every number of a recipe, or of what may be one."""
    for field in dataclasses.fields(recipe):
        value, here = getattr(recipe, field.name), f"{path}.{field.name}".lstrip(".")
        if dataclasses.is_dataclass(value):
            yield from leaves(value, here)
        elif isinstance(value, dict):
            for name, inner in value.items():
                yield from leaves(inner, f"{here}.{name}")
        elif field.init and list(numbers_in(get_type_hints(type(recipe), include_extras=True)[field.name])):
            yield here


RECIPES = {name: catalogue.find(name) for name in ("spanbert-tiny", "electra-mini", "albert-mini")}
RECIPES |= {name: task_recipe(name) for name in TASKS}


@pytest.mark.parametrize("name", RECIPES)
def test_whatever_a_number_is_set_to_it_is_taken_or_refused_by_name(name):
    recipe = RECIPES[name]
    for path in leaves(recipe):
        refused = 0
        for text in HUGE:
            try:
                override(recipe, [f"{path}={text}"])
            except ConfigError as error:
                refused += 1
                assert path.rpartition(".")[2] in str(error), (path, text, str(error))
                assert len(str(error)) < 2000, (path, str(error)[:200])
        assert refused > len(HUGE) / 2, path
