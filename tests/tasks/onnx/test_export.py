"""ONNX folders of whole models: which task is taken, what lies in them, and that nothing half-made stays."""

import json
import subprocess
import sys

import pytest

import spanwise.tasks.onnx.export as module
from spanwise.cli.main import main
from spanwise.errors import ConfigError, NumericsError
from spanwise.interop.onnx.export import Difference
from spanwise.tasks.onnx.export import export_onnx


def test_a_task_of_a_combined_folder_becomes_a_whole_folder(tmp_path, capsys):
    assert main(["convert", "spanwise-mini", str(tmp_path / "out"), "--onnx", "--task", "tagging", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["task"] == "tagging" and told["differences"][0]["largest"] < 1e-4
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names >= {"model.onnx", "tokenizer.json", "config.json", "spanwise.json", "manifest.json"}
    record = json.loads((tmp_path / "out" / "spanwise.json").read_text())
    assert [port["name"] for port in record["inputs"]] == ["input_ids", "attention_mask"]
    assert record["num_token_types"] == 0
    assert record["outputs"][0]["shape"] == ["batch", "length", len(record["labels"])]
    assert json.loads((tmp_path / "out" / "config.json").read_text())["id2label"]["0"] == record["labels"][0]


def test_questions_bring_what_marks_shared_words_and_it_runs_alone(tmp_path):
    export_onnx("spanwise-mini", tmp_path / "out", task="qa")
    use = "import shared_words, sys; print('torch' in sys.modules, any('spanwise' in name for name in sys.modules))"
    ran = subprocess.run([sys.executable, "-c", use], cwd=tmp_path / "out", capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["False", "False"]
    export_onnx("spanwise-mini", tmp_path / "names", task="tagging")
    assert not list((tmp_path / "names").glob("*.py"))


def test_a_folder_with_several_tasks_asks_which(tmp_path):
    with pytest.raises(ConfigError, match=r"name one with --task: .*encoder"):
        export_onnx("spanwise-mini", tmp_path / "out")


def test_coreference_says_that_its_head_stays_behind(tmp_path, capsys):
    command = ["convert", "spanwise-mini", str(tmp_path / "out"), "--onnx", "--task", "coref", "--dtype", "int8"]
    assert main(command) == 0
    assert "not the head" in capsys.readouterr().out


def test_nothing_is_written_where_the_numbers_differ(tmp_path, monkeypatch):
    wrong = [Difference(output="logits", largest=0.5, scale=2.0)]
    monkeypatch.setattr(module, "compare", lambda *given: wrong)
    with pytest.raises(NumericsError, match="differs by"):
        export_onnx("spanwise-mini", tmp_path / "out", task="encoder")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("task", ("sbo", "poetry"))
def test_an_unknown_task_is_named(task, tmp_path):
    with pytest.raises(ConfigError, match=f"--task {task}: .* has coref, qa, tagging, encoder, mlm"):
        export_onnx("spanwise-mini", tmp_path / "out", task=task)


def test_types_that_do_not_go_together_are_refused(tmp_path, capsys):
    assert main(["convert", "spanwise-mini", str(tmp_path / "out"), "--dtype", "int8"]) == 2
    assert main(["convert", "spanwise-mini", str(tmp_path / "out"), "--onnx", "--dtype", "bf16"]) == 2
    assert "bf16 is no type of ONNX files" in capsys.readouterr().err
