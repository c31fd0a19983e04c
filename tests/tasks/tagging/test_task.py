"""Tagging end to end: learnt by heart, scored, predicted, loaded by Hugging Face's class."""

import json

import numpy as np
import pytest
import torch

from spanwise.errors import ConfigError, DataError
from spanwise.nn.config import EncoderConfig
from spanwise.tasks.checkpoint import load_task_model
from spanwise.tasks.evaluate import evaluate, predict
from spanwise.tasks.run import finetune
from spanwise.tasks.tagging.task import RECIPES, Tagging

FAST = ["training.max_steps=60", "training.learning_rate=3e-3", "training.precision=fp32", "training.threads=1"]
CONLL = """The DT O
Han NNP B-LOC
River NNP I-LOC
is VBZ O
494 CD B-LEN
km NN I-LEN
. . O

In IN O
Seoul NNP B-LOC
"""
KLUE = [("한", "B-LC"), ("강", "I-LC"), ("a", "O"), (" ", "O"), ("4", "B-QT"), ("k", "I-QT"), ("m", "I-QT"), ("b", "O")]
KLUE_FILE = "## 1\tx\n" + "".join(f"{sign}\t{tag}\n" for sign, tag in KLUE) + "\n## 2\ty\n강\tB-LC\nb\tO\n"


@pytest.fixture(scope="module")
def conll(tmp_path_factory):
    path = tmp_path_factory.mktemp("conll") / "train.txt"
    path.write_text(CONLL)
    return path


@pytest.fixture(scope="module")
def finetuned(pretrained_folder, conll, tmp_path_factory):
    out = tmp_path_factory.mktemp("run") / "run"
    return finetune("tagging", model=pretrained_folder, train=conll, dev=conll, out=out, overrides=FAST)


def test_fine_tuning_learns_its_spans_and_the_folder_predicts_the_same(finetuned, conll, tmp_path):
    assert finetuned.scores["f1"] == 100.0 and finetuned.scores["LOC"]["recall"] == 100.0
    found = evaluate("tagging", model=finetuned.final, data=conll, precision="fp32")
    assert found.scores == finetuned.scores
    files = predict("tagging", model=finetuned.final, input=conll, output=tmp_path / "p.conll", precision="fp32")
    assert [path.name for path in files] == ["p.conll", "p.json"]
    assert Tagging().score_files(conll, files[0], {}).scores == finetuned.scores
    spans = json.loads(files[1].read_text())[0]["spans"]
    assert [(span["text"], span["label"]) for span in spans] == [("Han River", "LOC"), ("494 km", "LEN")]
    table = finetuned.task.score_table(finetuned.scores)
    assert table.rows[0] == ("all", "100.00", "100.00", "100.00") and {row[0] for row in table.rows} >= {"LOC", "LEN"}


def test_the_class_of_hugging_face_loads_the_folder_and_gives_the_same_scores(finetuned, conll):
    from transformers import AutoModelForTokenClassification, AutoTokenizer

    theirs, report = AutoModelForTokenClassification.from_pretrained(finetuned.final, output_loading_info=True)
    assert not report["missing_keys"] and not report["unexpected_keys"]
    assert list(theirs.config.id2label.values()) == ["O", "B-LEN", "I-LEN", "B-LOC", "I-LOC"]
    loaded = load_task_model(finetuned.final, "tagging", device="cpu")
    data = loaded.task.read(conll, purpose="score")
    rows = loaded.task.featurize(data, loaded.tokenizer, loaded.model.encoder.config, training=False)
    words = data.sentences[0].text.split()
    batch = AutoTokenizer.from_pretrained(finetuned.final)(words, is_split_into_words=True, return_tensors="pt")
    places = [batch.word_to_tokens(number).start for number in range(len(words))]
    with torch.no_grad():
        expected = theirs.eval()(**batch).logits[0, places]
    torch.testing.assert_close(torch.from_numpy(loaded.model.outputs(rows)[0]), expected, atol=1e-5, rtol=1e-5)
    assert "spans of the types LEN, LOC, at the first piece of each word" in (finetuned.final / "README.md").read_text()


def test_files_of_characters_are_learnt_at_pieces_and_scored_by_entity_and_character(pretrained_folder, tmp_path):
    path = tmp_path / "train.tsv"
    path.write_text(KLUE_FILE, encoding="utf-8")
    run = finetune("tagging", model=pretrained_folder, train=path, dev=path, out=tmp_path / "run", overrides=FAST)
    assert run.scores["macro_f1"] == run.scores["char_macro_f1"] == run.scores["f1"] == 100.0
    found = evaluate("tagging", model=run.final, data=path, precision="fp32")
    assert found.predictions.record(0)["spans"][1]["text"] == "4km"
    assert any(note.startswith("char macro f1") for note in run.task.score_table(run.scores).notes)


