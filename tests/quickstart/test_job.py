"""The folder of a quickstart is new, and what is said of the machine is what it has."""

import torch

from spanwise.quickstart.job import free_folder, machine_facts


def test_the_default_folder_is_numbered_where_the_name_is_taken(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert str(free_folder()) == "quickstart-out"
    (tmp_path / "quickstart-out").mkdir()
    assert str(free_folder()) == "quickstart-out"
    (tmp_path / "quickstart-out" / "result.json").write_text("{}")
    assert str(free_folder()) == "quickstart-out-2"


def test_the_machine_is_named_with_its_threads():
    facts = machine_facts("auto")
    assert facts["threads"] == torch.get_num_threads() and facts["processor"]
    assert facts["precision"] in ("fp32", "bf16")
