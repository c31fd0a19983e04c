"""Studies by name: ours with dashes, a user's as `file.py:function`."""

import importlib
import pkgutil
from collections.abc import Callable

from spanwise.config.user_files import call_in_file, is_reference
from spanwise.errors import ConfigError
from spanwise.runtime.suggest import did_you_mean
from spanwise.studies import shipped
from spanwise.studies.study import Study

_NO_STUDIES = "base"  # the recipe that the shipped studies vary


def descriptions() -> dict[str, str]:
    """Return a line about each shipped study, by name."""
    return {name: (function.__doc__ or "").partition("\n")[0].strip() for name, function in _functions().items()}


def find_study(reference: str) -> Study:
    """Build the study of a name (`objectives`) or of a user's function (`my_study.py:my_function`).

    A user's file is a program and is run as one.
    Raises: ConfigError with the nearest name, or naming the file and what is wrong with it.
    """
    if is_reference(reference):
        study = call_in_file(reference, "study")
        if not isinstance(study, Study):
            raise ConfigError(f"{reference} returned {type(study).__name__}; a study function returns Study.")
        return study
    functions = _functions()
    if reference.endswith(".py"):
        raise ConfigError(f"'{reference}' is a file; name the function in it as well: {reference}:my_study.")
    if reference not in functions:
        raise ConfigError(
            f"there is no study '{reference}'; `spanwise show study` lists all.{did_you_mean(reference, functions)}"
        )
    return functions[reference]()


def _functions() -> dict[str, Callable[[], Study]]:
    found: dict[str, Callable[[], Study]] = {}
    for module_info in pkgutil.iter_modules(shipped.__path__):
        if module_info.name == _NO_STUDIES:
            continue
        module = importlib.import_module(f"{shipped.__name__}.{module_info.name}")
        for name, value in vars(module).items():
            if callable(value) and getattr(value, "__module__", "") == module.__name__ and not name.startswith("_"):
                found[name.replace("_", "-")] = value
    return found