def test_windows_are_stitched_to_the_tags_of_the_whole(finetuned, conll):
    loaded = load_task_model(finetuned.final, "tagging", device="cpu")
    data = loaded.task.read(conll, purpose="score")
    config = loaded.model.encoder.config
    task = Tagging(**{**loaded.task.__dict__, "max_length": 9, "stride": 3})
    rows = task.featurize(data, loaded.tokenizer, config, training=False)
    found = task.decode(data, rows, loaded.model.outputs(rows))
    assert found.num_windows[0] > 1 and len(found.tags[0]) == 7
    with pytest.raises(ConfigError, match="encoder's 128 positions"):
        Tagging(max_length=129).featurize(data, loaded.tokenizer, config, training=False)


def test_word_classes_are_told_for_every_word(pretrained_folder, conll, tmp_path):
    changes = [*FAST, "task.column=1"]
    run = finetune("tagging", model=pretrained_folder, train=conll, dev=conll, out=tmp_path / "run", overrides=changes)
    assert run.scores == {"accuracy": 100.0, "macro_f1": 100.0}
    assert run.task.score_table(run.scores).columns == ("metric", "score")


def test_files_that_disagree_are_refused(tmp_path, conll):
    def read(text, **options):
        path = tmp_path / "x.txt"
        path.write_text(text)
        return Tagging(**options).read(path, purpose="train")

    entities, classes = read(CONLL), read("a NN\nb VB\n")
    with pytest.raises(DataError, match=r"holds entities of words and .* classes of words"):
        Tagging().check_pair(entities, classes)
    with pytest.raises(DataError, match="'NN' is no tag of an entity"):
        read("a NN\nb VB\n", kind="entities")
    with pytest.raises(DataError, match="nothing to tell apart"):
        Tagging().taught_by(read("a O\nb O\n"))
    with pytest.raises(DataError, match="'B-LEN', which is not among"):
        Tagging(labels=("O", "B-LOC", "I-LOC")).taught_by(entities)
    assert (
        Tagging().labelled(("O", "B-X"), 2).kind == "entities" and Tagging().labelled(("NN", "VB"), 2).kind == "classes"
    )


def test_unreachable_borders_are_said_before_training(tokenizer, tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_text('{"text": "Seoul is", "spans": [{"start": 0, "end": 2, "label": "X"}]}')
    data = Tagging().read(path, purpose="train")
    task = Tagging().taught_by(data)
    config = EncoderConfig(vocab_size=500, hidden_size=8, num_layers=1, num_heads=1, intermediate_size=8)
    lines = task.describe(data, task.featurize(data, tokenizer, config, training=True))
    assert "X (1)" in lines[0] and "1 spans (100.0 %) begin or end inside a piece" in lines[1]
    assert np.array_equal(task.head_size, (3,))


@pytest.mark.parametrize("suffix", [".json", ".conll"])
def test_predictions_at_another_level_than_the_gold_are_scored(finetuned, tmp_path, suffix):
    rows = [{"text": "The Han River .", "spans": [{"start": 4, "end": 13, "label": "LOC"}]}]
    gold = tmp_path / "gold.jsonl"
    gold.write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = evaluate("tagging", model=finetuned.final, data=gold, precision="fp32").scores
    told = predict("tagging", model=finetuned.final, input=gold, output=tmp_path / f"p{suffix}", precision="fp32")[0]
    assert Tagging().score_files(gold, told, {}).scores["f1"] == found["f1"]
    gold.write_text(json.dumps({"text": "Another text", "spans": []}))
    with pytest.raises(DataError, match="differs"):
        Tagging().score_files(gold, told, {})


def test_types_that_the_model_does_not_know_are_counted(finetuned, tmp_path):
    path = tmp_path / "x.txt"
    path.write_text(CONLL.replace("Seoul NNP B-LOC", "Seoul NNP B-TOWN"))
    scores = evaluate("tagging", model=finetuned.final, data=path, precision="fp32").scores
    assert scores["num_unknown_labels"] == 1 and scores["LOC"]["recall"] == 100.0 and scores["TOWN"]["recall"] == 0.0
    assert any("does not know" in note for note in finetuned.task.score_table(scores).notes)


def test_the_recipe_has_values_of_the_papers_grid():
    usual, recipe = RECIPES["tags"](), RECIPES["bert"]()
    assert (usual.training.learning_rate, usual.training.num_epochs, usual.hidden_dropout) == ("auto",) * 3
    assert next(iter(RECIPES)) == "tags" and recipe.hidden_dropout is None
    assert (recipe.training.learning_rate, recipe.training.num_epochs, recipe.batch_size) == (3e-5, 3, 32)
    assert recipe.task.head_name == "tagging" and recipe.task.main_score == "f1"


@pytest.mark.parametrize(
    ("choice", "words"), [("windows", "read in windows; nothing is dropped"), ("error", "refused")]
)
def test_the_card_says_what_becomes_of_long_texts(choice, words):
    task = Tagging(labels=("O", "B-X", "I-X"), kind="entities", level="words", on_overflow=choice)
    config = EncoderConfig(vocab_size=500, hidden_size=8, num_layers=1, num_heads=1, intermediate_size=8)
    assert task.facts(config)[0].endswith(f"Long texts are {words}.")
