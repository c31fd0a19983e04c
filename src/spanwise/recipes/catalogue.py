"""Recipes by name: ours with dashes, a user's as `file.py:function`."""

from collections.abc import Callable
from types import ModuleType

from spanwise.config.user_files import call_in_file, is_reference
from spanwise.errors import ConfigError
from spanwise.pretraining.recipe import PretrainingRecipe
from spanwise.recipes import (
    albert,
    bert,
    crosses,
    electra,
    gpt,
    roberta,
    spanbert,
    spanbert_ablations,
    spanbert_ko,
    spanbert_modern,
    splinter,
)
from spanwise.runtime.suggest import did_you_mean

_FAMILIES = (
    spanbert, spanbert_modern, spanbert_ko, spanbert_ablations, splinter, bert, roberta, albert, electra, gpt, crosses,
)  # fmt: skip


def names() -> list[str]:
    """Every recipe that is shipped, in the order of its file."""
    return [name.replace("_", "-") for name in _functions()]


def families() -> dict[str, dict[str, str]]:
    """Every recipe by family: the family's name, then recipe name -> what it is in a line."""
    return {
        _opening(family).partition(":")[0]: {
            name.replace("_", "-"): _opening(function) for name, function in _functions_of(family).items()
        }
        for family in _FAMILIES
    }


def find(reference: str) -> PretrainingRecipe:
    """Build the recipe of a name (`spanbert-base`) or of a user's function (`my_recipes.py:my_function`).

    A user's file is a program and is run as one.
    Raises: ConfigError with the nearest name, or naming the file and what is wrong with it.
    """
    if is_reference(reference):
        return _from_file(reference)
    functions = _functions()
    function = functions.get(reference.replace("-", "_"))
    if function is None:
        raise ConfigError(
            f"there is no recipe '{reference}'; `spanwise show recipe` lists all.{did_you_mean(reference, names())}"
        )
    return function()


def _functions() -> dict[str, Callable[[], PretrainingRecipe]]:
    return {name: function for family in _FAMILIES for name, function in _functions_of(family).items()}


def _functions_of(family: ModuleType) -> dict[str, Callable[[], PretrainingRecipe]]:
    return {
        name: value
        for name, value in vars(family).items()
        if callable(value) and getattr(value, "__module__", "") == family.__name__ and not name.startswith("_")
    }


def _opening(documented: object) -> str:
    """The first line of a docstring."""
    return (documented.__doc__ or "").partition("\n")[0].strip()


def _from_file(reference: str) -> PretrainingRecipe:
    recipe = call_in_file(reference, "recipe")
    if not isinstance(recipe, PretrainingRecipe):
        raise ConfigError(f"{reference} returned {type(recipe).__name__}; a recipe function returns PretrainingRecipe.")
    return recipe
