"""A model that was fine-tuned here answers by its own rules: as `predict` and `evaluate` do, over any texts."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import spanwise
from spanwise.errors import ConfigError, DataError
from spanwise.pipelines.question_answering import STREAM_BATCH
from spanwise.tasks.evaluate import evaluate, predict
from spanwise.tasks.run import finetune

FAST = [
    "training.num_epochs=40",
    "training.learning_rate=3e-3",
    "training.precision=fp32",
    "training.threads=1",
    "batch_size=8",
    "task.max_length=96",
    "task.doc_stride=24",
]
FORMS = {"null_score": [], "electra": ["task.spans=joint", "task.answerability=classifier"]}


def ask(id, question, *answers):
    return {"id": id, "question": question, "answers": list(answers), "is_impossible": not answers}


@pytest.fixture(scope="module")
def questions(text, tmp_path_factory):
    def at(words):
        return {"text": words, "answer_start": text.index(words)}

    qas = [
        ask("length", "How long is the Han?", at("494 km")),
        ask("bridge", "When did the first bridge open?", at("1900")),
        ask("meet", "Where do the arms meet?", at("Yangpyeong")),
        ask("price", "What does a ticket cost?"),
    ]
    path = tmp_path_factory.mktemp("questions") / "han.json"
    data = [{"title": "Han", "paragraphs": [{"context": text, "qas": qas}]}]
    path.write_text(json.dumps({"version": "v2.0", "data": data}), encoding="utf-8")
    return path


@pytest.fixture(scope="module", params=FORMS)
def run(request, pipeline_start, questions, tmp_path_factory):
    out = tmp_path_factory.mktemp("run") / "run"
    changes = FAST + FORMS[request.param]
    return finetune("qa", model=pipeline_start, train=questions, dev=questions, out=out, overrides=changes)


@pytest.fixture(scope="module")
def qa(run):
    return spanwise.pipeline("question-answering", model=run.final, device="cpu")


def asked(questions):
    (article,) = json.loads(questions.read_text())["data"]
    (paragraph,) = article["paragraphs"]
    return [{"question": qa["question"], "context": paragraph["context"], "id": qa["id"]} for qa in paragraph["qas"]]


def test_the_pipeline_predict_and_evaluate_say_the_same_as_the_run(run, qa, questions, tmp_path):
    predict("qa", model=run.final, input=questions, output=tmp_path / "p.json", precision="fp32")
    answers, nbest = (json.loads((tmp_path / name).read_text()) for name in ("p.json", "p.nbest.json"))
    assert answers == json.loads((run.final.parent / "dev_predictions.json").read_text())
    assert evaluate("qa", model=run.final, data=questions, precision="fp32").scores == run.scores
    together = qa(asked(questions))
    for item, found in zip(asked(questions), together, strict=True):
        assert found["answer"] == answers[item["id"]]
        several = qa(item["question"], item["context"], top_k=5)
        assert [(one["answer"], one["start"], one["end"]) for one in several] == [
            (one["text"], one["start"], one["end"]) for one in nbest[item["id"]][:5]
        ]
        assert [one["score"] for one in several] == pytest.approx(
            [one["probability"] for one in nbest[item["id"]][:5]], rel=1e-4
        )
        assert several[0]["score"] == max(one["score"] for one in several)
        assert found["num_windows"] > 1 and found["num_dropped_tokens"] == 0


def test_probabilities_are_shares_and_texts_come_once(qa, questions):
    for item in asked(questions):
        found = qa(item["question"], item["context"], top_k=21)
        texts = [one["answer"] for one in found]
        assert len(set(texts)) == len(texts) and sum(one["score"] for one in found) == pytest.approx(1.0)
        assert "" in texts  # it may say that there is none
        never = qa(item["question"], item["context"], top_k=20, handle_impossible_answer=False)
        assert "" not in [one["answer"] for one in never]
        assert sum(one["score"] for one in never) == pytest.approx(1.0)


def test_options_of_the_old_pipeline_still_bind(qa, text):
    short = qa("How long is the Han?", text, top_k=20, max_answer_len=1, handle_impossible_answer=False)
    pieces = {text[first:last] for first, last in qa.tokenizer.encode(text).offsets}
    assert {one["answer"] for one in short} <= pieces
    whole = qa("Where do the arms meet?", text, top_k=9, align_to_words=True, handle_impossible_answer=False)
    assert all(not text[one["end"] : one["end"] + 1].isalnum() for one in whole)
    cut = qa("why " * 100, text, max_question_len=5)
    assert cut["num_dropped_tokens"] == len(qa.tokenizer.encode("why " * 100).ids) - 5


def test_many_documents_are_one_search_whatever_their_order_and_number(qa, text):
    others = [f"Ferries number {k} crossed at dawn." for k in range(STREAM_BATCH + 3)]
    for question in ("How long is the Han?", "Where do the arms meet?"):
        documents = [*others, text]
        options = {"top_k": 4, "handle_impossible_answer": False}
        found = qa(question=question, documents=documents, **options)
        assert found == qa(question, documents=(document for document in documents), **options)
        for one in found:
            assert documents[one["document"]][one["start"] : one["end"]] == one["answer"]
        assert [one["score"] for one in found] == sorted((one["score"] for one in found), reverse=True)
        turned = qa(question=question, documents=documents[::-1], **options)
        assert [one["answer"] for one in turned] == [one["answer"] for one in found]
        assert [one["score"] for one in turned] == pytest.approx([one["score"] for one in found], rel=1e-4)
        each = qa(question=question, context=documents, **{**options, "top_k": 1})
        assert len(each) == len(documents) and each[-1]["answer"] == qa(question, text, **options)[0]["answer"]


def test_one_document_is_the_same_as_its_context_and_several_questions_have_an_answer_each(qa, text):
    alone = qa("How long is the Han?", text, top_k=3)
    among = qa(question="How long is the Han?", documents=[text], top_k=3)
    assert [{k: v for k, v in one.items() if k != "document"} for one in among] == alone
    several = qa(question=["How long is the Han?", "What does a ticket cost?"], documents=[text, text])
    assert len(several) == 2 and several[0]["answer"] == alone[0]["answer"]
    assert several[1]["answer"] != "" or several[1]["document"] is None


def test_a_generator_is_read_a_few_at_a_time_and_a_bad_input_is_named(qa, text):
    taken = []

    def pairs():
        for number in range(100):
            taken.append(number)
            yield {"question": "How long is the Han?", "context": text if number != 70 else ""}

    answers = qa(pairs())
    first = next(answers)
    assert first["answer"] == qa("How long is the Han?", text)["answer"] and len(taken) == STREAM_BATCH
    with pytest.raises(DataError, match="input 70: 'context' is empty"):
        list(answers)


PIECES = ["👩‍👩‍👧", "e\u0301", "שלום", "مرحبا", "한강", "\r\n", " ", "Han", "\u200b", "🇰🇷"]
ANY_TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=80)
MIXED_TEXT = st.lists(st.sampled_from(PIECES), min_size=1, max_size=30).map("".join)


@settings(deadline=None, max_examples=40)
@given((ANY_TEXT | MIXED_TEXT).filter(str.strip))
def test_any_text_is_answered_by_a_part_of_itself(qa, context):
    asked = {"question": "Which river?", "top_k": 2, "handle_impossible_answer": False}
    inside = qa(**asked, context=context, max_seq_len=24)
    among = qa(**asked, documents=[context, "Han"])
    for found in (
        *(inside if isinstance(inside, list) else [inside]),
        *(among if isinstance(among, list) else [among]),
    ):
        place = [context, "Han"][found.get("document") or 0]
        assert place[found["start"] : found["end"]] == found["answer"] and 0 <= found["score"] <= 1


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda qa: qa(question="Why?", documents=[]), "documents is empty"),
        (lambda qa: qa(question="Why?", documents="Han"), "a list or generator"),
        (lambda qa: qa(question="Why?", documents=["Han", ""]), "document 1 is empty"),
        (lambda qa: qa(question="Why?", context="Han", documents=["Han"]), "contradict"),
        (lambda qa: qa(documents=["Han"]), "'question' is missing"),
        (lambda qa: qa("Why?", "Han", rules="old"), "rules 'old'"),
        (lambda qa: qa(question="Why?", documents=["Han"], rules="classic"), "task's rules|joint"),
    ],
)
def test_bad_calls_are_named(qa, call, words):
    with pytest.raises(ValueError, match=words) as error:
        call(qa)
    assert isinstance(error.value, DataError | ConfigError)


def test_the_classic_rules_can_be_asked_for_where_start_and_end_stand_apart(run, qa, text):
    if run.task.spans == "joint":
        with pytest.raises(ConfigError, match="joint"):
            qa("How long is the Han?", text, rules="classic")
        return
    classic = qa("How long is the Han?", text, rules="classic")
    always = spanwise.pipeline("question-answering", model=run.final, device="cpu", rules="classic")
    assert list(classic) == ["score", "start", "end", "answer"] and always("How long is the Han?", text) == classic
