"""Read what people give to a pipeline: folders, objects of transformers, texts, old and new names of options."""

import contextlib
import tempfile
import warnings
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np

from spanwise.errors import ConfigError, DataError
from spanwise.interop.checkpoint import Checkpoint, warn_of_misfits
from spanwise.interop.huggingface import read_folder
from spanwise.runtime.device import Precision
from spanwise.runtime.suggest import did_you_mean
from spanwise.tasks.checkpoint import open_tokenizer
from spanwise.text.tokenizers import Tokenizer


@runtime_checkable
class SavesItself(Protocol):
    """A model or tokenizer of transformers, or of anybody who writes folders as transformers does."""

    def save_pretrained(self, folder: str) -> object: ...


Source = str | Path | SavesItself
TokenizerSource = str | Path | Tokenizer | SavesItself | tuple[str | Path, object]  # (name, options) in old code


class OptionError(ConfigError, ValueError):
    """An option outside its range; a ValueError too, as the old pipelines raised."""


class InputError(DataError, ValueError):
    """An input that a pipeline can't answer; a ValueError too, as pipelines elsewhere raise."""


def readable(
    name: str, given: Source | TokenizerSource | None, stack: contextlib.ExitStack
) -> str | Path | Tokenizer | None:
    """Return a folder, hub id or `Tokenizer` as it came, and an object of transformers as a folder that lasts as long
    as `stack`.

    Raises: OptionError for anything else.
    """
    if isinstance(given, tuple) and given:
        given = given[0]
    if given is None or isinstance(given, str | Path | Tokenizer):
        return given
    if not isinstance(given, SavesItself):
        raise OptionError(f"{name} is a {type(given).__name__}; give the folder it was saved to, or a hub id.")
    folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="spanwise-"))
    given.save_pretrained(folder)
    return folder


def open_checkpoint(model: str | Path, tokenizer: str | Path | Tokenizer | None) -> tuple[Checkpoint, Tokenizer]:
    """Read a model as it is, with its own tokenizer or another. Raises: CheckpointError."""
    checkpoint = read_folder(model)
    warn_of_misfits(checkpoint)
    return checkpoint, open_tokenizer(checkpoint, tokenizer)


def chosen_device(device: str | int | None) -> str | None:
    """Return the name torch has for a device; numbers count GPUs, and -1 is the CPU, as in transformers."""
    if isinstance(device, int):
        return "cpu" if device < 0 else f"cuda:{device}"
    return device


def precision_of(dtype: object) -> Precision:
    """Return the precision that an old `torch_dtype` asks for; halves are bf16 where the machine has it.

    Raises: OptionError for a type that no model is run in.
    """
    name = str(dtype).removeprefix("torch.")
    if name in ("None", "auto", "float32", "float64"):
        return "fp32"
    if name in ("float16", "bfloat16"):
        return "auto"
    raise OptionError(f"dtype {name!r} is not here; use float32 or bfloat16.")


def check_framework(framework: str) -> None:
    """Refuse another framework than PyTorch, which old code may name. Raises: OptionError."""
    if framework != "pt":
        raise OptionError(f"framework {framework!r} is not here; models run in PyTorch ('pt').")


def whole_number(name: str, value: object, least: int = 1) -> None:
    """Refuse a value that is no whole number, or is below `least`. Raises: OptionError."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise OptionError(f"{name} must be a whole number of at least {least}, got {value!r}.")


def texts_given(name: str, value: object) -> list[str]:
    """Return one text or several as a list. Raises: OptionError for anything else."""
    if isinstance(value, str):
        return [value]
    if not isinstance(value, Collection) or isinstance(value, bytes | Mapping):
        raise OptionError(f"{name} is a text or a list of texts, got {value!r}.")
    for text in value:
        if not isinstance(text, str):
            raise OptionError(f"{name} is a text or a list of texts, got {text!r} in it.")
    return list(value)


def refuse_others(item: object, names: Collection[str]) -> None:
    """Refuse an input that has entries of other names. Raises: InputError."""
    others = [str(name) for name in item if name not in names] if isinstance(item, Mapping) else []
    if others:
        raise InputError(f"entries {', '.join(names)} are read, and {', '.join(others)} came too; leave that out.")


def option_values(
    given: Mapping[str, Any], known: Collection[str], harmless: Collection[str], task: str
) -> dict[str, Any]:
    """Return the options that are set; old names are understood, and those that never changed an answer are dropped.

    Raises: OptionError for an unknown name.
    """
    given = {name: value for name, value in given.items() if value is not None and name not in harmless}
    if "topk" in given:
        warnings.warn("topk is the old name of top_k.", UserWarning, stacklevel=4)
        topk = given.pop("topk")
        given.setdefault("top_k", topk)
    for name in given:
        if name not in known:
            raise OptionError(f"{task} has no option {name!r}; it has {', '.join(known)}.{did_you_mean(name, known)}")
    return given


def checked_text(name: str, value: object) -> str:
    """Return `value`, a text of more than blanks that can be encoded. Raises: InputError."""
    if value is None:
        raise InputError(f"{name} is missing or None; give a text.")
    if not isinstance(value, str):
        raise InputError(f"{name} is a {type(value).__name__} ({str(value)[:40]!r}); a text was expected.")
    if not value.strip():
        raise InputError(f"{name} is empty; give a text.")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise InputError(f"{name} holds half a surrogate pair at character {error.start}.") from error
    return value
