"""What functions make: ours by name, a user's as `file.py:function`, wherever a recipe, a study or a task is asked for.

A file of a package (a folder with `__init__.py`) is loaded as a module of it, so that its files may import one another.
"""

import importlib.util
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import TypeVar

from spanwise.errors import ConfigError
from spanwise.runtime.suggest import did_you_mean

_USERS = "__spanwise_user_file__"  # an attribute of every module that load_file makes


T = TypeVar("T")


def functions_of(module: ModuleType) -> dict[str, Callable[[], object]]:
    """Return the public functions of one of our modules by the names that people give, which have dashes."""
    return {
        name.replace("_", "-"): value
        for name, value in vars(module).items()
        if callable(value) and getattr(value, "__module__", "") == module.__name__ and not name.startswith("_")
    }


def opening(documented: object) -> str:
    """Return the first line of a docstring."""
    return (documented.__doc__ or "").partition("\n")[0].strip()


def made_by(reference: str, what: str, expected: type[T], functions: Mapping[str, Callable[[], object]]) -> T:
    """Return what one of `functions` makes, or the function of a user's file (`my_recipes.py:my_function`), which is a
    program and is run as one; messages call it a `what`.

    Raises: ConfigError with the nearest name, or naming the file and what is wrong with it.
    """
    if is_reference(reference):
        made = call_in_file(reference, what)
    elif reference.endswith(".py"):
        raise ConfigError(f"'{reference}' is a file; name the function in it as well: {reference}:my_{what}.")
    else:
        function = functions.get(reference.replace("_", "-"))
        if function is None:
            raise ConfigError(
                f"there is no {what} '{reference}'; `spanwise show {what}` lists all."
                f"{did_you_mean(reference, functions)}"
            )
        made = function()
    if not isinstance(made, expected):
        raise ConfigError(f"{reference} returned {type(made).__name__}; a {what} function returns {expected.__name__}.")
    return made


def is_reference(text: str) -> bool:
    """Return whether a name means a function of a user's file."""
    return ".py:" in text


def call_in_file(reference: str, what: str) -> object:
    """Run a file and return what the function of `file.py:function` returns; messages call it a `what`.

    Raises: ConfigError naming the file and what is wrong with it.
    """
    file, _, function_name = reference.rpartition(":")
    path = Path(file)
    if not path.is_file():
        raise ConfigError(f"{what} file {path} does not exist; give it as path/to/file.py:function.")
    try:
        module = load_file(path, module_name(path))
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


def module_name(path: Path) -> str:
    """Return the name by which Python and records know a file: `file`, or `package.file` in a package."""
    path = path.resolve()
    steps = [] if path.name == "__init__.py" else [path.stem]
    folder = path.parent
    while (folder / "__init__.py").is_file():
        steps.insert(0, folder.name)
        folder = folder.parent
    return ".".join(steps)


def load_file(path: Path, name: str) -> ModuleType:
    """Run a Python file as the module `name`, by which a record names the user's parts.

    Raises: ConfigError for what is no Python file or would hide another module, and whatever the file itself raises.
    """
    package, _, _ = name.rpartition(".")
    if package and package not in sys.modules:
        folder = path.parent.parent if path.name == "__init__.py" else path.parent
        load_file(folder / "__init__.py", package)
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


def _is_users(module: ModuleType, path: Path) -> bool:
    """Return whether a module was loaded by `load_file`, or is that very file, imported."""
    return hasattr(module, _USERS) or Path(getattr(module, "__file__", None) or "").resolve() == path.resolve()
