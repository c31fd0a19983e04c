"""Which of several spans is the answer."""

import numpy as np
import pytest

from spanwise.tasks.qa.ranking import decode
from spanwise.tasks.qa.span_rule import MOST_SPANS, SpanRule, expected_f1

ALONE, FIRST, SECOND = (9, 9, 2.0), (0, 2, 1.9), (1, 2, 1.8)


def spans(*rows):
    return np.array(rows, dtype=float)


def test_by_logits_alone_the_likeliest_span_comes_first_and_keeps_its_score():
    assert SpanRule().ranked(spans(SECOND, ALONE, FIRST)).tolist() == [[*one, one[2]] for one in (ALONE, FIRST, SECOND)]


def test_spans_that_overlap_stand_up_for_each_other_against_a_likelier_one_that_is_alone():
    found = SpanRule(by_overlap=True).ranked(spans(ALONE, FIRST, SECOND))
    assert found[0, :2].tolist() == [0, 2] and found[-1].tolist() == pytest.approx([*ALONE, 2.0])
    assert found[0, 2] == 1.9  # its own score, by which it is as probable as before
    assert found[0, 3] == pytest.approx(np.log(np.exp(1.9) + 0.8 * np.exp(1.8)))  # 2 x 2 shared of 3 + 2 tokens


def test_the_score_by_overlap_is_the_expected_f1_of_all_pairs():
    draw = np.random.default_rng(0)
    first = draw.integers(0, 20, 50)
    found = np.stack([first, first + draw.integers(0, 8, 50), draw.normal(size=50) * 4], axis=1)
    positions = [set(range(int(a), int(b) + 1)) for a, b, _ in found]
    weights = np.exp(found[:, 2])
    wanted = [
        sum(w * 2 * len(one & other) / (len(one) + len(other)) for other, w in zip(positions, weights, strict=True))
        for one in positions
    ]
    assert np.exp(expected_f1(found)) == pytest.approx(wanted)


def test_each_token_of_an_answer_costs_its_penalty():
    assert SpanRule(length_penalty=0.2).ranked(spans(ALONE, (0, 2, 2.3)))[0].tolist() == pytest.approx([9, 9, 1.8, 1.8])


def test_far_logits_do_not_overflow_and_no_span_at_all_is_no_span():
    found = SpanRule(by_overlap=True).ranked(spans((0, 0, 900.0), (0, 1, 890.0), (5, 5, -900.0)))
    assert np.isfinite(found).all() and found[0, 0] == 0
    assert len(SpanRule(by_overlap=True).ranked(np.zeros((0, 3)))) == 0


def test_a_long_list_of_candidates_is_cut_to_those_that_weigh():
    many = np.stack([np.arange(500.0), np.arange(500.0), -np.arange(500.0)], axis=1)
    assert len(SpanRule(by_overlap=True).ranked(many)) == MOST_SPANS
    assert len(SpanRule().ranked(many)) == 500


def test_the_rule_of_a_task_decides_what_is_predicted(squad11, tokenizer):
    from spanwise.tasks.qa.features import make_windows

    windows = make_windows(squad11, tokenizer, max_length=64, doc_stride=16, max_question_tokens=64, num_token_types=2)
    draw = np.random.default_rng(1)
    logits = [draw.normal(size=(length, 2)).astype(np.float32) for length in windows.lengths_W]
    plain, overlap = (decode(squad11, windows, logits, rule=SpanRule(by_overlap=flag)) for flag in (False, True))
    assert plain.best() != overlap.best()
    assert all(overlap.null_odds[id] <= odds for id, odds in plain.null_odds.items())  # no span's score fell
