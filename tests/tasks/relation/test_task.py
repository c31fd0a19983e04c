"""Relations end to end: learnt by heart, scored as the official scripts do, predicted from the folder alone."""

import json

import pytest
import torch

from spanwise.errors import CheckpointError, ConfigError, DataError
from spanwise.nn.config import EncoderConfig
from spanwise.tasks.checkpoint import load_task_model
from spanwise.tasks.evaluate import evaluate, predict
from spanwise.tasks.relation.task import RelationExtraction
from spanwise.tasks.run import finetune

CONFIG = EncoderConfig(vocab_size=500, hidden_size=8, num_layers=1, num_heads=1, intermediate_size=8)
FAST = [
    "training.max_steps=60",
    "hidden_dropout=0",
    "training.head_learning_rate=1e-2",
    "training.learning_rate=3e-3",
    "training.precision=fp32",
    "training.threads=1",
]


def example(id, words, subject, object, types, relation):
    return {
        "id": id, "token": words.split(), "subj_start": subject, "subj_end": subject, "obj_start": object,
        "obj_end": object, "subj_type": types[0], "obj_type": types[1], "relation": relation,
    }  # fmt: skip


ROWS = [
    example("1", "Ada is in Seoul", 0, 3, ("PERSON", "CITY"), "per:city"),
    example("2", "Bob and km is Ada", 0, 4, ("PERSON", "PERSON"), "per:alias"),
    example("3", "The Han is in Seoul", 1, 4, ("RIVER", "CITY"), "no_relation"),
    example("4", "km is in Han", 0, 3, ("RIVER", "RIVER"), "no_relation"),
]


@pytest.fixture(scope="module")
def tacred(tmp_path_factory):
    path = tmp_path_factory.mktemp("tacred") / "train.json"
    path.write_text(json.dumps(ROWS))
    return path


@pytest.fixture(scope="module")
def finetuned(marked_folder, tacred, tmp_path_factory):
    out = tmp_path_factory.mktemp("run") / "run"
    return finetune("relation", model=marked_folder, train=tacred, dev=tacred, out=out, overrides=FAST)


def test_the_folder_alone_predicts_what_the_run_did(finetuned, tacred, tmp_path):
    assert finetuned.scores["f1"] == 100.0 and next(iter(finetuned.scores)) == "f1"
    task = json.loads((finetuned.final / "spanwise.json").read_text())["task"]
    assert task["labels"][0] == "no_relation" and "SUBJ=PERSON" in task["marker_names"]
    assert evaluate("relation", model=finetuned.final, data=tacred, precision="fp32").scores == finetuned.scores
    bare = tmp_path / "bare.json"  # other order, no relations, other types among them: the maps are the folder's
    bare.write_text(json.dumps([{k: v for k, v in row.items() if k != "relation"} for row in reversed(ROWS)]))
    files = predict("relation", model=finetuned.final, input=bare, output=tmp_path / "p.txt", precision="fp32")
    told = dict(line.split("\t") for line in files[0].read_text().splitlines())
    assert told == {row["id"]: row["relation"] for row in ROWS}
    assert RelationExtraction().score_files(tacred, files[0], {}).scores == finetuned.scores
    run = json.loads((finetuned.final.parent / "dev_predictions.json").read_text())
    found = json.loads(files[1].read_text())
    assert {id: record["label"] for id, record in found.items()} == told
    assert all(found[id]["score"] == pytest.approx(run[id]["score"], abs=1e-6) for id in run)


