"""Fine-tuned models asked: scores and predictions, in memory and in files."""

import json
import shutil

import pytest

from spanwise.errors import CheckpointError, ConfigError
from spanwise.tasks.evaluate import evaluate, evaluate_each, predict, write_predictions
from spanwise.tasks.qa.reader import read_questions
from spanwise.tasks.qa.score import score
from spanwise.tasks.run import finetune


def test_evaluation_of_the_folder_gives_the_scores_of_the_run(finetuned, squad_files, tmp_path):
    result = evaluate(
        "qa", model=finetuned.final, data=squad_files["v2.0"], out=tmp_path / "new" / "s.json", precision="fp32"
    )
    assert result.scores == finetuned.scores == json.loads((tmp_path / "new" / "s.json").read_text())


def test_predictions_score_as_the_evaluation_does(finetuned, squad_files, tmp_path):
    files = predict(
        "qa", model=finetuned.final, input=squad_files["v2.0"], output=tmp_path / "new" / "p.json", precision="fp32"
    )
    assert [path.name for path in files] == ["p.json", "p.nbest.json", "p.null_odds.json", "p.windows.json"]
    answers, nbest, odds, windows = (json.loads(path.read_text()) for path in files)
    assert all(read["num_windows"] >= 1 and read["num_dropped_tokens"] == 0 for read in windows.values())
    data = read_questions(squad_files["v2.0"], purpose="score")
    assert score(data, answers)["f1"] == finetuned.scores["f1"]
    assert nbest.keys() == odds.keys() == answers.keys() == {question.id for question in data.questions}
    assert answers["price"] == "" and odds["price"] > finetuned.task.null_threshold


def test_a_model_without_the_tasks_head_refuses_to_answer_and_names_the_cure(pretrained_folder, squad_files, tmp_path):
    for ask in (
        lambda: evaluate("qa", model=pretrained_folder, data=squad_files["1.1"]),
        lambda: predict("qa", model=pretrained_folder, input=squad_files["1.1"], output=tmp_path / "p.json"),
    ):
        with pytest.raises(CheckpointError, match=r"fresh head .* spanwise finetune qa"):
            ask()
    assert not (tmp_path / "p.json").exists()


def test_a_folder_in_the_place_of_the_output_file_is_named(finetuned, squad_files, tmp_path):
    with pytest.raises(ConfigError, match=r"name the file to write, such as .*predictions\.json"):
        predict("qa", model=finetuned.final, input=squad_files["1.1"], output=tmp_path)


def test_scores_are_never_written_over_the_data_and_a_bad_place_is_told_before_the_model_is_loaded(tmp_path):
    data, model = tmp_path / "dev.json", tmp_path / "no such model"
    data.write_text("{}")
    for ask, given in ((evaluate, data), (evaluate_each, [data])):
        with pytest.raises(ConfigError, match=r"dev\.json is read, so nothing is written over it"):
            ask("qa", model=model, data=given, out=data)
        with pytest.raises(ConfigError, match=r"is a folder; name the file to write, such as .*scores\.json"):
            ask("qa", model=model, data=given, out=tmp_path)
    with pytest.raises(ConfigError, match=r"such as .*predictions\.json"):
        predict("qa", model=model, input=data, output=tmp_path)
    assert data.read_text() == "{}"


def test_files_beside_the_output_take_the_place_of_none_that_is_there_and_that_is_told_before_the_model_is_loaded(
    tmp_path,
):
    for name in ("test.tsv", "gold.tsv", "rows.txt"):
        (tmp_path / name).write_text("text\nkm\n")

    def ask(input, output):
        asked = {"input": tmp_path / input, "output": tmp_path / output}
        predict("classification", model=tmp_path / "no such model", **asked)

    with pytest.raises(ConfigError, match=r"test\.tsv is the input, and a file of this name .*test\.json"):
        ask("test.tsv", "test.json")
    with pytest.raises(ConfigError, match=r"gold\.tsv is there already, and predictions to .*gold\.json would replace"):
        ask("rows.txt", "gold.json")
    (tmp_path / "gold.json").write_text("{}")  # of an earlier prediction, as the other is
    with pytest.raises(CheckpointError, match="no such model"):
        ask("rows.txt", "gold.json")


