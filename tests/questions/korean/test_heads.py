"""Answers are called what they are."""

import random

import pytest

from spanwise.questions.korean.heads import ending, head_of


@pytest.mark.parametrize(
    ("text", "answer", "kind", "heads"),
    [
        ("봉준호가 왔다.", "봉준호", "person", {"인물", "사람"}),
        ("1443년에 왔다.", "1443년", "date", {"해", "연도", "년도", "때"}),
        ("5월 3일에 왔다.", "5월 3일", "date", {"날", "날짜"}),
        ("15세기에 왔다.", "15세기", "date", {"시기", "때"}),
        ("프랑스에서 왔다.", "프랑스", "place", {"나라", "국가", "곳"}),
        ("강릉시에서 왔다.", "강릉시", "place", {"도시", "곳", "지역", "장소"}),
        ("온수난방 방식을 쓴다.", "온수난방 방식", "recurring", {"방식"}),
        ("하버드 대학교에 갔다.", "하버드 대학교", "name", {"대학교"}),
        ("영화 《기생충》을 보았다.", "기생충", "name", {"작품"}),
        ("전동차를 탔다.", "전동차", "recurring", {"것"}),
    ],
)
def test_heads(said, place, text, answer, kind, heads):
    draws = [random.Random(key) for key in range(40)]
    assert {head_of(text, said(text).morphemes, place(text, answer, kind), draw) for draw in draws} == heads


def test_endings_ask_for_the_kind_and_fit_the_last_sound(place):
    text = "봉준호는 2019년에 서울에 왔다."
    for answer, kind, head, wanted in (
        ("봉준호", "person", "사람", {"은", "은 누구인가", "은 누구인가요", "의 이름은", "의 이름은 무엇인가"}),
        ("2019년", "date", "해", {"는", "는 언제인가", "는 언제인가요"}),
        ("서울", "place", "곳", {"은", "은 어디인가", "은 어디인가요"}),
    ):
        assert {ending(head, place(text, answer, kind), random.Random(key)) for key in range(200)} == wanted
