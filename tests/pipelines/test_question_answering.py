"""The old pipeline's call and answers: compared with a plain writing of its documented rules over transformers."""

import itertools
import json
import lzma
import random
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
import torch

import spanwise
from spanwise.errors import CheckpointError, ConfigError, DataError
from spanwise.pipelines.given import InputError
from spanwise.pipelines.question_answering import given_inputs, numbered_documents, pair_of
from spanwise.quickstart.bundle import open_bundle


def pairs(given):
    return [pair_of(item) for item in (given if isinstance(given, list) else [given])]


def test_every_way_gives_the_same_pairs():
    pair = {"question": "Why?", "context": "Han"}
    for args, named in (
        (("Why?", "Han"), {}),
        ((pair,), {}),
        (([pair],), {}),
        ((SimpleNamespace(question_text="Why?", context_text="Han"),), {}),
        ((), pair),
        ((), {"data": pair}),
        ((), {"question": ["Why?"], "context": ["Han"]}),
    ):
        assert pairs(given_inputs(args, named)) == [("Why?", "Han")]


def test_one_question_goes_with_every_context_and_one_context_with_every_question():
    many = given_inputs((), {"question": "Why?", "context": ["Han", "Seoul"]})
    assert pairs(many) == [("Why?", "Han"), ("Why?", "Seoul")]
    many = given_inputs((), {"question": ["Why?", "Who?"], "context": "Han"})
    assert pairs(many) == [("Why?", "Han"), ("Who?", "Han")]


def test_what_is_no_question_is_refused():
    with pytest.raises(InputError, match="'context' is empty"):
        pair_of({"question": "Why?", "context": " "})
    with pytest.raises(InputError, match=r"a question with its context was expected .* got int"):
        pair_of(3)
    with pytest.raises(InputError, match=r"^'question' is missing"):
        pair_of({"context": "Han"})
    with pytest.raises(InputError, match="2 questions came with 3 contexts"):
        given_inputs((), {"question": ["a", "b"], "context": ["c"] * 3})


def test_documents_are_read_as_they_are_asked_for_and_named_where_they_are_bad():
    endless = numbered_documents(f"text {k}" for k in itertools.count())
    assert list(itertools.islice(endless, 2)) == [(0, "text 0"), (1, "text 1")]
    with pytest.raises(InputError, match="document 1 is a int"):
        list(numbered_documents(["a", 2]))
    for wrong in ("one text", 3):
        with pytest.raises(InputError, match="a list or generator of texts"):
            next(numbered_documents(wrong))


QUESTIONS = ["How long is the Han?", "When did the first bridge open?", "Where do the arms meet?", "Why (한강)?"]


@pytest.fixture(scope="module")
def qa(classic_folder, vocabulary_folder):
    return spanwise.pipeline(
        "question-answering", model=str(classic_folder), tokenizer=str(vocabulary_folder), device="cpu"
    )


@pytest.fixture(scope="module")
def hf_tokenizer(vocabulary_folder):
    from transformers import BertTokenizer

    return BertTokenizer(str(vocabulary_folder / "vocab.txt"), do_lower_case=False)


