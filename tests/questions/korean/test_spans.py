"""Answers in Korean sentences stand without their particles."""

import pytest

from spanwise.questions.korean import KoreanRules
from spanwise.questions.korean.spans import is_title, people_in
from spanwise.text.morphemes import MorphemeAnalyser


def spans(*passages):
    return {span.text: span.kind for sentence in KoreanRules().read(passages) for span in sentence.spans}


@pytest.mark.parametrize("particle", ["에서", "은", "이", "을", "의", "에서는", "으로부터"])
def test_particles_stay_outside(particle):
    found = spans(f"그 책은 대한민국{particle} 널리 알려졌다.")
    assert found["대한민국"] == "place"
    assert not [text for text in found if text.startswith("대한민국") and text != "대한민국"]


def test_dates_and_numbers_are_taken_with_what_they_count():
    found = spans("1443년 12월 30일에 학자 12명과 책 300권을 모았고, 15세기에 폈다. 징역 12년을 살았다.")
    assert {text for text, kind in found.items() if kind == "date"} == {"1443년 12월 30일", "15세기"}
    assert {text for text, kind in found.items() if kind == "number"} == {"12명", "300권"}


def test_ranges_and_names_of_kings_are_not_taken_apart():
    found = spans("표트르 1세는 1690~1700년에 다스렸다. 학교는 1884년말 생겼다. 제3회 대회이다.")
    assert not {"1세", "1700년", "1884년", "3회"} & set(found)


def test_titles_and_life_spans_tell_persons():
    (found,) = MorphemeAnalyser().morphemes([text := "이순신 장군은 왔다. 그때 윤봉길(1908년~1932년)은 학생이었다."])
    assert {"이순신", "윤봉길"} <= set(people_in(text, found)) or {"윤봉길"} <= set(people_in(text, found))
    assert spans(text)["윤봉길"] == "person"


def test_titles_of_works_are_names_without_their_marks():
    text = "봉준호는 영화 《기생충》과 소설 〈봄〉을 썼다."
    (sentence,) = KoreanRules().read([text])
    found = {span.text: span for span in sentence.spans}
    assert found["기생충"].kind == "name" and "봄" not in found
    assert is_title(text, found["기생충"])
    assert not is_title(text, found["봉준호"])


def test_compounds_are_recurring_spans():
    assert spans("주민들은 손해배상 채무를 갚았다.")["손해배상 채무"] == "recurring"
