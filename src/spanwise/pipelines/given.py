"""What people give to a pipeline: folders, objects of transformers, old and new names of options."""

from __future__ import annotations

import contextlib
import tempfile
import warnings
from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np

from spanwise.errors import ConfigError
from spanwise.runtime.device import Precision
from spanwise.runtime.suggest import did_you_mean
from spanwise.text.tokenizers import Tokenizer


class OptionError(ConfigError, ValueError):
    """An option outside its range; a ValueError too, as the old pipelines raised."""


def readable(name: str, given: Any, stack: contextlib.ExitStack) -> Any:
    """A folder, hub id or `Tokenizer` as it came; an object of transformers as a folder that lasts as long as `stack`.

    Raises: OptionError for anything else.
    """
    if isinstance(given, tuple) and given:  # (name, options) of the old pipeline's tokenizer
        given = given[0]
    if given is None or isinstance(given, str | Path | Tokenizer):
        return given
    if not hasattr(given, "save_pretrained"):
        raise OptionError(f"{name} is a {type(given).__name__}; give the folder it was saved to, or a hub id.")
    folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="spanwise-"))
    given.save_pretrained(folder)
    return folder


def chosen_device(device: str | int | None) -> str | None:
    """A torch name; numbers count GPUs, and -1 is the CPU, as in transformers."""
    if isinstance(device, int):
        return "cpu" if device < 0 else f"cuda:{device}"
    return device


def precision_of(dtype: Any) -> Precision:
    """The precision that an old `torch_dtype` asks for; halves are bf16 where the machine has it.

    Raises: OptionError for a type that no model is run in.
    """
    name = str(dtype).removeprefix("torch.")
    if name in ("None", "auto", "float32", "float64"):
        return "fp32"
    if name in ("float16", "bfloat16"):
        return "auto"
    raise OptionError(f"dtype {name!r} is not here; use float32 or bfloat16.")


def check_framework(framework: str) -> None:
    """Raises: OptionError for another framework than PyTorch, which old code may name."""
    if framework != "pt":
        raise OptionError(f"framework {framework!r} is not here; models run in PyTorch ('pt').")


def whole_number(name: str, value: Any, least: int = 1) -> None:
    """Raises: OptionError for a value that is no whole number, or is below `least`."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise OptionError(f"{name} must be a whole number of at least {least}, got {value!r}.")


def option_values(
    given: dict[str, Any], known: Collection[str], harmless: Collection[str], task: str
) -> dict[str, Any]:
    """Known options that are set; old names are understood, and those that never changed an answer are passed over.

    Raises: OptionError for an unknown name.
    """
    given = {name: value for name, value in given.items() if value is not None and name not in harmless}
    if "topk" in given:
        warnings.warn("topk is the old name of top_k.", UserWarning, stacklevel=3)
        topk = given.pop("topk")
        given.setdefault("top_k", topk)
    for name in given:
        if name not in known:
            raise OptionError(f"{task} has no option {name!r}; it has {', '.join(known)}.{did_you_mean(name, known)}")
    return given