def old_pipeline(model, tokenizer, question, context, **options):
    """What transformers 5.2 documents: windows, softmax over passage and [CLS], best products, aligned and merged."""
    defaults = {"top_k": 1, "doc_stride": None, "max_answer_len": 15, "max_seq_len": None}
    asked = SimpleNamespace(**{**defaults, "handle_impossible_answer": False, "align_to_words": True, **options})
    length = asked.max_seq_len or min(384, model.config.max_position_embeddings)
    overlap = asked.doc_stride if asked.doc_stride is not None else min(length // 2, 128)
    encoded = tokenizer(
        question, context, truncation="only_second", max_length=length, stride=overlap, return_overflowing_tokens=True
    )
    whole = tokenizer(context).encodings[0]
    answers, null = [], 1e6
    for window in encoded.encodings:
        with torch.no_grad():
            said = model(torch.tensor([window.ids]), token_type_ids=torch.tensor([window.type_ids]))
        usable = np.array([kind == 1 for kind in window.sequence_ids])
        usable[0] = True
        chances = []
        for logits in (said.start_logits[0].double().numpy(), said.end_logits[0].double().numpy()):
            masked = np.where(usable, logits, -np.inf)
            chances.append(np.exp(masked - masked.max()) / np.exp(masked - masked.max()).sum())
        null = min(null, chances[0][0] * chances[1][0])
        spans = [
            (chances[0][s] * chances[1][e], s, e)
            for s in range(1, len(usable))
            for e in range(s, min(s + asked.max_answer_len, len(usable)))
            if usable[s] and usable[e]
        ]
        spans = sorted(spans, key=lambda span: -span[0])[
            : asked.top_k * 2 + 10 if asked.align_to_words else asked.top_k
        ]
        for score, s, e in spans:
            start, end = window.offsets[s][0], window.offsets[e][1]
            if asked.align_to_words:
                start = whole.word_to_chars(whole.char_to_word(start))[0]  # not window's: it cuts words at its border
                end = whole.word_to_chars(whole.char_to_word(end - 1))[1]
            same = [answer for answer in answers if answer["answer"].lower() == context[start:end].lower()]
            if same:
                same[0]["score"] += score
            else:
                answers.append({"score": score, "start": start, "end": end, "answer": context[start:end]})
    if asked.handle_impossible_answer:
        answers.append({"score": null, "start": 0, "end": 0, "answer": ""})
    answers = sorted(answers, key=lambda answer: -answer["score"])[: asked.top_k]
    return answers[0] if len(answers) == 1 else answers


def assert_same(ours, theirs):
    ours, theirs = ([found] if isinstance(found, dict) else found for found in (ours, theirs))
    assert len(ours) == len(theirs)
    for mine, other in zip(ours, theirs, strict=True):
        assert list(mine) == ["score", "start", "end", "answer"]
        assert mine["score"] == pytest.approx(other["score"], rel=1e-3, abs=1e-9)
        assert (mine["start"], mine["end"], mine["answer"]) == (other["start"], other["end"], other["answer"])


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"top_k": 5},
        {"top_k": 4, "align_to_words": False},
        {"top_k": 3, "handle_impossible_answer": True},
        {"max_answer_len": 1, "top_k": 2},
        {"max_seq_len": 128, "doc_stride": 40, "top_k": 3, "align_to_words": False},
        {"max_seq_len": 64, "doc_stride": 16, "top_k": 3, "align_to_words": False, "handle_impossible_answer": True},
    ],
)
def test_answers_equal_the_old_pipelines_rules_on_transformers_logits(qa, oracle, hf_tokenizer, text, options):
    for question in QUESTIONS:
        assert_same(
            qa(question=question, context=text, **options),
            old_pipeline(oracle, hf_tokenizer, question, text, **options),
        )


def test_the_classic_snippet_runs_as_it_was_written(qa, text):
    nlp = qa
    result = nlp({"question": "What lies on the Han?", "context": text})
    assert set(result) == {"score", "start", "end", "answer"}
    assert text[result["start"] : result["end"]] == result["answer"] != ""
    assert result["score"] > 0


def test_a_cased_vocabulary_alone_in_its_folder_stays_cased(qa):
    assert qa.tokenizer.is_cased
    assert qa.tokenizer.encode("Seoul").ids.tolist() != qa.tokenizer.encode("seoul").ids.tolist()


def test_every_way_to_ask_gives_the_same_answer(qa, text):
    question = QUESTIONS[0]
    expected = qa(question=question, context=text)
    pair = {"question": question, "context": text}
    for found in (
        qa(question, text),
        qa(pair),
        qa([pair]),
        qa(X=pair),
        qa(data=[pair]),
        qa(question=[question], context=text),
        qa(question=[question], context=[text]),
        qa(SimpleNamespace(question_text=question, context_text=text)),
        qa(pair, padding="max_length"),
    ):
        assert found == expected
    assert qa([pair, pair]) == qa(pair, pair) == [expected, expected]
    assert qa(question=[question, question], context=text) == [expected, expected]
    stream = qa(pair for _ in range(3))
    assert not isinstance(stream, list) and list(stream) == [expected] * 3
    assert qa([]) == []


def test_answers_do_not_depend_on_batch_mates_or_their_order(qa, text):
    draw = random.Random(0)
    contexts = [text, text[:60], text * 3, "Han.", text[40:200]]
    pairs = [{"question": draw.choice(QUESTIONS), "context": draw.choice(contexts)} for _ in range(24)]
    alone = [qa(pair, top_k=3) for pair in pairs]
    for _ in range(3):
        order = draw.sample(range(len(pairs)), len(pairs))
        together = qa([pairs[k] for k in order], top_k=3)
        assert together == [alone[k] for k in order]


