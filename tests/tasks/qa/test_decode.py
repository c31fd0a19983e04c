"""Decoding: spans inside the passage, whatever the logits; windows joined; texts cut out of the original."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spanwise.tasks.qa.decode import decode
from spanwise.tasks.qa.features import make_windows
from spanwise.tasks.qa.reader import parse_squad
from spanwise.tasks.windows import max_context_window

SIZES = {"max_length": 64, "doc_stride": 16, "max_question_tokens": 64}


def random_logits(windows, seed, scale=3.0):
    draw = np.random.default_rng(seed)
    return [(scale * draw.normal(size=(length, 2))).astype(np.float32) for length in windows.lengths_W]


def gold_logits(windows):
    logits = [np.zeros((length, 2), dtype=np.float32) for length in windows.lengths_W]
    for array, (first, last) in zip(logits, windows.gold_W2, strict=True):
        array[first, 0] = array[last, 1] = 10.0
    return logits


def test_logits_at_the_gold_pieces_give_the_gold_texts_and_null_where_there_is_none(tokenizer, squad20):
    windows = make_windows(squad20, tokenizer, **SIZES)
    predictions = decode(squad20, windows, gold_logits(windows))
    answers = predictions.answers(null_threshold=0.0)
    assert answers == {"length": "494 km", "bridge": "1900", "arms": "Yangpyeong", "tea": "April", "price": ""}
    assert predictions.best()["price"] != ""  # the best span is kept beside its odds
    assert predictions.null_odds["price"] > 0 > predictions.null_odds["tea"]


@pytest.mark.parametrize("max_answer_tokens", [1, 5, 30])
def test_candidates_equal_a_search_over_every_span(tokenizer, squad11, max_answer_tokens, monkeypatch):
    monkeypatch.setattr("spanwise.tasks.qa.ranking.TOP_POSITIONS", 10_000)  # then nothing is left out
    windows = make_windows(squad11, tokenizer, **SIZES)
    logits = random_logits(windows, seed=max_answer_tokens)
    predictions = decode(squad11, windows, logits, max_answer_tokens=max_answer_tokens, num_best=5)
    for number, question in enumerate(squad11.questions):
        rows = np.flatnonzero(windows.question_W == number)
        passage, context = windows.passage(rows[0]), squad11.context_of(question)
        ranges = np.stack([windows.first_W[rows], windows.last_W[rows]], axis=1)
        best_window = max_context_window(ranges, len(passage.ids))
        scores = {}
        for place, row in enumerate(rows):
            shift = windows.passage_start(row) - windows.first_W[row]
            for s in range(windows.first_W[row], windows.last_W[row]):
                for e in range(s, min(s + max_answer_tokens, windows.last_W[row])):
                    if best_window[s] == place:
                        text = context[passage.offsets[s][0] : passage.offsets[e][1]]
                        value = float(logits[row][s + shift, 0]) + float(logits[row][e + shift, 1])
                        scores[text] = max(value, scores.get(text, -np.inf))
        expected = sorted(scores.items(), key=lambda item: -item[1])[:5]
        assert [(answer.text, answer.score) for answer in predictions.nbest[question.id]] == expected
        null = min(float(logits[row][0, 0]) + float(logits[row][0, 1]) for row in rows)
        assert predictions.null_odds[question.id] == null - expected[0][1]


@settings(deadline=None, max_examples=100)
@given(st.integers(0, 2**32), st.sampled_from([0.0, 1.0, 1e4]), st.integers(16, 80), st.integers(1, 40))
def test_every_prediction_is_cut_out_of_its_passage(tokenizer, squad20, seed, scale, max_length, max_answer_tokens):
    sizes = {"max_length": max_length, "doc_stride": 7, "max_question_tokens": 8}
    windows = make_windows(squad20, tokenizer, **sizes)
    predictions = decode(squad20, windows, random_logits(windows, seed, scale), max_answer_tokens=max_answer_tokens)
    assert list(predictions.nbest) == [question.id for question in squad20.questions]
    for question in squad20.questions:
        answers = predictions.nbest[question.id]
        assert answers and len({answer.text for answer in answers}) == len(answers) <= 20
        for answer in answers:
            assert answer.text and squad20.context_of(question)[answer.start : answer.end] == answer.text
        assert sum(answer.probability for answer in answers) == pytest.approx(1.0)
        assert np.isfinite(predictions.null_odds[question.id])


def test_logits_that_favour_the_question_still_give_a_span_of_the_passage(tokenizer, squad11):
    windows = make_windows(squad11, tokenizer, **SIZES)
    logits = []
    for row, length in enumerate(windows.lengths_W):
        array = np.zeros((length, 2), dtype=np.float32)
        array[: windows.passage_start(row)] = 50.0
        array[windows.passage_start(row) + np.arange(windows.last_W[row] - windows.first_W[row]), 1] -= np.arange(
            windows.last_W[row] - windows.first_W[row]
        )  # ends high in front, starts high behind: few pairs in order
        logits.append(array)
    predictions = decode(squad11, windows, logits)
    assert all(predictions.best().values())


def test_a_passage_without_a_token_is_answered_by_the_empty_text(tokenizer):
    record = {
        "data": [{"title": "t", "paragraphs": [{"context": "\x07\x07", "qas": [{"id": "q", "question": "Why?"}]}]}]
    }
    data = parse_squad(record, source="own", purpose="predict")
    windows = make_windows(data, tokenizer, **SIZES)
    predictions = decode(data, windows, random_logits(windows, seed=1))
    assert predictions.best() == {"q": ""} and predictions.answers(1e9) == {"q": ""}
    assert predictions.nbest == {"q": ()} and np.isfinite(predictions.null_odds["q"])


def test_answers_apply_the_threshold_to_the_null_odds_and_none_never_abstains(tokenizer, squad11):
    windows = make_windows(squad11, tokenizer, **SIZES)
    predictions = decode(squad11, windows, random_logits(windows, seed=0))
    odds = predictions.null_odds["tea"]
    assert predictions.answers(odds)["tea"] == predictions.best()["tea"]
    assert predictions.answers(odds - 1e-9)["tea"] == ""
    assert predictions.answers(None) == predictions.best()
