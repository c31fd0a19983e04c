import json
import logging

import pytest
import torch
from tests.nn.toy import toy_config, toy_encoder

from spanwise.errors import CheckpointError
from spanwise.interop.convert import convert
from spanwise.interop.folder_plan import FolderContent
from spanwise.interop.huggingface import read_folder, write_folder
from spanwise.interop.load import load
from spanwise.interop.record import notes_of_edits, read_record, recorded_forms, with_recorded, write_record
from spanwise.interop.tensor_files import write_safetensors
from spanwise.runtime.files import atomic_folder


def test_a_record_is_read_back_and_its_own_entries_win(tmp_path):
    write_safetensors({"a": torch.zeros(2)}, tmp_path / "model.safetensors")
    write_record(tmp_path, {"labels": ["x"], "format_version": 7})
    record = read_record(tmp_path)
    assert record["labels"] == ["x"] and record["format_version"] == 1
    assert record["tensor_files"].keys() == {"model.safetensors"}
    assert read_record(tmp_path / "elsewhere") == {}


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("tensor_files", 3, "tensor_files cannot be 3"),
        ("tensor_files", {"model.safetensors": "x"}, "tensor_files.model.safetensors cannot be 'x'"),
        ("heads", ["mlm", [1]], "heads cannot be"),
        ("heads", {"mlm": {}}, "heads.mlm cannot be"),
        ("own_heads", {"mine": 5}, "own_heads.mine cannot be 5"),
        ("recipe", "spanbert", "recipe cannot be 'spanbert'"),
        ("finetuned", "qa", "finetuned cannot be 'qa'"),
        ("dev_scores", None, "dev_scores"),
        ("learned_from", "books", "learned_from cannot be 'books'"),
        ("learned_from", [{"file": "a", "what": "text", "count": "many"}], "learned_from.0.count cannot be 'many'"),
    ],
)
def test_a_value_of_another_kind_is_refused_by_name(tmp_path, name, value, told):
    (tmp_path / "spanwise.json").write_text(json.dumps({"format_version": 1, name: value}))
    with pytest.raises(CheckpointError, match=f"spanwise.json: {told}"):
        read_record(tmp_path)


def test_values_that_config_json_has_no_key_for_are_put_back(tmp_path):
    record = {"encoder": {"sharing": "attention", "num_token_types": 0}}
    assert with_recorded(toy_config(), record, tmp_path) == toy_config(sharing="attention", num_token_types=0)


@pytest.mark.parametrize(
    ("lost", "named"), [({"heads": 3}, "names what no encoder has"), ({"sharing": "some"}, "sharing"), ("all", "names")]
)
def test_senseless_recorded_values_are_refused(tmp_path, lost, named):
    with pytest.raises(CheckpointError, match=named):
        with_recorded(toy_config(), {"encoder": lost}, tmp_path)


def test_forms_that_nothing_here_has_are_passed_over(tmp_path):
    assert recorded_forms({"forms": {"classification": "tanh", "multiple_choice": "evil"}}) == {
        "classification": "tanh"
    }
    assert recorded_forms({"forms": json.loads("[1]")}) == {} == recorded_forms({})


def test_a_file_edited_after_writing_is_said_and_still_read(tmp_path, caplog):
    with atomic_folder(tmp_path / "model") as folder:
        write_folder(folder, FolderContent(toy_encoder(), {}))
    assert notes_of_edits(tmp_path / "model") == () == read_folder(tmp_path / "model").report.notes
    path = tmp_path / "model" / "config.json"
    path.write_text(path.read_text().replace('"hidden_dropout_prob": 0.1', '"hidden_dropout_prob": 0.3'))

    with caplog.at_level(logging.WARNING):
        model = load(tmp_path / "model")

    assert model.config.hidden_dropout == 0.3
    assert "config.json was changed after this folder was written" in caplog.text
    assert f"spanwise convert {tmp_path / 'model'} NEW" in caplog.text
    convert(tmp_path / "model", tmp_path / "new")
    caplog.clear()
    assert load(tmp_path / "new").config.hidden_dropout == 0.3 and not caplog.records


def test_a_record_that_the_manifest_lists_and_is_gone_is_not_a_folder_of_others(tmp_path):
    with atomic_folder(tmp_path / "model") as folder:
        write_safetensors({"a": torch.zeros(2)}, folder / "model.safetensors")
        write_record(folder, {"task": {"null_threshold": -1.5}})
    (tmp_path / "model" / "spanwise.json").unlink()

    with pytest.raises(CheckpointError, match=r"spanwise\.json is missing, though manifest\.json lists it"):
        read_record(tmp_path / "model")
    (tmp_path / "model" / "manifest.json").unlink()
    assert read_record(tmp_path / "model") == {}
