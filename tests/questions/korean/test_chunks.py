"""The parts of a clause are cut where they may change places."""

import pytest

from spanwise.questions.korean.chunks import borders_of, parts_of


def parts(said, text):
    statement = said(text)
    clause = parts_of(text, statement.morphemes, 0, borders_of(text, statement.morphemes)[-1])
    if clause is None:
        return None
    return [(text[chunk.start : chunk.end], chunk.role, text[chunk.stem : chunk.end]) for chunk in clause.chunks]


def test_particles_tell_what_a_part_does(said):
    assert parts(said, "모네는 1883년에 파리에서 새 집을 샀다.") == [
        ("모네는", "topic", "는"),
        ("1883년에", "adverbial", "에"),
        ("파리에서", "adverbial", "에서"),
        ("새 집을", "object", "을"),
    ]


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("부산에서 태어난 왕은 집을 지었다.", "부산에서 태어난 왕은"),
        ("왕은 도시를 위해 집을 지었다.", "도시를 위해"),
        ("왕은 학자들과 함께 집을 지었다.", "학자들과 함께"),
        ("왕은 바다로 가는 배를 샀다.", "바다로 가는 배를"),
    ],
)
def test_what_belongs_to_an_inner_verb_stays_with_it(said, text, whole):
    assert whole in [written for written, _, _ in parts(said, text)]


def test_a_time_in_front_of_an_inner_verb_stays_free(said):
    found = [written for written, _, _ in parts(said, "1443년에 젊은 왕이 좋아한 글자를 만들었다.")]
    assert found[0] == "1443년에"


def test_a_predicate_that_only_weighs_a_statement_is_left_alone(said):
    assert parts(said, "왕은 집을 지었을 것이다.") is None


def test_clauses_end_where_they_link_to_the_next(said):
    text = "왕은 집을 짓고, 책을 펴내고 글자를 위해 살았으며 크고 넓은 배를 만들고 있다."
    statement = said(text)
    ends = [text[: statement.morphemes[place].end].split()[-1] for place in borders_of(text, statement.morphemes)]
    assert ends == ["짓고", "펴내고", "살았으며", "있다"]
