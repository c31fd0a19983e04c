"""Korean questions ask in the answer's place, with its particle."""

import pytest

from spanwise.questions.korean.asking import ask
from spanwise.questions.parts import Span
from spanwise.text.morphemes import MorphemeAnalyser


def asked(text, answer, kind, unit="", cloze=False):
    (found,) = MorphemeAnalyser().morphemes([text])
    start = text.index(answer)
    return ask(text, found, Span(start, start + len(answer), answer, kind, unit), cloze=cloze)


@pytest.mark.parametrize(
    ("text", "answer", "kind", "question"),
    [
        ("세종은 1443년에 새 글자를 만들었다.", "1443년", "date", "세종은 언제 새 글자를 만들었는가?"),
        ("세종은 1443년까지 새 글자를 만들었다.", "1443년", "date", "세종은 언제까지 새 글자를 만들었는가?"),
        ("세종은 1443년에 새 글자를 만들었다.", "세종", "person", "누가 1443년에 새 글자를 만들었는가?"),
        ("그 배는 1950년에 부산으로 옮겨졌다.", "부산", "place", None),
        ("큰 배는 1950년에 부산으로 옮겨졌다.", "부산", "place", "큰 배는 1950년에 어디로 옮겨졌는가?"),
        ("큰 배는 그때도 부산의 자랑이었다.", "부산", "place", "큰 배는 그때도 어디의 자랑이었는가?"),
        ("도서관은 시민에게 책을 빌려준다.", "책", "recurring", "도서관은 시민에게 무엇을 빌려주는가?"),
        ("그러나 도시의 가장 큰 강은 낙동강이다.", "낙동강", "name", "도시의 가장 큰 강은 무엇인가?"),
        (
            "왕은 젊은 시절에 새 글자를 만들었고, 학자들은 책을 냈다.",
            "새 글자",
            "recurring",
            "왕은 젊은 시절에 무엇을 만들었는가?",
        ),
    ],
)
def test_questions(text, answer, kind, question):
    assert asked(text, answer, kind) == question


def test_numbers_keep_what_they_count_and_its_particle():
    assert (
        asked("왕은 학자 12명과 새 글자를 만들었다.", "12명", "number", "명")
        == "왕은 학자 몇 명과 새 글자를 만들었는가?"
    )


def test_a_later_clause_gets_the_topic_of_the_sentence():
    text = "세종은 새 글자를 만들었으며, 1446년에 책을 펴냈다."
    assert asked(text, "1446년", "date") == "세종은 언제 책을 펴냈는가?"


def test_clozes_keep_the_particle():
    assert (
        asked("왕은 (오래) 학자들과 새 글자를 만들었다.", "새 글자", "recurring", cloze=True)
        == "왕은 학자들과 ___를 만들었다."
    )


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("그는 부산에서 책을 오래 썼다.", "부산"),
        ("이러한 일은 부산에서 오래 있었다.", "부산"),
        ("왕은 부산에서 부산 사람을 오래 만났다.", "부산"),
        ("왕은 (부산에서) 사람을 오래 만났다.", "부산"),
        ("부산에서 오래 썼다.", "부산"),
    ],
)
@pytest.mark.parametrize("cloze", [True, False])
def test_what_points_elsewhere_stands_twice_or_has_no_subject_is_not_asked(text, answer, cloze):
    assert asked(text, answer, "place", cloze=cloze) is None


def test_a_noun_before_the_answer_belongs_to_it():
    assert asked("그때 아버지 김수연은 부산에서 살았다.", "김수연", "person") is None


def test_what_an_answer_is_said_to_be_keeps_its_sound():
    assert asked("옛 도시의 가장 큰 강은 낙동강이었다.", "낙동강", "name") == "옛 도시의 가장 큰 강은 무엇이었는가?"
    assert asked("옛 도시의 가장 큰 자랑은 새 학교였다.", "새 학교", "name") == "옛 도시의 가장 큰 자랑은 무엇이었는가?"
