"""Verbs stand before a noun and in a question in the form that their time asks for."""

import pytest

from spanwise.questions.korean.chunks import borders_of
from spanwise.questions.korean.verbs import asking, is_past_at, modifying


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("왕은 글자를 만들었다.", "만든"),
        ("왕은 집을 지었다.", "지은"),
        ("왕은 상을 받았다.", "받은"),
        ("회사는 차를 생산한다.", "하는"),
        ("산은 매우 높다.", "높은"),
        ("산은 매우 높았다.", "높았던"),
        ("집에 책이 있다.", "있는"),
        ("집에 책이 있었다.", "있었던"),
        ("왕은 집을 지으시겠다.", None),
    ],
)
def test_before_a_noun(said, text, form):
    statement = said(text)
    found = modifying(statement.morphemes, len(statement.morphemes) - 2, statement.join)
    assert (found and found[1]) == form


def test_a_clause_that_links_has_the_time_of_the_end_of_the_sentence(said):
    for text, is_past, question in (
        ("왕은 글자를 만들고, 책을 냈다.", True, "왕은 글자를 만들었는가"),
        ("왕은 글자를 만들고, 책을 낸다.", False, "왕은 글자를 만드는가"),
    ):
        statement = said(text)
        last = borders_of(text, statement.morphemes)[0]
        assert is_past_at(statement.morphemes, last) is is_past
        assert asking(text, statement.morphemes, last, statement.join) == question
