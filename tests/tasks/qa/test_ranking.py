"""The best answers over windows and over passages."""

import numpy as np
import pytest

from spanwise.tasks.qa.ranking import QuestionSpans, Ranking, characters_of
from spanwise.text.tokenizers import Encoding


def passage(*words):
    lengths = np.array([len(word) for word in words])
    ends = np.cumsum(lengths + 1) - 1
    return Encoding(
        ids=np.arange(len(words)), offsets=np.stack([ends - lengths, ends], 1), word_ids=np.arange(len(words))
    )


def spans(*rows, null=0.0, impossible=None, num_windows=1):
    return QuestionSpans(np.array(rows, dtype=float).reshape(-1, 3), null, impossible, num_windows)


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