def test_the_class_of_hugging_face_loads_the_folder_and_gives_the_same_scores(finetuned, tacred):
    from transformers import AutoModelForSequenceClassification

    theirs, report = AutoModelForSequenceClassification.from_pretrained(finetuned.final, output_loading_info=True)
    assert not report["missing_keys"] and not report["unexpected_keys"]
    assert list(theirs.config.id2label.values()) == list(finetuned.task.labels)
    loaded = load_task_model(finetuned.final, "relation", device="cpu")
    data = loaded.task.read(tacred, purpose="score")
    rows = loaded.task.featurize(data, loaded.tokenizer, loaded.model.encoder.config, training=False)
    ids = rows.input_ids[rows.sequence_borders[0] : rows.sequence_borders[1]]
    with torch.no_grad():
        expected = theirs.eval()(torch.from_numpy(ids).long()[None]).logits[0]
    torch.testing.assert_close(torch.from_numpy(loaded.model.outputs(rows)[0]), expected, atol=1e-5, rtol=1e-5)
    assert "Mentions are shown as 'ner'" in (finetuned.final / "README.md").read_text()


def test_a_folder_without_the_record_of_its_markers_is_refused(finetuned, tacred, tmp_path):
    import shutil

    shutil.copytree(finetuned.final, tmp_path / "bare", ignore=shutil.ignore_patterns("spanwise.json", "manifest.json"))
    with pytest.raises(CheckpointError, match="how mentions were marked is not known"):
        evaluate("relation", model=tmp_path / "bare", data=tacred)
    with pytest.raises(CheckpointError, match="fine-tuned for the task 'relation', not for 'classification'"):
        load_task_model(finetuned.final, "classification")


def test_semeval_is_scored_with_direction_and_plain_labels_by_micro_and_macro_f1(marked_folder, tmp_path):
    semeval = tmp_path / "a.txt"
    semeval.write_text('1\t"<e1>Ada</e1> in <e2>Han</e2>"\nX(e1,e2)\n\n2\t"<e1>Han</e1> is <e2>Ada</e2>"\nX(e2,e1)\n')
    short = ["training.max_steps=2", "training.precision=fp32"]
    run = finetune(
        "relation",
        model=marked_folder,
        train=semeval,
        dev=semeval,
        out=tmp_path / "a",
        recipe="semeval",
        overrides=short,
    )
    assert next(iter(run.scores)) == "macro_f1" and run.scores["coverage"] == 100.0
    marked = tmp_path / "b.jsonl"
    marked.write_text(
        '{"text": "[[ Ada ]] and << Han >>", "label": "A"}\n{"text": "<< km >> [[ Han ]]", "label": "B"}\n'
    )
    run = finetune(
        "relation", model=marked_folder, train=marked, dev=marked, out=tmp_path / "b", recipe="marked", overrides=short
    )
    assert list(run.scores) == ["micro_f1", "macro_f1"] and run.task.main_score == "micro_f1"
    with pytest.raises(DataError, match="take two of one kind"):
        RelationExtraction().check_pair(
            *(RelationExtraction().read(path, purpose="train") for path in (semeval, marked))
        )
    with pytest.raises(ConfigError, match=r"has none; take task\.markers=text"):
        RelationExtraction().taught_by(RelationExtraction().read(semeval, purpose="train"))


def test_files_that_disagree_are_refused(tacred, tmp_path):
    one = tmp_path / "one.json"
    one.write_text(json.dumps(ROWS[2:]))
    with pytest.raises(DataError, match="nothing to tell apart"):
        RelationExtraction().taught_by(RelationExtraction().read(one, purpose="train"))
    with pytest.raises(DataError, match="'per:alias', which is not among"):
        RelationExtraction(labels=("no_relation", "per:city")).taught_by(
            RelationExtraction().read(tacred, purpose="train")
        )
    path = tmp_path / "p.json"
    path.write_text('{"1": "per:city", "9": "x"}')
    with pytest.raises(DataError, match="such as '9'"):
        RelationExtraction().score_files(tacred, path, {})
    path.write_text('{"1": "per:city"}')
    found = RelationExtraction().score_files(tacred, path, {})
    assert (found.scores["precision"], found.scores["recall"]) == (100.0, 50.0) and "3 of 4" in found.notes[0]


