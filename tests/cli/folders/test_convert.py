"""`spanwise convert`."""

import json

import pytest
import torch
from transformers import AutoModelForMaskedLM, AutoTokenizer

from spanwise.cli.main import main
from spanwise.interop.tables import FAMILIES


def test_a_checkpoint_of_ours_becomes_a_folder_that_loads_with_equal_weights(run, tmp_path, capsys):
    assert main(["convert", str(run / "final"), str(tmp_path / "plain")]) == 0
    printed = capsys.readouterr().out
    assert "BertForMaskedLM" in printed and "Missing    nothing" in printed and "cased" in printed
    before, after = (AutoModelForMaskedLM.from_pretrained(p).state_dict() for p in (run / "final", tmp_path / "plain"))
    assert all(torch.equal(tensor, after[name]) for name, tensor in before.items())
    assert json.loads((tmp_path / "plain" / "spanwise.json").read_text())["recipe"]["name"] == "spanbert-tiny"


def test_a_program_gets_what_was_missing_and_not_used_as_json(run, tmp_path, capsys):
    assert main(["convert", str(run / "final"), str(tmp_path / "plain"), "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["architecture"] == record["source_class"] == "BertForMaskedLM" and record["beside"] == ["sbo"]
    assert record["missing"] == record["unexpected"] == [] and record["tokenizer"] is True
    assert AutoTokenizer.from_pretrained(tmp_path / "plain").tokenize("Denver") != ["denver"]


@pytest.mark.parametrize(
    "command", [["convert", "a", "b", "--no-onnx"], ["combine", "a", "b", "--out", "c", "--empty-rank"]]
)
def test_a_flag_has_no_opposite(command, capsys):
    assert main(command) == 2
    assert "Unknown option" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["convert", "pretrain"])
def test_the_help_names_every_family_of_folders(command, capsys):
    assert main([command, "--help"]) == 0
    told = " ".join(capsys.readouterr().out.replace("│", " ").split())
    assert [family.label for family in FAMILIES if family.is_stock and family.label not in told] == []


def test_bf16_halves_the_file(run, tmp_path):
    for dtype in ("fp32", "bf16"):
        assert main(["convert", str(run / "final"), str(tmp_path / dtype), "--dtype", dtype]) == 0
    full, half = ((tmp_path / dtype / "model.safetensors").stat().st_size for dtype in ("fp32", "bf16"))
    assert 0.45 < half / full < 0.6


def test_a_target_that_exists_or_a_source_that_does_not_is_an_error_in_one_line(run, tmp_path, capsys):
    assert main(["convert", str(run / "final"), str(tmp_path)]) == 2
    assert "exists already" in capsys.readouterr().err
    assert main(["convert", str(tmp_path / "nothing"), str(tmp_path / "plain")]) == 4
    assert "does not exist" in capsys.readouterr().err and not (tmp_path / "plain").exists()
