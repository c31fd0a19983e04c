"""Scores of the old pipeline, on numbers that can be worked out by hand."""

import numpy as np
import pytest

from spanwise.tasks.qa.features import make_windows
from spanwise.tasks.qa.probabilities import scored_answers
from spanwise.tasks.qa.reader import parse_squad


def windows_of(tokenizer, context, max_length=64, overlap=0):
    qas = [{"id": "q", "question": "?"}]
    record = {"data": [{"title": "t", "paragraphs": [{"context": context, "qas": qas}]}]}
    data = parse_squad(record, source="own", purpose="predict")
    return make_windows(data, tokenizer, max_length=max_length, overlap=overlap, max_question_tokens=8)


def answers(windows, logits, context, **options):
    asked = {"top_k": 3, "max_answer_tokens": 15, "align_to_words": True, "with_null": False, **options}
    return scored_answers(windows, range(len(windows)), logits, context, **asked)


def test_scores_are_products_of_two_softmaxes_over_the_passage_and_cls(tokenizer):
    context = "Han Seoul"
    windows = windows_of(tokenizer, context)  # [CLS] ? [SEP] Han Seoul [SEP]
    logits = np.full((6, 2), 9.0)  # what stands at the question and the separators must not matter
    logits[[0, 3, 4]] = np.log([[1, 2], [6, 1], [3, 7]])
    best, second, third, null = answers(windows, [logits], context, top_k=4, with_null=True)
    assert [answer.text for answer in (best, second, third)] == ["Han Seoul", "Seoul", "Han"]
    assert best.score == pytest.approx(0.6 * 0.7) and second.score == pytest.approx(0.3 * 0.7)
    assert third.score == pytest.approx(0.6 * 0.1)
    assert (null.text, null.start, null.end) == ("", 0, 0) and null.score == pytest.approx(0.1 * 0.2)


def test_spans_of_the_same_word_and_of_any_case_are_one_answer_with_their_scores_added(tokenizer):
    context = "ab AB"
    windows = windows_of(tokenizer, context)  # pieces a ##b A ##B
    logits = np.zeros((8, 2))
    found = answers(windows, [logits], context, top_k=9)
    assert {answer.text for answer in found} == {"ab", "ab AB"}
    assert sum(answer.score for answer in found) == pytest.approx(10 / 25)  # ten spans of 1/5 x 1/5 each
    pieces = answers(windows, [logits], context, top_k=10, align_to_words=False)
    assert {answer.text.lower() for answer in pieces} >= {"a", "b", "ab"}


def test_the_null_score_is_the_smallest_over_the_windows(tokenizer):
    context = "Han Seoul " * 20
    windows = windows_of(tokenizer, context, max_length=16)
    logits = [np.zeros((length, 2)) for length in windows.lengths_W]
    logits[1][0] = -3.0
    (*_, null) = answers(windows, logits, context, top_k=99, with_null=True, align_to_words=False)
    weight = np.exp(-3.0)
    assert null.score == pytest.approx((weight / (weight + windows.last_W[1] - windows.first_W[1])) ** 2)


def test_an_empty_passage_has_one_empty_answer_of_no_chance(tokenizer):
    (only,) = answers(windows_of(tokenizer, "\x07"), [np.zeros((4, 2))], "\x07")
    assert (only.text, only.score, only.start, only.end) == ("", 0.0, 0, 0)


def test_spans_are_never_longer_than_asked(tokenizer):
    context = "a b c d e"
    windows = windows_of(tokenizer, context)
    found = answers(windows, [np.zeros((9, 2))], context, top_k=99, max_answer_tokens=2)
    assert {len(answer.text) for answer in found} == {1, 3} and len(found) == 9