def test_what_is_cut_and_what_overlaps_is_said_before_training(marked_tokenizer, tmp_path):
    rows = [*ROWS, example("5", "a " * 30 + "Ada in Han", 30, 30, ("PERSON", "CITY"), "per:city")]
    path = tmp_path / "x.json"
    path.write_text(json.dumps(rows))
    data = RelationExtraction().read(path, purpose="train")
    task = RelationExtraction(max_length=16).taught_by(data)
    lines = task.describe(data, task.featurize(data, marked_tokenizer, CONFIG, training=True))
    assert "5 pairs of mentions" in lines[0] and "7 markers" in lines[1]
    assert "1 are cut to 16 tokens around their mentions" in lines[2] and "1 have mentions that overlap" in lines[3]


def test_a_vocabulary_without_free_pieces_gets_them(pretrained_folder, tacred, tmp_path):
    short = ["training.max_steps=2", "training.precision=fp32"]
    run = finetune("relation", model=pretrained_folder, train=tacred, dev=tacred, out=tmp_path / "run", overrides=short)
    loaded = load_task_model(run.final, "relation", device="cpu")
    assert loaded.model.encoder.config.vocab_size == loaded.tokenizer.vocab_size
    assert evaluate("relation", model=run.final, data=tacred, precision="fp32").scores == run.scores
    again = finetune("relation", model=run.final, train=tacred, out=tmp_path / "again", overrides=short)
    assert load_task_model(again.final, "relation").tokenizer.vocab_size == loaded.tokenizer.vocab_size


def test_keys_and_answers_of_the_official_scorers_are_scored_as_they_are(tmp_path):
    key, told = tmp_path / "key.txt", tmp_path / "told.txt"
    key.write_text("1\tX(e1,e2)\n2\tX(e2,e1)\n3\tOther\n")
    told.write_text("1\tX(e1,e2)\n2\tX(e1,e2)\n")
    found = RelationExtraction().score_files(key, told, {})
    assert found.scores["macro_f1"] == 50.0 and "1 of 3" in found.notes[0]
    key.write_text("per:city\nno_relation\nper:city\n")
    told.write_text("per:city\nper:city\nno_relation\n")
    found = RelationExtraction().score_files(key, told, {})
    assert found.scores["f1"] == found.scores["precision"] == found.scores["recall"] == 50.0


def test_a_relation_per_line_is_that_of_the_example_in_its_place(tacred, tmp_path):
    named = tmp_path / "ids.json"
    named.write_text(json.dumps([{**row, "id": f"61b3a5{row['id']}"} for row in ROWS]))
    told = tmp_path / "told.txt"
    told.write_text("per:city\nno_relation\nno_relation\nno_relation\n")
    for data in (tacred, named):
        scores = RelationExtraction().score_files(data, told, {}).scores
        assert (scores["precision"], scores["recall"]) == (100.0, 50.0)
    told.write_text("per:city\nno_relation\n")
    with pytest.raises(DataError, match=r"told\.txt has 2 relations, one per line, and .*ids\.json has 4 examples"):
        RelationExtraction().score_files(named, told, {})


def test_a_test_set_with_a_bad_row_is_scored_with_all_its_relations(tmp_path):
    """As the official scorer does, which is given ids and relations alone."""
    data, told = tmp_path / "test.txt", tmp_path / "told.txt"
    data.write_text(
        '1\t"<e1>Ada</e1> in <e2>Han</e2>"\nX(e1,e2)\n\n2\t"<e1>Han</e1> is <e2>  </e2>"\nX(e1,e2)\n'
        '\n3\t"<e1>Ada</e1> left <e2>Han</e2>"\nno_relation\n'
    )
    told.write_text("1\tX(e1,e2)\n3\tno_relation\n")
    found = RelationExtraction().score_files(data, told, {})
    assert found.scores["macro_recall"] == 50.0 and "1 of 3" in found.notes[0]
    told.write_text("1\tX(e1,e2)\n2\tX(e1,e2)\n3\tno_relation\n")
    assert RelationExtraction().score_files(data, told, {}).scores["macro_f1"] == 100.0
    data.write_text(data.read_text().replace("3\t", "1\t"))
    with pytest.raises(DataError, match="holds blanks alone"):
        RelationExtraction().score_files(data, told, {})


