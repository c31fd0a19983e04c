"""Statements become questions at their end."""

import pytest

from spanwise.questions.korean.endings import as_question
from spanwise.text.morphemes import MorphemeAnalyser


def turned(text):
    (found,) = MorphemeAnalyser().morphemes([text])
    last = max(place for place, morpheme in enumerate(found) if morpheme.tag in ("EF", "EC"))
    return as_question(text, found, last)


@pytest.mark.parametrize(
    ("statement", "question"),
    [
        ("세종은 한글을 만들었다.", "세종은 한글을 만들었는가"),
        ("그 일은 서울에서 시작했다.", "그 일은 서울에서 시작했는가"),
        ("강은 바다로 흐른다.", "강은 바다로 흐르는가"),
        ("학자들은 책을 읽는다.", "학자들은 책을 읽는가"),
        ("회사는 차를 생산한다.", "회사는 차를 생산하는가"),
        ("서울은 대한민국의 수도이다.", "서울은 대한민국의 수도인가"),
        ("그 산은 매우 크다.", "그 산은 매우 큰가"),
        ("그 산은 매우 높다.", "그 산은 매우 높은가"),
        ("집에 책이 있다.", "집에 책이 있는가"),
    ],
)
def test_endings(statement, question):
    assert turned(statement) == question


def test_an_ending_that_links_is_turned_too():
    text = "세종은 한글을 만들었고, 책을 냈다."
    (found,) = MorphemeAnalyser().morphemes([text])
    place = next(place for place, morpheme in enumerate(found) if morpheme.tag == "EC")
    assert as_question(text, found, place) == "세종은 한글을 만들었는가"
