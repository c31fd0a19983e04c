"""Questions and files as people have them: a right result or a clear error, never a crash without saying where."""

import dataclasses
import json

import numpy as np
import pytest

from spanwise.errors import ConfigError, DataError
from spanwise.nn.config import EncoderConfig
from spanwise.tasks.evaluate import evaluate, predict
from spanwise.tasks.qa.data import Answer, Question, SquadData
from spanwise.tasks.qa.reader import read_questions
from spanwise.tasks.qa.task import QuestionAnswering
from spanwise.tasks.run import finetune

CONFIG = EncoderConfig(vocab_size=500, hidden_size=8, num_layers=1, num_heads=1, intermediate_size=8, max_positions=64)
SHORT = ["training.max_steps=4", "training.learning_rate=3e-3", "training.precision=fp32", "training.threads=1"]


def questions(*rows, version="1.1"):
    return SquadData(
        source="own.json",
        version=version,
        contexts=tuple(context for context, _, _ in rows),
        titles=("",) * len(rows),
        questions=tuple(Question(f"q{k}", text, k, answers) for k, (_, text, answers) in enumerate(rows)),
        has_unanswerable=any(not answers for _, _, answers in rows),
    )


def answers_of(data, tokenizer, **options):
    task = QuestionAnswering(doc_stride=8, **options)
    features = task.featurize(data, tokenizer, CONFIG, training=False)
    draw = np.random.default_rng(0)
    return task.decode(data, features, [draw.normal(size=(length, 2)) for length in features.lengths_W])


def test_a_question_longer_than_the_window_is_cut_and_counted_or_refused(tokenizer):
    data = questions(("Seoul is old.", "why " * 100, (Answer("Seoul", 0),)))
    found = answers_of(data, tokenizer)
    assert found.best()["q0"] and found.windows["q0"].num_dropped_tokens > 200
    with pytest.raises(DataError, match=r"own\.json, question 'q0': it is \d+ tokens too long"):
        answers_of(data, tokenizer, on_overflow="error")
    assert answers_of(questions(("Han", "Why?", ())), tokenizer, on_overflow="error").best()


@pytest.mark.parametrize("context", ["Han", "강", "\u200f\u200e", "\x07", "🙂", "e\u0301", "\r\n \r\n."])
def test_a_passage_of_one_token_or_none_is_answered_by_what_it_has(tokenizer, context):
    found = answers_of(questions((context, "Why?", ())), tokenizer)
    for answer in found.nbest["q0"]:
        assert context[answer.start : answer.end] == answer.text
    assert found.windows["q0"].num_windows == 1 and np.isfinite(found.null_odds["q0"])


@pytest.mark.parametrize(("ends", "front"), [("\r\n", b""), ("\n", b"\xef\xbb\xbf"), ("\r\n", b"\xef\xbb\xbf")])
def test_files_with_other_line_ends_and_a_mark_in_front_are_read_alike(tmp_path, ends, front):
    context = "Han\r\nriver 🙂 e\u0301 שלום"
    answer = {"text": "שלום", "answer_start": context.index("שלום")}
    record = {"context": context, "qas": [{"id": "q", "question": "Why?\r\n", "answers": [answer]}]}
    text = json.dumps({"version": "1.1", "data": [{"title": "t", "paragraphs": [record]}]}, indent=1)
    path = tmp_path / "a.json"
    path.write_bytes(front + text.replace("\n", ends).encode())
    data = read_questions(path)
    assert data.contexts == (context,) and data.questions[0].answers[0].text == "שלום"


def test_data_of_unanswerable_questions_alone_is_learnt_and_scored(pretrained_folder, tmp_path):
    qas = [{"id": f"q{k}", "question": "What does it cost?", "answers": [], "is_impossible": True} for k in range(3)]
    paragraphs = [{"context": "Seoul is old.", "qas": qas}]
    path = tmp_path / "none.json"
    path.write_text(json.dumps({"version": "v2.0", "data": [{"title": "t", "paragraphs": paragraphs}]}))
    for changes in ([], ["task.answerability=classifier", "task.spans=joint"]):
        out = tmp_path / f"run{len(changes)}"
        run = finetune("qa", model=pretrained_folder, train=path, dev=path, out=out, overrides=[*SHORT, *changes])
        assert run.scores["exact"] == 100.0 and "reach" not in run.scores and run.task.temperature is None
        assert run.training.losses and all(np.isfinite(value) for value in run.training.losses.values())


