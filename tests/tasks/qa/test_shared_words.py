"""Words that question and passage share: which tokens are marked, and that every way to a window marks them alike."""

import unicodedata

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise.tasks.qa.asking import asking_frame, with_asking_template
from spanwise.tasks.qa.features import make_windows
from spanwise.tasks.qa.shared_words import (
    ALIKE,
    NUM_TYPES,
    QUESTION,
    SAME,
    are_alike,
    marked_types,
    marks_of,
    parents,
    words_of,
)
from spanwise.text.extend import with_roles

SIZES = {"max_length": 64, "doc_stride": 16, "max_question_tokens": 64}
FORMS = ["the", "bridge", "bridges", "Brücke", "서울", "서울은", "서울에서", "built", "building", "1887", "a"]
WORDS = st.lists(st.sampled_from(FORMS), max_size=12)


def letters(text):
    """Words of a text, a token for each character that is no space."""
    return words_of(text, np.array([(k, k + 1) for k, letter in enumerate(text) if letter != " "]).reshape(-1, 2))


def by_hand(word, others):
    return SAME if word in others else ALIKE if any(are_alike(word, other) for other in others) else 0


@given(WORDS, WORDS)
def test_marks_are_those_of_a_search_word_by_word(question, passage):
    marks = marks_of(letters(" ".join(question)), letters(" ".join(passage)))
    asked, read = ([word.casefold() for word in words] for words in (question, passage))
    in_question = [mark and mark + QUESTION for word in asked for mark in [by_hand(word, read)] * len(word)]
    in_passage = [mark for word in read for mark in [by_hand(word, asked)] * len(word)]
    assert marks.question.tolist() == in_question and marks.passage.tolist() == in_passage


@pytest.mark.parametrize(
    "word, other",
    [
        ("서울은", "서울에서"),
        ("discover", "discovered"),
        ("bridges", "bridge"),
        ("대한민국의", "대한민국"),
        ("東京都", "東京"),
    ],
)
def test_forms_of_a_word_are_alike(word, other):
    assert are_alike(word, other) and are_alike(other, word)


@pytest.mark.parametrize(
    "word, other", [("the", "then"), ("part", "partnership"), ("왕은", "왕이"), ("1887", "1889"), ("", "")]
)
def test_words_with_a_short_common_beginning_are_not(word, other):
    assert not are_alike(word, other)


def test_a_token_that_begins_with_the_space_before_its_word_is_of_the_word():
    """Byte-level tokenizers may count the space in."""
    assert words_of("a bridge.", np.array([(0, 1), (1, 5), (5, 8), (8, 9)])).tokens["bridge"].tolist() == [1, 2]


def test_tokens_without_characters_are_of_no_word():
    assert words_of("bridge", np.array([(0, 0), (0, 6), (6, 6)])).tokens["bridge"].tolist() == [1]
    assert not words_of("", np.zeros((0, 2), dtype=np.int64)).tokens


@pytest.mark.parametrize(
    "question, passage", [("서울은", "서울에서 café"), ("café", "Café au lait"), ("ばか", "ばか x")]
)
def test_decomposed_words_are_marked_as_composed_ones(question, passage):
    """macOS writes file names and texts so; a token is a letter here, so that parts of one stand beside each other."""
    whole = marks_of(letters(question), letters(passage))
    assert whole.question.all() and whole.passage.any()
    parts = [letters(unicodedata.normalize("NFD", text)) for text in (question, passage)]
    for marks in (marks_of(*parts), marks_of(parts[0], letters(passage)), marks_of(letters(question), parts[1])):
        assert set(marks.question) == set(whole.question) and set(marks.passage) == set(whole.passage)
    assert marks_of(letters(question), parts[1]).question.tolist() == whole.question.tolist()


def test_new_rows_begin_as_those_of_passages_and_questions():
    assert parents(2, is_pair=True) == (1, 1, 0, 0)
    assert parents(2, is_pair=False) == parents(1, is_pair=True) == (0, 0, 0, 0)


@pytest.mark.parametrize("asks", [False, True])
def test_every_window_shows_the_marks_of_its_part_of_the_passage(tokenizer, squad11, asks):
    if asks:
        tokenizer = with_roles(tokenizer, ["question"])
    more = {"frame": asking_frame(tokenizer, "seen")} if asks else {}
    plain = make_windows(squad11, tokenizer, **SIZES, **more)
    windows = make_windows(squad11, tokenizer, **SIZES, **more, num_token_types=2 + NUM_TYPES, mark_shared=True)
    assert len(windows) > len(squad11.questions)  # some passages are longer than a window
    num_marked = 0
    for row in range(len(windows)):
        question = squad11.questions[windows.question_W[row]]
        before, batch = plain.assemble(np.array([row])), windows.assemble(np.array([row]))
        assert batch.input_ids.tolist() == before.input_ids.tolist()
        types, start = batch.token_type_ids.numpy(), windows.passage_start(row)
        offsets = np.asarray(windows.passage(row).offsets)[windows.first_W[row] : windows.last_W[row]]
        context = squad11.context_of(question)
        asked = {word.strip("?.,()'\"").casefold() for word in question.text.split()}
        for kind, (a, b) in zip(types[start : start + len(offsets)], offsets, strict=True):
            left = max((context.rfind(mark, 0, a + 1) for mark in " ,.()-'\"?"), default=-1) + 1
            right = min(place for mark in " ,.()-'\"?" if (place := context.find(mark, a)) >= 0)
            is_word = left <= a < b <= right
            assert (kind == 1 + SAME) == (is_word and context[left:right].casefold() in asked)
        num_marked += int((types >= 2).sum())
        assert (np.where(types < 2, types, before.token_type_ids.numpy()) == before.token_type_ids.numpy()).all()
    assert num_marked


@pytest.mark.parametrize("asks", [False, True])
def test_other_programs_can_make_the_same_types_of_what_the_tokenizer_gives(tokenizer, squad11, asks):
    if asks:
        tokenizer = with_asking_template(with_roles(tokenizer, ["question"]))
    more = {"frame": asking_frame(tokenizer, "seen")} if asks else {}
    sizes = {**SIZES, "max_length": 512}
    windows = make_windows(squad11, tokenizer, **sizes, **more, num_token_types=2 + NUM_TYPES, mark_shared=True)
    backend = tokenizer.copy_backend()
    for row, question in enumerate(squad11.questions):
        passage = squad11.context_of(question)
        encoding = backend.encode(question.text, passage)
        batch = windows.assemble(np.array([row]))
        assert batch.input_ids.tolist() == encoding.ids
        types = marked_types(encoding, question.text, passage, 2 + NUM_TYPES)
        assert batch.token_type_ids.tolist() == types.tolist() != encoding.type_ids
    with pytest.raises(ValueError, match=r"take encoding\.type_ids"):
        marked_types(encoding, question.text, passage, 2)


def test_one_type_encoders_can_be_marked_too(tokenizer, squad11):
    windows = make_windows(squad11, tokenizer, **SIZES, num_token_types=1 + NUM_TYPES, mark_shared=True)
    types = windows.assemble(np.arange(len(windows))).token_type_ids
    assert set(types.tolist()) <= set(range(1 + NUM_TYPES)) and types.max() > 0