@pytest.mark.parametrize(
    ("output", "files"),
    [
        ("p.x", {"p.x": "first", "p.y": "second"}),
        ("p.y", {"p.x": "first", "p.y": "second"}),
        ("p.json", {"p.json": "first", "p.y": "second"}),
        ("p", {"p": "first", "p.y": "second"}),
    ],
)
def test_what_is_written_goes_by_suffix_and_the_file_that_was_asked_for_is_always_there(tmp_path, output, files):
    class Both:
        def prediction_files(self, predictions):
            return {".x": "first", ".y": "second"}

    written = write_predictions(tmp_path / output, Both(), None)
    assert written[0] == tmp_path / output
    assert {path.name: path.read_text() for path in written} == files


def test_a_task_that_names_no_files_before_refuses_when_it_writes(tmp_path):
    class Both:
        def prediction_files(self, predictions):
            return {"": "first", ".tsv": "second"}

    (tmp_path / "p.tsv").write_text("gold")
    with pytest.raises(ConfigError, match=r"p\.tsv is there already"):
        write_predictions(tmp_path / "p.json", Both(), None, made_from=[tmp_path / "story.txt"])
    assert (tmp_path / "p.tsv").read_text() == "gold" and not (tmp_path / "p.json").exists()


def test_a_file_that_is_named_for_another_form_is_written_under_its_own_again_too(tmp_path, caplog):
    class Lines:
        def prediction_files(self, predictions):
            return {".jsonl": "{}\n"}

    for _ in range(2):
        written = write_predictions(tmp_path / "p.conll", Lines(), None, made_from=[tmp_path / "story.txt"])
        assert written == [tmp_path / "p.jsonl"]
    assert not (tmp_path / "p.conll").exists() and "no form .conll; .jsonl is written" in caplog.text


def test_several_files_are_scored_by_one_model_each_under_its_name(finetuned, squad_files, tmp_path):
    for name in ("dev_a.json", "dev_b.json"):
        shutil.copy(squad_files["v2.0"], tmp_path / name)
    asked = {"model": finetuned.final, "precision": "fp32"}
    found = evaluate_each(
        "qa", data=[tmp_path / "dev_a.json", tmp_path / "dev_b.json"], out=tmp_path / "s.json", **asked
    )
    assert {name: result.scores for name, result in found.items()} == dict.fromkeys(
        ("dev_a", "dev_b"), finetuned.scores
    )
    assert json.loads((tmp_path / "s.json").read_text())["dev_b"] == finetuned.scores
    (tmp_path / "x").mkdir()
    shutil.copy(squad_files["v2.0"], tmp_path / "x" / "dev_a.json")
    same = [tmp_path / "dev_a.json", tmp_path / "x" / "dev_a.json"]
    assert list(evaluate_each("qa", data=same, **asked)) == [str(path) for path in same]
    with pytest.raises(ConfigError, match="named twice"):
        evaluate_each("qa", data=same[:1] * 2, **asked)


def test_what_prediction_drops_is_said(pretrained_folder, tmp_path, caplog):
    path = tmp_path / "train.tsv"
    path.write_text("text\tlabel\n" + "km " * 20 + "\tx\nkm\ty\n")
    changes = ["training.max_steps=1", "training.precision=fp32", "task.max_length=8"]
    run = finetune("classification", model=pretrained_folder, train=path, out=tmp_path / "run", overrides=changes)
    caplog.clear()
    predict("classification", model=run.final, input=path, output=tmp_path / "p.json")
    assert "1 of 2 examples are longer than the model reads; 14 tokens were dropped" in caplog.text


class Counted:
    """A gauge that keeps what it is told."""

    def __init__(self):
        self.expected = self.read = 0

    def expect(self, tokens):
        self.expected += tokens

    def add(self, tokens):
        self.read += tokens


def test_a_gauge_is_told_of_all_tokens_before_and_as_they_are_read(finetuned, squad_files, tmp_path):
    gauge = Counted()
    given = {"model": finetuned.final, "precision": "fp32", "gauge": gauge}
    predict("qa", input=squad_files["1.1"], output=tmp_path / "p.json", **given)
    once = gauge.expected
    assert 0 < once <= gauge.read  # packs are filled up
    evaluate("qa", data=squad_files["1.1"], **given)
    evaluate_each("qa", data=[squad_files["1.1"], squad_files["v2.0"]], **given)
    assert gauge.expected >= 3 * once and gauge.read >= gauge.expected