@pytest.mark.parametrize("negative", ["Other", "no_relation"])
def test_the_score_of_semeval_leaves_the_negative_label_of_the_file_out(tmp_path, negative):
    key, told = tmp_path / "key.txt", tmp_path / "told.txt"
    key.write_text(f"1\tX(e1,e2)\n2\tX(e2,e1)\n3\t{negative}\n4\t{negative}\n")
    told.write_text(f"1\tX(e1,e2)\n2\tX(e1,e2)\n3\t{negative}\n4\t{negative}\n")
    found = RelationExtraction().score_files(key, told, {}).scores
    assert found["macro_f1"] == found["micro_f1"] == 50.0 and found["accuracy"] == 75.0
    key.write_text("1\tX(e1,e2)\n")
    told.write_text(f"1\t{negative}\n")  # found, and nowhere in the key
    assert RelationExtraction().score_files(key, told, {}).scores["macro_recall"] == 0.0


def test_the_log_names_the_label_that_scores_leave_out(marked_tokenizer, tmp_path):
    path = tmp_path / "kbp37.txt"
    path.write_text(
        '1\t"<e1>Ada</e1> in <e2>Han</e2>"\nper:x(e1,e2)\n\n2\t"<e1>Han</e1> is <e2>Ada</e2>"\nno_relation\n'
    )
    task = RelationExtraction(markers="text")
    data = task.read(path, purpose="train")
    task = task.taught_by(data)
    features = task.featurize(data, marked_tokenizer, CONFIG, training=True)
    assert task.labels[0] == "no_relation" and task.metric == "semeval"
    assert "scores count all relations but 'no_relation'" in task.describe(data, features)


@pytest.mark.parametrize("ending", [".txt", ".json", ".tsv", ".out", ""])
def test_predictions_are_read_by_their_content_whatever_their_name_ends_in(tmp_path, ending):
    key, told = tmp_path / "key.txt", tmp_path / f"told{ending}"
    key.write_text("1\tX\n2\tY\n")
    contents = ["1\tX\n2\tY\n", "X\nY\n", '{"1": "X", "2": {"label": "Y", "score": 1}}', '{"1":"X","2":"Y"}']
    for content in contents[2:] if ending == ".json" else contents:
        told.write_text(content)
        key.write_text("X\nY\n" if content == contents[1] else "1\tX\n2\tY\n")
        assert RelationExtraction(metric="labels").score_files(key, told, {}).scores["micro_f1"] == 100.0
    told.write_text("1 is X\n2 is Y\n")
    with pytest.raises(DataError, match=r"told.*a JSON object of id to relation, lines of an id, a tab and a relation"):
        RelationExtraction().score_files(key, told, {})


def test_rows_left_out_are_named_and_nothing_is_written_for_them(finetuned, tmp_path, caplog):
    path = tmp_path / "x.json"
    path.write_text(json.dumps([ROWS[0], {**ROWS[1], "obj_end": 99}, ROWS[2]]))
    asked = {"model": finetuned.final, "input": path, "output": tmp_path / "p.txt", "precision": "fp32"}
    with pytest.raises(DataError, match=r"entry 2: the object is words 4 to 99.*--errors repair"):
        predict("relation", **asked)
    predict("relation", **asked, errors="repair")
    assert [line.split("\t")[0] for line in (tmp_path / "p.txt").read_text().splitlines()] == ["1", "3"]
    assert list(json.loads((tmp_path / "p.json").read_text())) == ["1", "3"]
    assert "entry 2: the object" in caplog.text and "1 rows are left out: malformed; nothing is written" in caplog.text


def test_relations_that_the_model_does_not_know_are_counted(finetuned, tmp_path):
    path = tmp_path / "x.json"
    path.write_text(json.dumps([ROWS[0], {**ROWS[1], "relation": "per:unheard"}]))
    scores = evaluate("relation", model=finetuned.final, data=path, precision="fp32").scores
    assert scores["num_unknown_labels"] == 1 and scores["recall"] == 50.0
    assert "does not know" in finetuned.task.score_table(scores).notes[0]
