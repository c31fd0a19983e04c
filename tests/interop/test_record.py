import json

import pytest
import torch
from tests.nn.toy import toy_config

from spanwise.errors import CheckpointError
from spanwise.interop.record import read_record, recorded_forms, with_recorded, write_record
from spanwise.interop.tensor_files import write_safetensors


def test_a_record_is_read_back_and_its_own_entries_win(tmp_path):
    write_safetensors({"a": torch.zeros(2)}, tmp_path / "model.safetensors")
    write_record(tmp_path, {"labels": ["x"], "format_version": 7})
    record = read_record(tmp_path)
    assert record["labels"] == ["x"] and record["format_version"] == 1
    assert record["tensor_files"].keys() == {"model.safetensors"}
    assert read_record(tmp_path / "elsewhere") == {}


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
