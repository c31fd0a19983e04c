"""`spanwise make-questions`."""

import json

import spanwise
from spanwise.cli.main import main
from spanwise.tasks.qa.score import normalize_answer

TEXT = (
    "Clara Winter studied moss at the Royal Garden in 1851. The Royal Garden kept 300 plants in large glass houses.\n"
    "Visitors of the Royal Garden saw the moss that Clara Winter had found. Her letters were sold to a museum in 1851. "
    "The gardeners counted 300 plants in the glass houses, and the moss was the smallest.\n"
) * 2


def test_questions_are_made_and_counted(tmp_path, capsys):
    (tmp_path / "text.txt").write_text(f"Gardens\n{TEXT}See also\n")
    arguments = ["make-questions", str(tmp_path / "text.txt"), "--out", str(tmp_path / "q.json")]
    assert main([*arguments, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["num_questions"] > 1 and told["num_left_out"] == 2
    assert main([*arguments, "--kinds", "person", "name", "--forms", "cloze", "--max-questions", "1"]) == 0
    said = capsys.readouterr().out
    assert "Made 1 question of 1 document: " in said and "Left out: 2 lines without the end of a sentence" in said
    ((paragraph,),) = [article["paragraphs"] for article in json.loads((tmp_path / "q.json").read_text())["data"]]
    assert paragraph["qas"][0]["kind"] in ("person", "name")


def test_documents_of_a_test_file_are_left_out_and_counted(tmp_path, capsys):
    (tmp_path / "text.txt").write_text(f"{TEXT}\n{TEXT.replace('Clara', 'Anna')}")
    arguments = ["make-questions", str(tmp_path / "text.txt"), "--out", str(tmp_path / "q.json")]
    assert main([*arguments, "--json"]) == 0
    of_both = json.loads(capsys.readouterr().out)
    assert (of_both["num_documents"], of_both["num_refused"]) == (2, 0)
    context = "the moss that Anna Winter had found. Her letters"
    qas = [{"id": "1", "question": "Who?", "answers": [{"text": "Anna", "answer_start": 14}]}]
    squad = {"version": "1.1", "data": [{"title": "T", "paragraphs": [{"context": context, "qas": qas}]}]}
    (tmp_path / "dev.json").write_text(json.dumps(squad))
    assert main([*arguments, "--not-from", str(tmp_path / "dev.json")]) == 0
    said = capsys.readouterr().out
    assert "of 1 document: " in said
    assert "Left out: 1 document with eight words in a row that --not-from has too." in said


def test_a_model_sorts_out_what_it_does_not_answer(world, qa_run, tmp_path, capsys):
    (tmp_path / "text.txt").write_text(TEXT)
    made, model = tmp_path / "q.json", qa_run / "final"
    arguments = ["make-questions", str(tmp_path / "text.txt"), "--out", str(made)]
    assert main([*arguments, "--json"]) == 0
    alone = json.loads(capsys.readouterr().out)
    right = num_right(made, model)
    assert right < alone["num_questions"]
    assert main([*arguments, "--filter", str(model), "--filter-f1", "0", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["num_questions"] == alone["num_questions"]
    status = main([*arguments, "--filter", str(model), "--json"])
    told = capsys.readouterr()
    if right:
        assert status == 0 and json.loads(told.out)["num_questions"] == right
    else:
        assert status == 3 and "No question" in told.err


def num_right(made, model):
    """How many questions of a file the model answers with the very words."""
    ask = spanwise.pipeline("question-answering", model=model)
    told = [
        (ask(question=one["question"], context=part["context"])["answer"], one["answers"][0]["text"])
        for article in json.loads(made.read_text())["data"]
        for part in article["paragraphs"]
        for one in part["qas"]
    ]
    return sum(normalize_answer(answer) == normalize_answer(gold) for answer, gold in told)


def test_wrong_use_is_named(tmp_path, capsys):
    (tmp_path / "text.txt").write_text(TEXT)
    arguments = ["make-questions", str(tmp_path / "text.txt"), "--out", str(tmp_path / "q.json")]
    assert main([*arguments, "--filter-f1", "50"]) == 2
    assert "--filter FOLDER" in capsys.readouterr().err
    assert main([*arguments, "--kinds", "city"]) == 2
    assert main([*arguments, "--lines", "sentences"]) == 2  # lines are read whole here
    assert "--lines" in capsys.readouterr().err
    assert main([*arguments, "--not-from", str(tmp_path / "gone.json")]) == 3
    assert "gone.json" in capsys.readouterr().err
    text = tmp_path / "text.txt"
    assert main(["make-questions", str(text), "--out", str(text)]) == 2 and text.read_text() == TEXT
    assert "text.txt is read" in capsys.readouterr().err
    assert main(["make-questions", str(text), "--out", str(text / "q.json")]) == 1
    told = capsys.readouterr().err
    assert "a file stands where a folder is needed" in told and "partial" not in told
