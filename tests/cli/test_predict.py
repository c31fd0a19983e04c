"""`spanwise predict qa`."""

import json
import os
import re

import pytest

from spanwise.cli.main import main


def test_predictions_score_as_evaluate_says(world, qa_run, tmp_path, capsys):
    data, model = str(world.folder / "dev.json"), str(qa_run / "final")
    output = tmp_path / "predictions.json"
    assert main(["predict", "qa", "--model", model, "--input", data, "--output", str(output), "--json"]) == 0
    assert str(output) in json.loads(capsys.readouterr().out)["written"]
    assert len(json.loads(output.read_text())) == 24

    assert main(["score", "qa", "--data", data, "--predictions", str(output), "--json"]) == 0
    scored = json.loads(capsys.readouterr().out)
    assert main(["evaluate", "qa", "--model", model, "--data", data, "--json"]) == 0
    evaluated = json.loads(capsys.readouterr().out)
    assert (scored["exact"], scored["f1"]) == (evaluated["exact"], evaluated["f1"])


def test_a_malformed_question_stops_or_is_left_out_on_request(qa_run, tmp_path, capsys, caplog):
    questions = [
        {"id": name, "question": text, "context": "Seoul is old."} for name, text in (("a", "Why?"), ("b", ""))
    ]
    data, output = tmp_path / "input.jsonl", tmp_path / "out.json"
    data.write_text("\n".join(map(json.dumps, questions)))
    command = ["predict", "qa", "--model", str(qa_run / "final"), "--input", str(data), "--output", str(output)]
    assert main(command) == 3
    assert "line 2" in (said := capsys.readouterr().err) and "--errors repair" in said
    assert main([*command, "--errors", "repair"]) == 0
    assert list(json.loads(output.read_text())) == ["a"]
    assert "line 2" in caplog.text and "1 rows are left out" in caplog.text


def test_a_missing_input_is_named(qa_run, tmp_path, capsys):
    arguments = ["--input", str(tmp_path / "none.json"), "--output", str(tmp_path / "out.json")]
    assert main(["predict", "qa", "--model", str(qa_run / "final"), *arguments]) == 3
    assert "none.json" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "written"), [("in.json", "in.json"), ("in.json", "./in.json"), ("in.nbest.json", "in.json")]
)
def test_what_is_read_is_not_written_over(qa_run, tmp_path, capsys, monkeypatch, name, written):
    monkeypatch.chdir(tmp_path)
    asked = {"context": "Seoul is old.", "qas": [{"id": "a", "question": "Why?"}]}
    (tmp_path / name).write_text(json.dumps({"version": "1.1", "data": [{"title": "T", "paragraphs": [asked]}]}))
    before = (tmp_path / name).read_bytes()
    command = ["predict", "qa", "--model", str(qa_run / "final"), "--input", name, "--output", written]
    assert main(command) == 2 and re.search(f"{name} is (read|the input)", capsys.readouterr().err)
    assert [path.name for path in tmp_path.iterdir()] == [name] and (tmp_path / name).read_bytes() == before


@pytest.mark.parametrize("command", [["predict", "qa", "--input"], ["make-questions"]])
def test_a_pipe_or_device_is_never_replaced_by_a_file(qa_run, tmp_path, capsys, command):
    """As root, `--output /dev/null` would otherwise leave the machine without /dev/null."""
    asked = {"context": "Seoul is old.", "qas": [{"id": "a", "question": "Why?"}]}
    (tmp_path / "in.json").write_text(json.dumps({"version": "1.1", "data": [{"title": "T", "paragraphs": [asked]}]}))
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "device").symlink_to("pipe")
    more = ["--model", str(qa_run / "final"), "--output"] if command[0] == "predict" else ["--out"]
    (tmp_path / "text.txt").write_text("Seoul has been the capital of Korea since 1394.")
    text = tmp_path / ("in.json" if command[0] == "predict" else "text.txt")
    for name in ("pipe", "device"):
        assert main([*command, str(text), *more, str(tmp_path / name)]) == 2
        assert "is a device or pipe" in capsys.readouterr().err
    assert (tmp_path / "pipe").is_fifo() and len(list(tmp_path.iterdir())) == 4
