"""A model beyond the memory of the machine is refused before anything is made."""

import dataclasses

import pytest

from spanwise.cli.main import main
from spanwise.errors import ConfigError
from spanwise.pretraining import describe
from spanwise.pretraining.describe import check_room
from spanwise.recipes import spanbert_tiny


def wide(**values):
    return dataclasses.replace(recipe := spanbert_tiny(), encoder=dataclasses.replace(recipe.encoder, **values))


def test_what_fits_is_not_refused_and_what_does_not_is_told_with_its_size(monkeypatch):
    number = sum(p.numel() for p in describe.outline_model(spanbert_tiny(), 1).parameters())
    monkeypatch.setattr(describe, "usable_memory", lambda: 12.0 * number)
    check_room(spanbert_tiny(), "cpu")
    monkeypatch.setattr(describe, "usable_memory", lambda: 12.0 * number - 1)
    with pytest.raises(ConfigError, match=r"encoder\.hidden_size \(128\)"):
        check_room(spanbert_tiny(), "cpu")
    monkeypatch.setattr(describe, "usable_memory", lambda: None)  # a system that does not say
    check_room(wide(hidden_size=65536), "cpu")


@pytest.mark.parametrize("change", ["hidden_size=131072", "max_positions=16777216"])
def test_the_command_says_it_in_one_sentence_before_a_folder_is_made(change, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(describe, "usable_memory", lambda: 8e9)
    text = tmp_path / "text.txt"
    text.write_text("Seoul is old.\n")
    changes = ["--set", f"encoder.{change}", "--set", "encoder.intermediate_size=131072", "--device", "cpu"]
    status = main(["pretrain", "spanbert-tiny", "--text", str(text), "--out", str(tmp_path / "run"), *changes])
    said = capsys.readouterr().err
    assert status == 2 and "GB" in said and "may hold 8.0 GB" in said and len(said.splitlines()) == 1
    assert not (tmp_path / "run").exists()
