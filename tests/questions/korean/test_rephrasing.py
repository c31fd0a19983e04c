"""Questions about a sentence's own passage have its words in another order, and fewer of them."""

import random

import pytest

from spanwise.questions.korean.rephrasing import rephrased


@pytest.fixture
def asked(said, place):
    def asked(text, answer, kind, unit=""):
        statement, span = said(text), place(text, answer, kind, unit)
        return {rephrased(statement, span, random.Random(key)) for key in range(60)} - {None}

    return asked


@pytest.mark.parametrize(
    ("text", "answer", "kind", "question"),
    [
        ("모네는 1883년에 파리에서 새 집을 빌렸다.", "모네", "person", "1883년에 파리에서 새 집을 빌린 사람은?"),
        ("모네는 1883년에 파리에서 새 집을 빌렸다.", "1883년", "date", "모네가 새 집을 빌린 해는 언제인가?"),
        ("모네는 1883년에 파리에서 새 집을 빌렸다.", "파리", "place", "모네가 새 집을 빌린 곳은 어디인가?"),
        ("왕은 집을 짓고, 1446년에 책을 펴냈다.", "1446년", "date", "왕이 책을 펴낸 해는?"),
        ("그는 1990년에 새로운 집을 지었다.", "1990년", "date", "새로운 집을 지은 해는?"),
        ("감독 봉준호는 2019년에 긴 영화를 찍었다.", "봉준호", "person", "2019년에 긴 영화를 찍은 감독은?"),
        ("봉준호는 2019년에 영화 《기생충》을 찍었다.", "기생충", "name", "2019년에 봉준호가 찍은 영화는?"),
        ("서울은 대한민국의 큰 수도이다.", "서울", "place", "대한민국의 큰 수도는 어디인가?"),
        ("서울은 대한민국의 큰 수도이다.", "대한민국", "place", "서울은 어디의 큰 수도인가?"),
    ],
)
def test_questions(asked, text, answer, kind, question):
    found = asked(text, answer, kind)
    assert question in found
    assert not [asks for asks in found if answer in asks]
    assert not any(asks.removesuffix("?") in text for asks in found)


def test_numbers_are_asked_for_with_what_they_count(asked):
    found = asked("박한길은 젊은 학생 300명을 가르쳤다.", "300명", "number", "명")
    assert {"박한길이 가르친 젊은 학생은 몇 명인가?", "박한길이 가르친 젊은 학생의 수는?"} <= found


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("모네(파리 출생)는 새 집을 빌렸다.", "파리"),
        ("모네는 파리에서 이 큰 집을 빌렸다.", "파리"),
        ("모네의 새 집과 파리", "파리"),
    ],
)
def test_brackets_pointers_and_what_has_no_verb_are_not_asked(asked, text, answer):
    assert not asked(text, answer, "place")


def test_a_clause_is_cut_once(said, place):
    text = "왕은 집을 짓고, 1446년에 책을 펴냈다."
    statement = said(text)
    first, second = (statement.clause_of(place(text, answer, "name"))[1] for answer in ("1446년", "책"))
    assert first is second is not None
    assert [text[chunk.start : chunk.end] for chunk in first.chunks] == ["왕은", "1446년에", "책을"]
