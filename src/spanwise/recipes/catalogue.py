"""Recipes by name: ours with dashes, a user's as `file.py:function`."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

from spanwise.errors import ConfigError
from spanwise.pretraining.recipe import PretrainingRecipe
from spanwise.recipes import albert, bert, crosses, electra, gpt, roberta, spanbert, spanbert_ablations, spanbert_ko
from spanwise.runtime.suggest import did_you_mean

_FAMILIES = (spanbert, spanbert_ko, spanbert_ablations, bert, roberta, albert, electra, gpt, crosses)
_USERS = "__spanwise_user_file__"  # an attribute of every module that load_file makes


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
    if ".py:" in reference:
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


def call_in_file(reference: str, what: str) -> object:
    """What the function of `file.py:function` returns; `what` it is called in messages. The file is run.

    Raises: ConfigError naming the file and what is wrong with it.
    """
    file, _, function_name = reference.rpartition(":")
    path = Path(file)
    if not path.is_file():
        raise ConfigError(f"{what} file {path} does not exist; give it as path/to/file.py:function.")
    try:
        module = load_file(path, path.stem)
    except ConfigError:
        raise
    except Exception as error:
        raise ConfigError(f"{what} file {path} failed: {type(error).__name__}: {error}") from error
    function = getattr(module, function_name, None)
    if not callable(function):
        found = [name for name, value in vars(module).items() if callable(value) and not name.startswith("_")]
        raise ConfigError(f"{path} has no function '{function_name}'.{did_you_mean(function_name, found)}")
    try:
        return function()
    except ConfigError:
        raise
    except Exception as error:
        raise ConfigError(f"{what} function {reference} failed: {type(error).__name__}: {error}") from error


def _is_users(module: ModuleType, path: Path) -> bool:
    """Whether a module was loaded by `load_file`, or is that very file, imported."""
    return hasattr(module, _USERS) or Path(getattr(module, "__file__", None) or "").resolve() == path.resolve()


def load_file(path: Path, name: str) -> ModuleType:
    """Run a Python file as the module `name`, by which a record names the user's parts.

    Raises: ConfigError for what is no Python file or would hide another module, and whatever the file itself raises.
    """
    there = sys.modules.get(name)
    if name in sys.stdlib_module_names or (there is not None and not _is_users(there, path)):
        raise ConfigError(f"{path} is named like the Python module '{name}', which it would hide; rename the file.")
    specification = importlib.util.spec_from_file_location(name, path)
    if specification is None or specification.loader is None:
        raise ConfigError(f"{path} can't be read as a Python file.")
    module = importlib.util.module_from_spec(specification)
    setattr(module, _USERS, True)
    sys.modules[name] = module
    specification.loader.exec_module(module)
    return module