@pytest.mark.parametrize("context", ["Han", "한", "\x07", "Han " * 2000, "[SEP] [CLS] [MASK]", "a\u0301 é 🙂 中文"])
def test_any_context_gives_an_answer_inside_it(qa, context):
    for options in ({}, {"align_to_words": False}, {"handle_impossible_answer": True}):
        found = qa(question="Which river is long and flows through Seoul?", context=context, **options)
        assert context[found["start"] : found["end"]] == found["answer"]
        assert np.isfinite(found["score"])


def test_fewer_answers_than_asked_for_are_fewer_answers(qa):
    found = qa(question="Why?", context="Han river", top_k=50)
    assert 1 < len(found) < 50
    assert isinstance(qa(question="Why?", context="Han", top_k=50), dict)  # one answer is a dictionary, as it was


def test_long_questions_are_cut_to_max_question_len(qa, text):
    long, short = "why " * 100, "why " * 5
    assert qa(question=long, context=text, max_question_len=5) == qa(question=short, context=text, max_question_len=5)


def test_a_question_leaves_a_quarter_of_the_window_to_the_passage(qa):
    asked = {"question": "long " * 200, "context": "The Han is long.", "max_seq_len": 32, "max_question_len": 5000}
    num_tokens = len(qa.tokenizer.encode_batch([asked["question"]])[0].ids)
    found = qa(**asked, rules="task")
    assert found["num_dropped_tokens"] == num_tokens - (32 - 3 - 32 // 4) and found["num_windows"] >= 1
    assert qa(**asked)["answer"] in asked["context"]


def test_the_name_of_a_special_token_in_a_text_is_text(qa):
    found = qa(question="How [SEP] long?", context="The [SEP] Han [MASK] is [CLS] long.", top_k=500)
    assert any("[SEP]" in answer["answer"] for answer in found)
    pieces = qa.tokenizer.encode_batch(["The [SEP] Han"])[0].ids
    assert not set(pieces) & {qa.tokenizer.sep_id, qa.tokenizer.cls_id}


def test_an_answer_that_stays_alone_is_a_dictionary_whatever_top_k_is(qa):
    assert qa(question="How long?", context="Han", top_k=5, max_answer_len=1)["answer"] == "Han"


def test_the_old_name_topk_warns_and_works(qa, text):
    with pytest.warns(UserWarning, match="top_k"):
        found = qa(question=QUESTIONS[0], context=text, topk=2)
    assert found == qa(question=QUESTIONS[0], context=text, top_k=2)


def test_options_given_at_the_start_are_defaults(classic_folder, vocabulary_folder, qa, text):
    wide = spanwise.pipeline(
        "question-answering",
        model=classic_folder,
        tokenizer=vocabulary_folder,
        device=-1,
        framework="pt",
        top_k=2,
    )
    assert wide(question=QUESTIONS[0], context=text) == qa(question=QUESTIONS[0], context=text, top_k=2)
    assert wide(question=QUESTIONS[0], context=text, top_k=1) == qa(question=QUESTIONS[0], context=text)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda qa: qa(question="", context="Han"), "'question' is empty"),
        (lambda qa: qa(question="Why?", context=""), "'context' is empty"),
        (lambda qa: qa(question="Why?", context=None), "'context' is missing or None"),
        (lambda qa: qa({"question": "Why?"}), "'context' is missing"),
        (lambda qa: qa(question="Why?"), "nothing to answer"),
        (lambda qa: qa(), "nothing to answer"),
        (lambda qa: qa("Why?"), "with its context"),
        (lambda qa: qa("   ", "Han"), "'question' is empty"),
        (lambda qa: qa("why " * 100, "Han", on_overflow="error"), "input 0: the question is longer than 64 tokens"),
        (
            lambda qa: qa("why " * 100, "Han", max_seq_len=32, on_overflow="error"),
            "input 0: the question is longer than 21 tokens",
        ),
        (
            lambda qa: qa(["Why?", "why " * 100], documents=["Han", "Seoul", "Han"], on_overflow="error"),
            "input 1: the question is longer than",
        ),
        (lambda qa: qa("Why?", "Han", on_overflow="windows"), "one of truncate, error"),
        (lambda qa: qa("Why?", "Han", doc_stride="64"), "doc_stride must be a whole number of at least 0, got '64'"),
        (lambda qa: qa("Why?", "Han", doc_stride=6.5), "doc_stride must be a whole number of at least 0, got 6.5"),
        (lambda qa: qa("Why?", "Han", doc_stride=-1), "doc_stride must be a whole number of at least 0, got -1"),
        (lambda qa: qa([3]), "a question with its context was expected"),
        (lambda qa: qa(question=3, context="Han"), "a text was expected"),
        (lambda qa: qa(question=["a", "b"], context=["Han"]), "2 questions came with 1 contexts"),
        (lambda qa: qa("Why?", "Han", top_k="3"), "top_k must be a whole number of at least 1, got '3'"),
        (lambda qa: qa("Why?", "Han", top_k=0), "top_k must be a whole number of at least 1"),
        (lambda qa: qa("Why?", "Han", max_answer_len=0), "max_answer_len"),
        (lambda qa: qa("Why?", "Han", max_seq_len=1000), "128"),
        (lambda qa: qa("Why?", "Han", max_seq_len=64, doc_stride=65), "doc_stride 65 is larger"),
        (lambda qa: qa("Why?", "Han", top_kk=2), "no option 'top_kk'"),
    ],
)
def test_bad_calls_are_named_and_stay_value_errors(qa, call, words):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ValueError, match=words) as error:
            call(qa)
    assert isinstance(error.value, DataError | ConfigError)


