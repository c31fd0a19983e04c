"""Words of a text, and the same entities at words and at characters."""

import pytest

from spanwise.errors import DataError
from spanwise.tasks.tagging.sentences import Sentence, at_level, split_words
from spanwise.tasks.tagging.spans import Span


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("It's 3.5 km_h, 한강은!", ["It", "'", "s", "3", ".", "5", "km_h", ",", "한강은", "!"]),
        ("हिन्दी e\u0301te\u0301", ["हिन्दी", "e\u0301te\u0301"]),
        ("👩‍🔬👍🏽 ok", ["👩‍🔬", "👍", "🏽", "ok"]),
        ("שלום، مرحبا", ["שלום", "،", "مرحبا"]),
        (" \t\n", []),
    ],
)
def test_words_keep_their_combining_signs(text, words):
    assert [text[a:b] for a, b in split_words(text)] == words


def sentence(text, *spans):
    tags = ["O"] * len(text)
    for start, end, label in spans:
        tags[start:end] = [f"B-{label}"] + [f"I-{label}"] * (end - start - 1)
    return Sentence(text, tuple((n, n + 1) for n in range(len(text))), tuple(tags), "line 1")


def test_entities_are_the_same_at_words_and_at_characters():
    by_character = sentence("Ada Lovelace, of Séoul.", (0, 12, "PER"), (17, 22, "LOC"))
    by_word = at_level(by_character, "words")
    assert by_word.tags == ("B-PER", "I-PER", "O", "O", "B-LOC", "O")
    assert by_word.spans() == by_character.spans() == [Span(0, 12, "PER"), Span(17, 22, "LOC")]
    assert at_level(by_word, "characters") == by_character


def test_without_tags_only_the_units_change():
    bare = Sentence("한강은 길다", ((0, 3), (4, 6)), (), "line 1")
    assert at_level(at_level(bare, "characters"), "words") == bare
    assert len(at_level(bare, "characters").units) == 6


@pytest.mark.parametrize("span", [(0, 2), (1, 3), (2, 5), (3, 4)])
def test_an_entity_that_ends_inside_a_word_is_refused_at_words(span):
    with pytest.raises(DataError, match=rf"line 1: the span {span[0]}:{span[1]} .* task\.level=characters"):
        at_level(sentence("한강은 길다", (*span, "LC")), "words")
