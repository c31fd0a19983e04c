"""Questions in memory."""

import pytest

from spanwise.errors import DataError
from spanwise.tasks.qa.data import Answer, Gathering, Question, SquadData, as_data, field, id_field, text_field


def test_an_answer_ends_where_its_text_does_and_a_question_finds_its_passage():
    question = Question("q", "Where?", 1, (Answer("Han", 4),))
    data = SquadData(
        source="own",
        version="",
        contexts=("none", "The Han."),
        titles=("", ""),
        questions=(question,),
        has_unanswerable=False,
    )
    answer = question.answers[0]
    assert data.context_of(question)[answer.start : answer.end] == answer.text


def gathering(errors="strict"):
    return Gathering("own.json", "1.1", "train", errors)


def test_a_passage_that_comes_again_is_held_once():
    found = gathering()
    assert [found.find_context(text, "") for text in ("a", "b", "a")] == [0, 1, 0]
    found.add_question("q", "Why?", (), "here", 0)
    assert found.finish().contexts == ("a", "b")


def test_an_answer_is_placed_where_it_stands_nearest():
    found = gathering("repair")
    assert found.place_answer("Han", 9, "Han Han Han", "here").start == 8
    assert found.place_answer("Nam", 0, "Han Han Han", "here") is None
    assert (found.num_moved, found.num_dropped) == (1, 1)
    with pytest.raises(DataError, match="here: answer 'Han' has answer_start 1, where the context reads 'an '"):
        gathering().place_answer("Han", 1, "Han Han", "here")


def test_ids_go_by_any_of_their_names():
    assert [id_field({name: 7}, "here", 1) for name in ("id", "qid", "guid")] == ["7", "7", "7"]
    with pytest.raises(DataError, match="here, question 3: the key 'id' is missing"):
        id_field({}, "here", 3)


def test_texts_that_say_nothing_are_refused():
    with pytest.raises(DataError, match="here: 'question' is empty"):
        text_field({"question": " \r\n"}, "question", "here")


def test_a_context_that_comes_again_stands_once_in_the_data():
    data = as_data([("a", "Han"), ("b", "Seoul"), ("c", "Han")])
    assert data.contexts == ("Han", "Seoul") and [question.paragraph for question in data.questions] == [0, 1, 0]


def test_a_file_whose_questions_are_all_left_out_says_the_first_reason():
    found = gathering("repair")
    for number in (1, 2):
        with found.one_question():
            raise DataError(f"own.json, question {number}: 'question' is empty.")
    with pytest.raises(DataError, match=r"none of its 2 questions can be used; the first: own\.json, .* 1: "):
        found.finish()
    with pytest.raises(DataError, match="no questions in it"):
        gathering("repair").finish()


def test_null_counts_as_missing():
    assert field({"title": None}, "title", str, "here", default="1") == "1"
    with pytest.raises(DataError, match="here: the key 'title' is missing"):
        field({"title": None}, "title", str, "here")
