"""What people give to a pipeline is understood, or refused by name."""

import contextlib
from pathlib import Path

import pytest
import torch

from spanwise.errors import ConfigError
from spanwise.pipelines.given import (
    InputError,
    OptionError,
    check_framework,
    chosen_device,
    option_values,
    precision_of,
    readable,
    refuse_others,
)


class SavesItself:
    def save_pretrained(self, folder):
        (Path(folder) / "saved").touch()


def test_objects_of_transformers_become_folders_for_a_while():
    with contextlib.ExitStack() as stack:
        folder = Path(readable("model", SavesItself(), stack))
        assert (folder / "saved").exists()
    assert not folder.exists()


def test_folders_and_names_stay_and_other_things_are_refused():
    with contextlib.ExitStack() as stack:
        assert readable("model", "runs/final", stack) == "runs/final"
        assert readable("tokenizer", ("folder", {"use_fast": True}), stack) == "folder"
        assert readable("tokenizer", None, stack) is None
        with pytest.raises(OptionError, match="model is a int; give the folder"):
            readable("model", 5, stack)


def test_devices_and_types_of_old_code_are_understood():
    assert [chosen_device(device) for device in (None, "cpu", -1, 1)] == [None, "cpu", "cpu", "cuda:1"]
    assert [precision_of(dtype) for dtype in (None, "auto", torch.float32, "float16")] == [
        "fp32",
        "fp32",
        "fp32",
        "auto",
    ]
    with pytest.raises(OptionError, match="dtype 'int8'"):
        precision_of(torch.int8)
    with pytest.raises(OptionError, match="framework 'tf'"):
        check_framework("tf")


def test_options_are_known_old_or_harmless():
    with pytest.warns(UserWarning, match="topk is the old name"):
        assert option_values({"topk": 3, "padding": True, "x": None}, ("top_k",), ("padding",), "a task") == {
            "top_k": 3
        }
    with pytest.raises(OptionError, match="a task has no option 'top_p'; it has top_k"):
        option_values({"top_p": 1}, ("top_k",), (), "a task")
    assert issubclass(OptionError, ConfigError) and issubclass(OptionError, ValueError)


def test_entries_that_are_not_read_are_named():
    with pytest.raises(InputError, match=r"entries text, text_pair are read, and id, note came too"):
        refuse_others({"text": "a", "id": 3, "note": ""}, ("text", "text_pair"))
    refuse_others({"text": "a"}, ("text", "text_pair"))
    refuse_others("a", ("text",))
