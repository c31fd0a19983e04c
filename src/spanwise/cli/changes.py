"""Changes to a recipe from the command line, and the command that goes on with a run."""

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from spanwise.errors import ConfigError
from spanwise.runtime.program import program


def read_changes(
    config: Path | None,
    overrides: Sequence[str] | None,
    *,
    save_every: int | None = None,
    keep: int | None = None,
) -> list[str]:
    """Return `path=value` changes: those of a YAML file first, then the options, so that --set wins.

    Raises: ConfigError for a file that can't be read as one.
    """
    from spanwise.config import overrides_from_yaml

    changes: list[str] = []
    if config is not None:
        try:
            text = config.read_text(encoding="utf-8")
        except (FileNotFoundError, IsADirectoryError, UnicodeDecodeError):
            raise ConfigError(
                f"--config {config} is no YAML file; `spanwise init RECIPE --out FILE` writes one."
            ) from None
        try:
            changes += overrides_from_yaml(text)
        except ConfigError as error:
            raise ConfigError(f"{config}: {error}") from None
    options = {"save_every": save_every, "keep": keep}
    changes += [f"training.{name}={value}" for name, value in options.items() if value is not None]
    return [*changes, *(overrides or [])]


def resume_command(arguments: Sequence[str] | None = None) -> str:
    """Return this very command with --resume, for the message of a run that was interrupted."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    return f"{program()} {shlex.join([*given, *([] if '--resume' in given else ['--resume'])])}"
