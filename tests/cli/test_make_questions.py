"""`spanwise make-questions`."""

import json

from spanwise.cli.main import main

TEXT = (
    "Clara Winter studied moss at the Royal Garden in 1851. The Royal Garden kept 300 plants in large glass houses.\n"
    "Visitors of the Royal Garden saw the moss that Clara Winter had found. Her letters were sold to a museum in 1851. "
    "The gardeners counted 300 plants in the glass houses, and the moss was the smallest.\n"
) * 2


def test_questions_are_made_and_counted(tmp_path, capsys):
    (tmp_path / "text.txt").write_text(TEXT)
    arguments = ["make-questions", str(tmp_path / "text.txt"), "--out", str(tmp_path / "q.json")]
    assert main([*arguments, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["num_questions"] > 1
    assert main([*arguments, "--kinds", "person", "name", "--forms", "cloze", "--max-questions", "1"]) == 0
    assert "Made 1 questions of 1 documents" in capsys.readouterr().out
    ((paragraph,),) = [article["paragraphs"] for article in json.loads((tmp_path / "q.json").read_text())["data"]]
    assert paragraph["qas"][0]["kind"] in ("person", "name")


def test_a_model_sorts_out_what_it_does_not_answer(world, qa_run, tmp_path, capsys):
    (tmp_path / "text.txt").write_text(TEXT)
    arguments = ["make-questions", str(tmp_path / "text.txt"), "--out", str(tmp_path / "q.json")]
    assert main([*arguments, "--json"]) == 0
    alone = json.loads(capsys.readouterr().out)
    model = ["--filter", str(qa_run / "final")]
    assert main([*arguments, *model, "--filter-f1", "0", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["num_questions"] == alone["num_questions"]
    assert main([*arguments, *model, "--json"]) == 3  # a model of three steps finds nothing
    assert "No question" in capsys.readouterr().err


def test_wrong_use_is_named(tmp_path, capsys):
    (tmp_path / "text.txt").write_text(TEXT)
    arguments = ["make-questions", str(tmp_path / "text.txt"), "--out", str(tmp_path / "q.json")]
    assert main([*arguments, "--filter-f1", "50"]) == 2
    assert "--filter FOLDER" in capsys.readouterr().err
    assert main([*arguments, "--kinds", "city"]) == 2
    assert main([*arguments, "--not-from", str(tmp_path / "gone.json")]) == 3
    assert "gone.json" in capsys.readouterr().err
