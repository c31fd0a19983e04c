"""Studies by name: ours with dashes, a user's as `file.py:function`."""

import importlib
import pkgutil
from collections.abc import Callable

from spanwise.config.user_files import functions_of, made_by, opening
from spanwise.studies import shipped
from spanwise.studies.study import Study

_NO_STUDIES = "base"  # the recipe that the shipped studies vary


def descriptions() -> dict[str, str]:
    """Return a line about each shipped study, by name."""
    return {name: opening(function) for name, function in _functions().items()}


def find_study(reference: str) -> Study:
    """Build the study of a name (`objectives`) or of a user's function (`my_study.py:my_function`).

    A user's file is a program and is run as one.
    Raises: ConfigError with the nearest name, or naming the file and what is wrong with it.
    """
    return made_by(reference, "study", Study, _functions())


def _functions() -> dict[str, Callable[[], object]]:
    modules = [one.name for one in pkgutil.iter_modules(shipped.__path__) if one.name != _NO_STUDIES]
    return {
        name: function
        for module in modules
        for name, function in functions_of(importlib.import_module(f"{shipped.__name__}.{module}")).items()
    }