def test_half_a_surrogate_pair_is_a_data_error(qa):
    with pytest.raises(DataError, match="surrogate"):
        qa(question="Why \ud800?", context="Han")


def test_a_model_without_a_question_answering_head_is_refused(oracle, vocabulary_folder, tmp_path):
    oracle.bert.save_pretrained(tmp_path / "encoder")
    with pytest.raises(CheckpointError, match="no head for 'qa'"):
        spanwise.pipeline("question-answering", model=tmp_path / "encoder", tokenizer=vocabulary_folder)


def test_other_frameworks_are_refused(classic_folder, vocabulary_folder):
    with pytest.raises(ConfigError, match="PyTorch"):
        spanwise.pipeline("question-answering", model=classic_folder, tokenizer=vocabulary_folder, framework="tf")


def test_old_options_that_change_no_answer_are_taken(classic_folder, vocabulary_folder, qa, text):
    where = {"model": str(classic_folder), "tokenizer": (str(vocabulary_folder), {"use_fast": False}), "device": -1}
    old = spanwise.pipeline("question-answering", **where, batch_size=8, num_workers=2, torch_dtype=torch.float32)
    asked = {"question": QUESTIONS[0], "context": text}

    assert old(**asked, batch_size=4, num_workers=0, padding="longest") == qa(**asked)
    assert spanwise.pipeline("question-answering", **where, torch_dtype="float16").precision == "auto"
    with pytest.raises(ValueError, match="float32 or bfloat16"):
        spanwise.pipeline("question-answering", **where, dtype="int8")


def test_objects_of_transformers_are_taken_as_the_old_pipeline_took_them(oracle, hf_tokenizer, qa, text):
    mine = spanwise.pipeline("question-answering", model=oracle, tokenizer=hf_tokenizer, device="cpu")

    assert mine(QUESTIONS[1], text) == qa(QUESTIONS[1], text)
    with pytest.raises(ConfigError, match="model is a dict; give the folder"):
        spanwise.pipeline("question-answering", model={})


def test_the_shipped_reader_finds_the_right_one_of_several_documents():
    with open_bundle("en") as bundle, lzma.open(bundle.qa_dev, "rt") as file:
        paragraphs = [p for article in json.load(file)["data"] for p in article["paragraphs"] if p["qas"]]
    asked = paragraphs[:: len(paragraphs) // 10][:10]
    documents = [paragraph["context"] for paragraph in asked]
    assert len(set(documents)) == 10
    qa = spanwise.pipeline("question-answering")
    questions = [paragraph["qas"][0]["question"] for paragraph in asked]
    found = qa(question=questions, documents=documents, handle_impossible_answer=False)
    assert sum(one["document"] == number for number, one in enumerate(found)) >= 8  # by chance: 1


def test_the_classic_rules_are_refused_for_documents_wherever_they_were_given(classic_folder, vocabulary_folder):
    classic = spanwise.pipeline(
        "question-answering", model=classic_folder, tokenizer=vocabulary_folder, rules="classic", device="cpu"
    )
    with pytest.raises(ValueError, match="leave rules='classic' out"):
        classic("Why?", documents=["Han"])
    assert "document" in classic("Why?", documents=["Han"], rules="task")
