"""The best answers over windows and over passages."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spanwise.tasks.qa.features import make_windows
from spanwise.tasks.qa.ranking import QuestionSpans, Ranking, characters_of, decode, scored_answers
from spanwise.tasks.qa.reader import parse_squad
from spanwise.tasks.qa.span_rule import SpanRule
from spanwise.tasks.windows import max_context_window
from spanwise.text.tokenizers import Encoding


def passage(*words):
    lengths = np.array([len(word) for word in words])
    ends = np.cumsum(lengths + 1) - 1
    return Encoding(
        ids=np.arange(len(words)), offsets=np.stack([ends - lengths, ends], 1), word_ids=np.arange(len(words))
    )


def spans(*rows, null=0.0, impossible=None, num_windows=1):
    return QuestionSpans(SpanRule().ranked(np.array(rows, dtype=float).reshape(-1, 3)), null, impossible, num_windows)


def test_documents_compete_and_equal_texts_are_one_answer_at_its_best_place():
    ranking = Ranking(num_best=3)
    ranking.add(spans((0, 0, 1.0), (1, 1, 3.0), (0, 1, 0.5)), passage("Han", "Seoul"), "Han Seoul", document=0)
    ranking.add(spans((1, 1, 2.0), (0, 0, 0.0), num_windows=2), passage("the", "Han"), "the Han", document=1)
    answers = ranking.answers()
    assert [(a.text, a.score, a.document, a.start, a.end) for a in answers] == [
        ("Seoul", 3.0, 0, 4, 9),
        ("Han", 2.0, 1, 4, 7),
        ("Han Seoul", 0.5, 0, 0, 9),
    ]
    assert sum(answer.probability for answer in answers) == pytest.approx(1.0) and ranking.num_windows == 3


def test_what_is_kept_does_not_depend_on_the_order_of_documents_nor_grow_with_their_number():
    draw = np.random.default_rng(0)
    words = ["Han", "Seoul", "Namhan", "Busan", "Jeju", "Boseong"]
    rows = [[(k, k, draw.normal()) for k in range(6)] for _ in range(40)]
    found = []
    for order in (range(40), reversed(range(40))):
        ranking = Ranking(num_best=4)
        for number in order:
            ranking.add(spans(*rows[number], null=number), passage(*words), " ".join(words), document=number)
            assert len(ranking.answers()) <= 4
        found.append((ranking.answers(), ranking.null_odds))
    assert found[0] == found[1]
    assert found[0][1] == 0.0 - found[0][0][0].score  # the least null score of all passages


def test_passages_compete_by_what_each_has_above_its_own_no_answer():
    """The first passage's numbers are higher, but its reader holds with "no answer"."""
    ranking = Ranking()
    ranking.add(spans((0, 0, 9.0), null=15.0), passage("rain"), "rain", document=0, against_null=True)
    ranking.add(spans((0, 0, 4.0), null=1.0), passage("Han"), "Han", document=1, against_null=True)
    assert [(a.text, a.document, a.score) for a in ranking.answers()] == [("Han", 1, 3.0), ("rain", 0, -6.0)]
    assert ranking.null_odds == -3.0
    alone, plain = Ranking(), Ranking()
    alone.add(spans((0, 0, 4.0), (1, 1, 2.0), null=1.0), passage("Han", "is"), "Han is", against_null=True)
    plain.add(spans((0, 0, 4.0), (1, 1, 2.0), null=1.0), passage("Han", "is"), "Han is")
    assert alone.null_odds == plain.null_odds
    assert [a.probability for a in alone.answers()] == [a.probability for a in plain.answers()]


def test_a_classifier_decides_the_odds_where_there_is_one():
    ranking = Ranking()
    ranking.add(spans((0, 0, 5.0), impossible=2.0), passage("Han"), "Han")
    ranking.add(spans((0, 0, 5.0), impossible=-1.0), passage("Han"), "Han", document=1)
    assert ranking.null_odds == -1.0
    empty = Ranking()
    empty.add(spans(null=-3.0), passage(), "")
    assert empty.answers() == () and empty.null_odds == -3.0


def test_spans_grow_to_whole_words_where_asked():
    pieces = Encoding(ids=np.arange(3), offsets=np.array([[0, 3], [3, 5], [6, 9]]), word_ids=np.array([0, 0, 1]))
    assert characters_of(pieces, 1, 1, False) == (3, 5)
    assert characters_of(pieces, 1, 1, True) == (0, 5)
    assert characters_of(pieces, 0, 2, True) == (0, 9)


SIZES = {"max_length": 64, "doc_stride": 16, "max_question_tokens": 64}


def random_logits(windows, seed, scale=3.0):
    draw = np.random.default_rng(seed)
    return [(scale * draw.normal(size=(length, 2))).astype(np.float32) for length in windows.lengths_W]


def gold_logits(windows):
    logits = [np.zeros((length, 2), dtype=np.float32) for length in windows.lengths_W]
    for array, (first, last) in zip(logits, windows.gold_G2[windows.gold_borders_W[:-1]], strict=True):
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
    predictions = decode(squad11, windows, logits, rule=SpanRule(max_answer_tokens), num_best=5)
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
    predictions = decode(squad20, windows, random_logits(windows, seed, scale), rule=SpanRule(max_answer_tokens))
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
