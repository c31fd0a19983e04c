"""`spanwise show model`."""

import json
import re

from spanwise.cli.main import main


def test_class_shape_and_heads_are_shown(run, capsys):
    assert main(["show", "model", str(run / "final")]) == 0
    printed = capsys.readouterr().out
    assert "2 layers x 16" in printed and "sbo in heads.safetensors" in printed
    assert "transformers.BertForMaskedLM, which leaves out sbo" in printed


def test_a_program_gets_the_same_as_json(qa_run, capsys):
    assert main(["show", "model", str(qa_run / "final"), "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["architecture"] == "BertForQuestionAnswering"
    assert set(record["parameters"]["heads"]) == {"mlm", "sbo", "qa"}  # heads are always kept
    assert record["missing"] == record["unexpected"] == []
    assert record["finetuned"]["task"] == "qa" and record["dev_scores"]["f1"] >= 0


def test_the_task_that_a_folder_was_fine_tuned_for_is_shown_with_its_scores(qa_run, run, capsys):
    assert main(["show", "model", str(qa_run / "final")]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert re.search(r"Fine-tuned qa, from \S+; on dev data: exact \d+\.\d\d, f1 \d", told)
    assert main(["show", "model", str(run / "final")]) == 0
    assert "Fine-tuned" not in capsys.readouterr().out


def test_what_the_weights_learned_from_is_shown_with_its_licence(capsys):
    assert main(["show", "model", "spanwise-mini"]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "Learned from: - English Wikipedia" in printed and "6,812 questions). Licence: CC BY 4.0" in printed
    assert main(["show", "model", "spanwise-mini", "--json"]) == 0
    assert [entry["what"] for entry in json.loads(capsys.readouterr().out)["learned_from"]] == ["text"]


def test_a_run_folder_is_answered_with_its_model(run, capsys):
    assert main(["show", "model", str(run)]) == 0
    assert str(run / "final") in "".join(capsys.readouterr().out.split())


def test_a_damaged_checkpoint_is_named(run, tmp_path, capsys):
    import shutil

    copy = shutil.copytree(run / "final", tmp_path / "copy")
    weights = copy / "model.safetensors"
    data = bytearray(weights.read_bytes())
    data[-100] ^= 1
    weights.write_bytes(bytes(data))
    assert main(["show", "model", str(copy)]) == 4
    assert "model.safetensors" in capsys.readouterr().err