def test_offsets_that_disagree_stop_the_run_or_are_repaired_and_told(pretrained_folder, squad_files, tmp_path):
    record = json.loads(squad_files["1.1"].read_text())
    record["data"][0]["paragraphs"][0]["qas"][1]["answers"][0]["answer_start"] += 2
    path = tmp_path / "wrong.json"
    path.write_text(json.dumps(record))
    with pytest.raises(DataError, match=r"wrong\.json, article 'Han', paragraph 1, question 'bridge'.*--errors repair"):
        finetune("qa", model=pretrained_folder, train=path, out=tmp_path / "a", overrides=SHORT)
    data = read_questions(path, errors="repair")
    assert data.num_moved_answers == 1
    task = QuestionAnswering(max_length=64)
    assert data.questions[1].answers[0].text == "1900" and task.metric is None


def test_malformed_questions_are_left_out_on_request_counted_and_named(tmp_path, caplog):
    qas = [{"id": name, "question": text, "answers": []} for name, text in (("a", "Why?"), ("b", " "), ("c", "Who?"))]
    squad = {"version": "v2.0", "data": [{"title": "t", "paragraphs": [{"context": "Seoul is old.", "qas": qas}]}]}
    rows = [{"id": entry["id"], "question": entry["question"], "context": "Seoul is old."} for entry in qas]
    news = {"data": [{"text": "Seoul is old.", "questions": [{"q": entry["question"]} for entry in qas]}]}
    mrqa = [{"header": {"dataset": "X"}}, {"context": "Seoul is old.", "qas": [{**e, "qid": e["id"]} for e in qas]}]
    contents = {"a.json": json.dumps(squad), "b.jsonl": "\n".join(map(json.dumps, rows)), "c.json": json.dumps(news)}
    for name, content in {**contents, "d.jsonl": "\n".join(map(json.dumps, mrqa))}.items():
        path = tmp_path / name
        path.write_text(content)
        with pytest.raises(DataError, match=r"'q(uestion)?'.*--errors repair"):
            read_questions(path, purpose="predict")
        caplog.clear()
        data = read_questions(path, purpose="predict", errors="repair")
        assert [question.text for question in data.questions] == ["Why?", "Who?"] and data.num_dropped == 1
        assert caplog.text.count("Left out:") == 1 and name in caplog.text


def test_a_model_and_a_file_that_disagree_are_told(pretrained_folder, squad_files, tmp_path):
    run = finetune("qa", model=pretrained_folder, train=squad_files["1.1"], out=tmp_path / "run", overrides=SHORT)
    with pytest.raises(DataError, match="fine-tuned without any"):
        evaluate("qa", model=run.final, data=squad_files["v2.0"])
    with pytest.raises(ConfigError, match=r"on_overflow"):
        evaluate("qa", model=run.final, data=squad_files["1.1"], on_overflow="windows")
    long = tmp_path / "long.jsonl"
    row = {"id": "a", "context": "Seoul is old.", "question": "why " * 200}
    long.write_text(json.dumps(row) + "\n")
    with pytest.raises(DataError, match=r"long\.jsonl, question 'a'"):
        predict("qa", model=run.final, input=long, output=tmp_path / "p.json", on_overflow="error")
    predict("qa", model=run.final, input=long, output=tmp_path / "p.json")
    assert json.loads((tmp_path / "p.windows.json").read_text())["a"]["num_dropped_tokens"] > 0


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ({"beam_size": 0}, "beam_size"),
        ({"answerable_weight": 0.0}, "answerable_weight"),
        ({"temperature": -1.0}, "temperature"),
    ],
)
def test_options_outside_their_range_are_refused(option, words):
    with pytest.raises(ConfigError, match=words):
        QuestionAnswering(**option)


def test_all_gold_answers_are_learnt_where_asked(tokenizer):
    context = "Han and Han meet Han."
    golds = tuple(Answer("Han", place) for place in (0, 8, 17, 8))
    data = questions((context, "Which?", golds))
    shown = {}
    for gold in ("first", "all"):
        task = dataclasses.replace(QuestionAnswering(), gold=gold)
        features = task.featurize(data, tokenizer, CONFIG, training=True)
        batch = features.assemble(np.arange(len(features)))
        targets = batch.targets["answer"]
        shown[gold] = [
            tokenizer.decode(batch.input_ids[a : b + 1].numpy())
            for a, b in zip(targets.first_G.tolist(), targets.last_G.tolist(), strict=True)
        ]
        assert (targets.borders_S is None) is (gold == "first")
        assert any("several answers" in line for line in task.describe(data, features)) is (gold == "first")
    assert shown == {"first": ["Han"], "all": ["Han", "Han", "Han"]}
