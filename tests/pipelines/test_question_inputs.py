"""The many ways to give a question, as pairs of texts."""

import itertools
from types import SimpleNamespace

import pytest

from spanwise.pipelines.given import InputError
from spanwise.pipelines.question_inputs import as_data, given_inputs, numbered_documents, pair_of


def pairs(given):
    return [pair_of(item) for item in (given if isinstance(given, list) else [given])]


def test_every_way_gives_the_same_pairs():
    pair = {"question": "Why?", "context": "Han"}
    for args, named in (
        (("Why?", "Han"), {}),
        ((pair,), {}),
        (([pair],), {}),
        ((SimpleNamespace(question_text="Why?", context_text="Han"),), {}),
        ((), pair),
        ((), {"data": pair}),
        ((), {"question": ["Why?"], "context": ["Han"]}),
    ):
        assert pairs(given_inputs(args, named)) == [("Why?", "Han")]


def test_one_question_goes_with_every_context_and_one_context_with_every_question():
    many = given_inputs((), {"question": "Why?", "context": ["Han", "Seoul"]})
    assert pairs(many) == [("Why?", "Han"), ("Why?", "Seoul")]
    many = given_inputs((), {"question": ["Why?", "Who?"], "context": "Han"})
    assert pairs(many) == [("Why?", "Han"), ("Who?", "Han")]


def test_what_is_no_question_is_refused():
    with pytest.raises(InputError, match="'context' is empty"):
        pair_of({"question": "Why?", "context": " "})
    with pytest.raises(InputError, match=r"a question with its context was expected .* got int"):
        pair_of(3)
    with pytest.raises(InputError, match=r"^'question' is missing"):
        pair_of({"context": "Han"})
    with pytest.raises(InputError, match="2 questions came with 3 contexts"):
        given_inputs((), {"question": ["a", "b"], "context": ["c"] * 3})


def test_documents_are_read_as_they_are_asked_for_and_named_where_they_are_bad():
    endless = numbered_documents(f"text {k}" for k in itertools.count())
    assert list(itertools.islice(endless, 2)) == [(0, "text 0"), (1, "text 1")]
    with pytest.raises(InputError, match="document 1 is a int"):
        list(numbered_documents(["a", 2]))
    for wrong in ("one text", 3):
        with pytest.raises(InputError, match="a list or generator of texts"):
            next(numbered_documents(wrong))


def test_a_context_that_comes_again_stands_once_in_the_data():
    data = as_data([("a", "Han"), ("b", "Seoul"), ("c", "Han")])
    assert data.contexts == ("Han", "Seoul") and [question.paragraph for question in data.questions] == [0, 1, 0]
