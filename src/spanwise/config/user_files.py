"""A user's own Python file, named as `file.py:function` wherever a recipe, a study or a task is asked for.

A file of a package (a folder with `__init__.py`) is loaded as a module of it, so that its files may import one another.
"""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

from spanwise.errors import ConfigError
from spanwise.runtime.suggest import did_you_mean

_USERS = "__spanwise_user_file__"  # an attribute of every module that load_file makes


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
