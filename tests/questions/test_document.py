"""The laws of made questions, in both languages."""

import pytest

from spanwise.errors import ConfigError
from spanwise.questions.document import MAX_OF_OWN, MAX_PER_PASSAGE, Maker
from spanwise.questions.english import EnglishRules
from spanwise.questions.korean import KoreanRules


@pytest.fixture(params=["english", "korean"])
def world(request):
    """Rules and passages of a language."""
    rules = EnglishRules() if request.param == "english" else KoreanRules()
    return rules, request.getfixturevalue(request.param)


def made(world, key=1, **options):
    rules, passages = world
    return list(Maker(rules=rules, **options).questions(passages, key))


def test_answers_stand_at_their_places_and_never_in_the_question(world):
    found = [question for key in range(20) for question in made(world, key)]
    assert {question.form for question in found} == {"wh", "cloze"}
    assert len({question.kind for question in found}) >= 4
    for question in found:
        assert question.passage.text[question.start :].startswith(question.answer)
        assert not world[0].holds(question.question, question.answer)
        assert question.sentence not in question.passage.text
        assert world[0].holds(question.sentence, question.answer)
        assert question.question.endswith("?" if question.form == "wh" else ".")


def test_a_passage_gets_a_few_questions_each_with_its_own_id(world):
    found = made(world)
    numbers = [question.passage.number for question in found]
    assert max(map(numbers.count, numbers)) <= MAX_PER_PASSAGE
    assert len({question.id for question in found}) == len(found) >= 3


def test_equal_keys_give_equal_questions_and_another_key_others(world):
    assert made(world, 5) == made(world, 5)
    assert any(made(world, 5) != made(world, key) for key in range(6, 12))


def test_only_the_kinds_and_forms_asked_for_are_made(world):
    found = [question for key in range(5) for question in made(world, key, kinds=["date", "name"], forms=["cloze"])]
    assert found
    assert {question.kind for question in found} <= {"date", "name"}
    assert {question.form for question in found} == {"cloze"}


def test_impossible_questions_have_passages_without_their_answer(world):
    found = [question for key in range(20) for question in made(world, key, impossible=0.9)]
    lost = [question for question in found if question.start < 0]
    assert len(lost) > 3
    for question in lost:
        assert not world[0].holds(question.passage.text, question.answer)
        assert question.sentence not in question.passage.text
    assert not [question for question in made(world) if question.start < 0]


def test_a_document_that_comes_twice_gives_nothing_the_second_time(world):
    rules, passages = world
    maker = Maker(rules=rules)
    first = {question.id for question in maker.questions(passages, 3)}
    second = {question.id for question in maker.questions(passages, 3)}
    assert first
    assert not first & second


def test_questions_of_the_same_sentence_stand_by_it_in_other_words(world):
    found = [question for key in range(20) for question in made(world, key, same_sentence=1.0)]
    assert {question.form for question in found} == {"wh"}
    for question in found:
        assert question.sentence in question.passage.text
        assert question.passage.text[question.start :].startswith(question.answer)
        assert not world[0].holds(question.question, question.answer)
        assert question.question.removesuffix("?") not in question.sentence
    passages = [question.passage.number for question in made(world, same_sentence=1.0)]
    assert max(map(passages.count, passages)) <= MAX_OF_OWN
    mixed = [question for key in range(20) for question in made(world, key, same_sentence=0.5)]
    assert 0.2 < sum(question.sentence in question.passage.text for question in mixed) / len(mixed) < 0.95


def test_two_questions_of_a_sentence_for_an_answer_have_other_words(world):
    found = made(world, same_sentence=1.0)
    words = [(question.answer, question.sentence, *sorted(question.question.split()[:-1])) for question in found]
    assert len(set(words)) == len(words)


def test_questions_of_the_same_sentence_may_be_impossible_too(world):
    lost = [q for key in range(20) for q in made(world, key, impossible=0.9, same_sentence=1.0) if q.start < 0]
    assert lost
    assert not any(question.sentence in question.passage.text for question in lost)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"kinds": ["city"]}, "city"),
        ({"forms": []}, "none"),
        ({"impossible": 1.0}, "below 1"),
        ({"same_sentence": 1.5}, "from 0 to 1"),
    ],
)
def test_wrong_options_are_named(options, told):
    with pytest.raises(ConfigError, match=told):
        Maker(rules=EnglishRules(), **options)
