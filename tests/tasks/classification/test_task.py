"""Classification end to end: learnt by heart, scored, predicted, loaded by Hugging Face's class, in every family."""

import dataclasses
import json

import numpy as np
import pytest
import torch

from spanwise.errors import CheckpointError, ConfigError, DataError
from spanwise.interop.folder_plan import FolderContent
from spanwise.interop.huggingface import read_folder, write_folder
from spanwise.nn.config import EncoderConfig
from spanwise.nn.encoder import Encoder
from spanwise.nn.init import initialize
from spanwise.tasks.checkpoint import load_task_model
from spanwise.tasks.classification.task import Classification
from spanwise.tasks.evaluate import evaluate, predict
from spanwise.tasks.registry import task_recipe
from spanwise.tasks.run import finetune

FAST = ["training.max_steps=40", "training.learning_rate=3e-3", "training.precision=fp32", "training.threads=1"]
ROWS = [("The Han is long", "1"), ("km km km", "0"), ("A bridge is in Seoul", "1"), ("in and in and", "0")]
PAIRS = [("The Han", "a river", "3.5"), ("Seoul", "km", "0.5"), ("In", "in", "5.0"), ("bridge", "the", "1.0")]


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    path = tmp_path_factory.mktemp("texts") / "train.tsv"
    path.write_text("sentence\tlabel\n" + "".join(f"{text}\t{label}\n" for text, label in ROWS), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def finetuned(pretrained_folder, texts, tmp_path_factory):
    out = tmp_path_factory.mktemp("run") / "run"
    return finetune(
        "classification", model=pretrained_folder, train=texts, dev=texts, out=out, recipe="sst-2", overrides=FAST
    )


def test_fine_tuning_learns_its_texts_and_the_folder_predicts_the_same(finetuned, texts, tmp_path):
    assert finetuned.scores["accuracy"] == finetuned.scores["mcc"] == 100.0
    assert next(iter(finetuned.scores)) == "accuracy"
    assert evaluate("classification", model=finetuned.final, data=texts, precision="fp32").scores == finetuned.scores
    files = predict("classification", model=finetuned.final, input=texts, output=tmp_path / "p.json", precision="fp32")
    assert [path.name for path in files] == ["p.json", "p.tsv"]
    told = json.loads(files[0].read_text())
    assert [told[str(number)]["label"] for number in range(4)] == [label for _, label in ROWS]
    assert json.loads((finetuned.final.parent / "dev_predictions.json").read_text()) == told
    scored = Classification(dataset="sst-2").score_files(texts, files[1], {})
    assert scored.scores["accuracy"] == 100.0 and scored.notes == ()


def test_too_long_texts_may_be_refused_at_prediction(finetuned, texts, tmp_path):
    long = tmp_path / "long.tsv"
    long.write_text("sentence\tlabel\n" + "km " * 200 + "\t1\n")
    assert evaluate("classification", model=finetuned.final, data=long).scores["accuracy"] in (0.0, 100.0)
    with pytest.raises(DataError, match=r"long\.tsv, line 2: 202 tokens, and at most 128 fit"):
        evaluate("classification", model=finetuned.final, data=long, on_overflow="error")
    with pytest.raises(ConfigError, match=r"task\.on_overflow cannot be 'cut'"):
        predict("classification", model=finetuned.final, input=long, output=tmp_path / "p.json", on_overflow="cut")


def test_the_class_of_hugging_face_loads_the_folder_and_gives_the_same_scores(finetuned, texts):
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    theirs, report = AutoModelForSequenceClassification.from_pretrained(finetuned.final, output_loading_info=True)
    assert type(theirs).__name__ == "BertForSequenceClassification"
    assert not report["missing_keys"] and not report["unexpected_keys"]
    assert theirs.config.id2label == {0: "0", 1: "1"}
    assert theirs.config.problem_type == "single_label_classification"
    loaded = load_task_model(finetuned.final, "classification", device="cpu")
    data = loaded.task.read(texts, purpose="score")
    ours = loaded.model.outputs(
        loaded.task.featurize(data, loaded.tokenizer, loaded.model.encoder.config, training=False)
    )
    batch = AutoTokenizer.from_pretrained(finetuned.final)(list(data.texts), return_tensors="pt", padding=True)
    with torch.no_grad():
        expected = theirs.eval()(**batch).logits
    torch.testing.assert_close(torch.from_numpy(np.stack(ours)), expected, atol=1e-5, rtol=1e-5)
    card = (finetuned.final / "README.md").read_text()
    assert "tells one of 0, 1 for a text of at most 128 tokens (data set: sst-2)" in card


def test_regression_on_pairs_is_one_number_in_the_folder(pretrained_folder, tmp_path):
    path = tmp_path / "train.tsv"
    path.write_text("sentence1\tsentence2\tscore\n" + "".join("\t".join(row) + "\n" for row in PAIRS))
    run = finetune(
        "classification",
        model=pretrained_folder,
        train=path,
        dev=path,
        out=tmp_path / "r",
        recipe="sts-b",
        overrides=[*FAST, "training.head_learning_rate=0.05", "hidden_dropout=0"],
    )
    assert run.scores["pearson"] > 90 and next(iter(run.scores)) == "pearson_and_spearman"
    settings = json.loads((run.final / "config.json").read_text())
    assert settings["problem_type"] == "regression" and len(settings["id2label"]) == 1
    found = evaluate("classification", model=run.final, data=path, precision="fp32")
    assert found.scores == run.scores and isinstance(found.predictions.told[0], float)
    single = tmp_path / "single.tsv"
    single.write_text("sentence\tscore\na\t1.0\n")
    with pytest.raises(DataError, match="which columns hold the texts"):
        evaluate("classification", model=run.final, data=single)


def test_many_labels_an_example_and_windows(pretrained_folder, tmp_path):
    path = tmp_path / "train.jsonl"
    rows = [
        {"text": "Han " * 9 + "Seoul", "labels": ["a", "b"]},
        {"text": "km", "labels": ["b"]},
        {"text": "in", "labels": []},
    ]
    path.write_text("\n".join(map(json.dumps, rows)))
    changes = [*FAST, "task.max_length=8", "task.on_overflow=windows", "task.stride=3"]
    run = finetune(
        "classification", model=pretrained_folder, train=path, dev=path, out=tmp_path / "r", overrides=changes
    )
    assert run.scores["exact_match"] == 100.0 and next(iter(run.scores)) == "micro_f1"
    predictions = evaluate("classification", model=run.final, data=path, precision="fp32").predictions
    assert predictions.record(0)["num_windows"] > 1 and predictions.record(0)["num_dropped_tokens"] == 0


def test_another_label_set_replaces_the_head_and_says_so(finetuned, tmp_path):
    from spanwise.runtime.progress import RunLog

    path = tmp_path / "train.tsv"
    path.write_text("text\tlabel\na\tx\nb\ty\n")
    said = tmp_path / "said.txt"
    with open(said, "w") as stream:
        log = RunLog(tmp_path / "run", stream=stream, display="plain")
        run = finetune(
            "classification",
            model=finetuned.final,
            train=path,
            out=tmp_path / "run",
            overrides=["training.max_steps=1"],
            log=log,
        )
    assert "starts fresh: the one that the model has tells other labels (0, 1)" in said.read_text()
    assert read_folder(run.final).labels == ("x", "y")


@pytest.mark.parametrize("model_type", ["roberta", "electra", "albert", "openai-gpt"])
def test_every_family_fine_tunes_to_the_class_that_its_library_has(tokenizer, texts, tmp_path, model_type):
    shape = {"hidden_size": 16, "num_layers": 1, "num_heads": 2, "intermediate_size": 64, "max_positions": 40}
    own = {
        "roberta": {"position_offset": 1, "num_token_types": 1},
        "electra": {"embedding_size": 8},
        "albert": {"embedding_size": 8, "sharing": "all", "pooler": True},
        "openai-gpt": {"causal": True, "embedding_norm": False, "num_token_types": 0, "activation": "gelu_tanh"},
    }[model_type]
    encoder = Encoder(EncoderConfig(vocab_size=tokenizer.vocab_size, **(shape | own)))
    initialize(encoder, encoder.config, seed=1)
    write_folder(tmp_path / "start", FolderContent(encoder, {}, tokenizer, model_type=model_type))
    run = finetune(
        "classification",
        model=tmp_path / "start",
        train=texts,
        dev=texts,
        out=tmp_path / "run",
        overrides=["training.max_steps=2", "training.precision=fp32"],
    )
    names = {"openai-gpt": "OpenAIGPT", "roberta": "Roberta", "electra": "Electra", "albert": "Albert"}
    assert read_folder(run.final).source_class == f"{names[model_type]}ForSequenceClassification"
    assert evaluate("classification", model=run.final, data=texts, precision="fp32").scores == run.scores


def test_a_folder_of_others_tells_the_labels_of_its_config(finetuned):
    folder = finetuned.final
    checkpoint = read_folder(folder)
    checkpoint.record.clear()
    from spanwise.tasks.checkpoint import stored_task

    task = stored_task(checkpoint, task_recipe("classification").task)
    assert task.labels == ("0", "1") and task.kind == "single_label" and task.is_pair is None
    assert Classification().labelled((), 1).kind == "regression"
    assert Classification().labelled((), 3).labels == ("LABEL_0", "LABEL_1", "LABEL_2")
    multi = dataclasses.replace(checkpoint, problem_type="multi_label_classification")
    assert stored_task(multi, task_recipe("classification").task).kind == "multi_label"
    for number in (1, 2):
        several = Classification().labelled(("a", "b")[:number], number, "multi_label_classification")
        assert (several.kind, several.labels) == ("multi_label", ("a", "b")[:number])
    assert Classification().labelled(("a",), 1, "regression").kind == "regression"
    with pytest.raises(CheckpointError, match=r"a classifier of 3 numbers .*problem_type 'regression'"):
        Classification().labelled((), 3, "regression")
    checkpoint.record["task"] = {"part": "relation"}
    with pytest.raises(CheckpointError, match="fine-tuned for the task 'relation'"):
        stored_task(checkpoint, task_recipe("classification").task)


def test_files_that_disagree_are_refused(texts, tmp_path, finetuned):
    def read(rows, purpose="train", task=Classification()):  # noqa: B008
        path = tmp_path / "x.tsv"
        path.write_text(rows)
        return task.read(path, purpose=purpose)

    train = read("text\tlabel\na\tx\nb\ty\n")
    with pytest.raises(DataError, match=r"x\.tsv, line 3: the label 'z' does not occur"):
        Classification().check_pair(train, read("text\tlabel\na\tx\nb\tz\n"))
    Classification(labels=("x", "y", "z")).check_pair(train, read("text\tlabel\na\tx\nb\tz\n"))  # a head that knows z
    with pytest.raises(DataError, match=r"single texts .* pairs"):
        Classification().check_pair(train, read("text1\ttext2\tlabel\na\tb\tx\n"))
    with pytest.raises(DataError, match="nothing to tell apart"):
        Classification().taught_by(read("text\tlabel\na\tx\nb\tx\n"))
    with pytest.raises(DataError, match="'y', which is not among"):
        Classification(labels=("x", "w")).taught_by(train)
    with pytest.raises(DataError, match="holds pairs, and what the model learns from holds single texts"):
        read("text1\ttext2\tlabel\na\tb\tx\n", task=Classification(is_pair=False))
    unknown = tmp_path / "unknown.tsv"
    unknown.write_text("sentence\tlabel\nThe Han is long\t1\nkm km km\t7\n")
    scores = evaluate("classification", model=finetuned.final, data=unknown, precision="fp32").scores
    assert scores["accuracy"] == 50.0 and scores["num_unknown_labels"] == 1
    assert "label that the model does not know" in Classification().score_table(scores).notes[0]


def test_columns_by_name_or_number_are_taken_from_any_file(tmp_path):
    path = tmp_path / "own.csv"
    path.write_text('frase,etiqueta\n"uno, dos",si\ntres,no\n')
    data = Classification(text="frase", label="etiqueta").read(path, purpose="train")
    assert (data.texts, data.labels) == (("uno, dos", "tres"), ("si", "no"))
    path.write_text("si\tuno\tdos\nno\ttres\tcuatro\n")
    data = Classification(text="1", pair="2", label="0").read(path, purpose="predict")
    assert data.pairs == ("dos", "cuatro")
    data = Classification(text="1", pair="2", label="0").read(path, purpose="train")
    assert data.labels == ("si", "no")
    path.write_text("uno\ntres\n")
    assert Classification(text="0", label="1").read(path, purpose="predict").texts == ("uno", "tres")
    with pytest.raises(DataError, match="which columns hold the texts and the label"):
        Classification(text="0").read(path, purpose="score")
    for wrong, words in (
        ({"labels": ("a", "a")}, "twice"),
        ({"pair": "b"}, "name both"),
        ({"dataset": "glue"}, "no data"),
    ):
        with pytest.raises(ConfigError, match=words):
            Classification(**wrong)


def test_predictions_of_another_file_are_refused_and_missing_ones_are_wrong(texts, tmp_path):
    path = tmp_path / "p.json"
    path.write_text('{"0": "1", "9": "0"}')
    with pytest.raises(DataError, match="such as '9'"):
        Classification().score_files(texts, path, {})
    path.write_text('{"0": "1"}')
    found = Classification().score_files(texts, path, {})
    assert found.scores["accuracy"] == 25.0 and "3 of 4 examples have no prediction" in found.notes[0]
    assert "f1" in found.scores  # the labels are still 0 and 1


def test_whole_numbers_are_scored_as_the_numbers_that_were_predicted(tmp_path):
    gold, told = tmp_path / "gold.tsv", tmp_path / "p.json"
    gold.write_text("sentence\tlabel\na\t1\nb\t2\nc\t4\n")
    told.write_text(json.dumps({str(n): {"value": value} for n, value in enumerate((0.5, 1.0, 2.0))}))
    assert Classification().score_files(gold, told, {}).scores["pearson"] == pytest.approx(100.0)
    lines = tmp_path / "p.tsv"
    lines.write_text("index\tprediction\n0\t0.5\n1\t1.0\n2\t2\n")
    assert Classification().score_files(gold, lines, {}).scores["pearson"] == pytest.approx(100.0)
    told.write_text(json.dumps({"0": "1", "1": "2", "2": "4"}))
    assert Classification().score_files(gold, told, {}).scores["accuracy"] == 100.0


def test_predictions_for_pairs_without_an_agreed_label_are_passed_over(tmp_path):
    """`predict` answers all rows of a file, `score` counts those with a label: the ids are the same."""
    path = tmp_path / "dev.tsv"
    path.write_text("sentence1\tsentence2\tgold_label\na\tb\tx\nc\td\t-\ne\tf\ty\n")
    task = Classification(dataset="mnli")
    assert task.read(path, purpose="predict").ids == ("0", "1", "2")
    told = tmp_path / "p.tsv"
    told.write_text("index\tprediction\n0\tx\n1\ty\n2\ty\n")
    found = task.score_files(path, told, {})
    assert found.scores["accuracy"] == 100.0 and found.notes == ()


def test_evaluation_may_leave_malformed_rows_out_and_says_how_many(finetuned, tmp_path, caplog):
    path = tmp_path / "dev.tsv"
    path.write_text("sentence\tlabel\nThe Han is long\t1\n\t0\nkm km km\t0\n")
    with pytest.raises(DataError, match=r"dev\.tsv, line 3: column 'sentence' is empty"):
        evaluate("classification", model=finetuned.final, data=path)
    found = evaluate("classification", model=finetuned.final, data=path, errors="repair", precision="fp32")
    assert found.scores["accuracy"] == 100.0 and "1 rows are left out" in caplog.text
