"""`spanwise combine`, and what the other commands do with the folder that it writes."""

import json

import pytest

from spanwise.cli.folders.combine import ranks_of
from spanwise.cli.main import main
from spanwise.errors import ConfigError


def test_ranks_are_numbers_or_whole_for_all_or_for_a_task():
    assert ranks_of([]) == {}
    assert ranks_of(["32", "qa=whole", "tagging=8"]) == {"": 32, "qa": None, "tagging": 8}
    for given, told in ((["much"], "give a whole number or whole"), (["qa="], "--rank qa="), (["-3"], "--rank -3")):
        with pytest.raises(ConfigError, match=told):
            ranks_of(given)
    with pytest.raises(ConfigError, match="--rank is given twice for qa"):
        ranks_of(["qa=3", "qa=4"])


def test_a_combined_folder_is_made_shown_converted_and_gone_on_with(run, qa_run, world, tiny, tmp_path, capsys):
    folder = tmp_path / "m"
    assert main(["combine", str(run), str(qa_run), "--out", str(folder), "--rank", "qa=2"]) == 0
    told = capsys.readouterr().out
    assert "squared difference kept" in told and "qa" in told and f"Model: {folder} (fp32)" in told
    assert main(["show", "model", str(folder)]) == 0
    told = capsys.readouterr().out
    assert "Task qa: 0.1 MB, rank 2; on dev data: exact" in told and "train.json (qa" in told
    assert main(["show", "model", str(folder), "--json"]) == 0
    (task,) = json.loads(capsys.readouterr().out)["tasks"]
    assert (task["task"], task["rank"], task["heads"]) == ("qa", 2, ["qa"]) and 0 < task["kept_share"] < 1

    assert main(["convert", str(folder), str(tmp_path / "base")]) == 0
    assert "its tasks (qa) are left out. --task NAME" in capsys.readouterr().out.replace("\n", " ")
    assert main(["convert", str(folder), str(tmp_path / "qa"), "--task", "qa", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["architecture"] == "BertForQuestionAnswering"

    length = ["--set", "training.max_tokens=null", "--set", "training.max_steps=1"]
    data = ["--data", str(world.folder / "store"), "--init", str(folder), "--out", str(tmp_path / "on")]
    assert main(["pretrain", "spanbert-tiny", *data, *tiny, *length]) == 0
    assert "its tasks (qa) are left out" in (lambda read: read.out + read.err)(capsys.readouterr())


def test_a_combination_is_one_json_object_and_a_refusal_one_sentence(run, qa_run, tmp_path, capsys):
    assert main(["combine", str(run), str(qa_run), "--out", str(tmp_path / "m"), "--dtype", "bf16", "--json"]) == 0
    made = json.loads(capsys.readouterr().out)
    assert made["dtype"] == "bf16" and made["tasks"][0]["rank"] is None
    assert main(["combine", str(run), str(run), "--out", str(tmp_path / "n")]) == 4
    assert "names no task" in capsys.readouterr().err
    assert main(["combine", str(run), "--out", str(tmp_path / "n")]) == 2
