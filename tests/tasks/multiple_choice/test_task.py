"""Multiple choice end to end: learnt by heart, scored, predicted, loaded by Hugging Face's class."""

import json

import numpy as np
import pytest
import torch

from spanwise.errors import DataError
from spanwise.tasks.checkpoint import load_task_model
from spanwise.tasks.evaluate import evaluate, predict
from spanwise.tasks.multiple_choice.task import RECIPES, MultipleChoice
from spanwise.tasks.run import finetune

FAST = [
    "training.max_steps=60", "training.learning_rate=3e-3", "training.head_learning_rate=1e-2",
    "training.precision=fp32", "training.threads=1", "hidden_dropout=0",
]  # fmt: skip
ROWS = [
    {"id": "a", "context": "The Han is a", "choices": ["river", "bridge"], "answer": 0},
    {"id": "b", "context": "Seoul is", "question": "in ?", "choices": ["km", "Apr", "the Han"], "answer": 2},
    {"id": "c", "question": "and ?", "choices": ["the", "In"], "answer": 1},
]


@pytest.fixture(scope="module")
def choices(tmp_path_factory):
    path = tmp_path_factory.mktemp("choices") / "train.jsonl"
    path.write_text("\n".join(map(json.dumps, ROWS)))
    return path


@pytest.fixture(scope="module")
def finetuned(pretrained_folder, choices, tmp_path_factory):
    out = tmp_path_factory.mktemp("run") / "run"
    return finetune("multiple-choice", model=pretrained_folder, train=choices, dev=choices, out=out, overrides=FAST)


def test_fine_tuning_learns_its_questions_and_the_folder_predicts_the_same(finetuned, choices, tmp_path):
    assert finetuned.scores == {"accuracy": 100.0, "chance": pytest.approx(100 * (1 / 2 + 1 / 3 + 1 / 2) / 3)}
    assert evaluate("multiple-choice", model=finetuned.final, data=choices, precision="fp32").scores == finetuned.scores
    files = predict(
        "multiple-choice", model=finetuned.final, input=choices, output=tmp_path / "p.tsv", precision="fp32"
    )
    assert files[0].read_text().splitlines()[1:] == ["a\t0", "b\t2", "c\t1"]
    assert MultipleChoice().score_files(choices, files[0], {}).scores == finetuned.scores
    told = json.loads(files[1].read_text())
    assert told == json.loads((finetuned.final.parent / "dev_predictions.json").read_text())
    assert told["b"]["answer"] == "the Han"


def test_the_class_of_hugging_face_loads_the_folder_and_gives_the_same_scores(finetuned, choices):
    from transformers import AutoModelForMultipleChoice, AutoTokenizer

    theirs, report = AutoModelForMultipleChoice.from_pretrained(finetuned.final, output_loading_info=True)
    assert type(theirs).__name__ == "BertForMultipleChoice"
    assert not report["missing_keys"] and not report["unexpected_keys"]
    loaded = load_task_model(finetuned.final, "multiple-choice", device="cpu")
    data = loaded.task.read(choices, purpose="score")
    rows = loaded.task.featurize(data, loaded.tokenizer, loaded.model.encoder.config, training=False)
    found = loaded.model.outputs(rows)
    tokenizer = AutoTokenizer.from_pretrained(finetuned.final)
    for question, scores in zip(data.questions, found, strict=True):
        seconds = [question.second(choice) for choice in question.choices]
        batch = tokenizer([question.first] * len(seconds), seconds, return_tensors="pt", padding=True)
        with torch.no_grad():
            expected = theirs.eval()(**{name: tensor[None] for name, tensor in batch.items()}).logits[0]
        torch.testing.assert_close(torch.from_numpy(np.asarray(scores)), expected, atol=1e-5, rtol=1e-5)
    assert "chooses among any number of choices" in (finetuned.final / "README.md").read_text()


def test_a_file_whose_answers_all_stand_in_one_place_is_refused(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_text("\n".join(json.dumps({**row, "answer": 0}) for row in ROWS))
    with pytest.raises(DataError, match=r"all 3 questions is choice 1.*Shuffle"):
        MultipleChoice().taught_by(MultipleChoice().read(path, purpose="train"))


def test_predictions_of_another_file_are_refused_and_missing_ones_are_wrong(choices, tmp_path):
    path = tmp_path / "p.json"
    path.write_text('{"a": 0, "z": 1}')
    with pytest.raises(DataError, match="such as 'z'"):
        MultipleChoice().score_files(choices, path, {})
    path.write_text('{"a": 0}')
    found = MultipleChoice().score_files(choices, path, {})
    assert found.scores["accuracy"] == pytest.approx(100 / 3) and "2 of 3" in found.notes[0]


def test_what_is_cut_is_said_before_training(choices, tokenizer):
    from spanwise.nn.config import EncoderConfig

    task = MultipleChoice(max_length=9)
    data = task.read(choices, purpose="train")
    config = EncoderConfig(vocab_size=500, hidden_size=8, num_layers=1, num_heads=1, intermediate_size=8)
    lines = task.describe(data, task.featurize(data, tokenizer, config, training=True))
    assert "3 questions (2 of 2 choices, 1 of 3 choices;" in lines[0] and "cut to 9 tokens" in lines[1]


def test_the_parts_of_race_are_scored_apart_too(tmp_path):
    passage = {"article": "a", "questions": ["q", "r"], "options": [["x", "y"]] * 2, "answers": ["A", "B"]}
    for name in ("middle", "high"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "1.txt").write_text(json.dumps({**passage, "id": name}))
    told = tmp_path / "p.json"
    told.write_text(json.dumps({"middle-0": 0, "middle-1": 1, "high-0": 0, "high-1": 0}))
    scores = MultipleChoice().score_files(tmp_path, told, {}).scores
    assert scores == {"accuracy": 75.0, "accuracy_middle": 100.0, "accuracy_high": 50.0, "chance": 50.0}


def test_files_are_taught_by_the_encoders_size_and_the_papers_have_their_values():
    swag, race, bert, roberta = (RECIPES[name]() for name in ("swag", "race", "bert", "roberta"))
    for recipe in (swag, race):
        assert (recipe.training.learning_rate, recipe.training.num_epochs, recipe.hidden_dropout) == ("auto",) * 3
        assert recipe.batch_size == 16
    assert (bert.training.learning_rate, bert.training.num_epochs, bert.batch_size) == (2e-5, 3, 16)
    assert (roberta.training.learning_rate, roberta.training.num_epochs) == (1e-5, 4)
    assert roberta.training.weight_decay == 0.1
    assert (bert.task, roberta.task, roberta.training.warmup_steps) == (swag.task, race.task, 0.06)
    assert (swag.task.max_length, race.task.max_length, race.task.max_question_tokens) == (128, 512, 128)


def test_gpt_1_has_its_own_values():
    recipe = RECIPES["gpt-1"]()
    assert (recipe.training.learning_rate, recipe.training.num_epochs, recipe.batch_size) == (6.25e-5, 3, 32)
    assert (recipe.task.layout, recipe.task.lm_weight, recipe.task.max_length) == ("extract", 0.5, 512)
