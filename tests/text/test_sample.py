"""The sample is the beginning of the text, and its alphabet is what the text is made of."""

import unicodedata
import warnings
from dataclasses import replace

import pytest

from spanwise.errors import ConfigError, DataError
from spanwise.text.corpus import Document
from spanwise.text.sample import Sample, Wanted

WANTED = Wanted(
    vocab_size=200,
    cased=True,
    min_frequency=2,
    num_unused=0,
    alphabet_size=None,
    unicode_form="as_is",
    boundaries="words",
    max_characters=1000,
)


def sample_of(*sentences, most=1000, form="as_is"):
    wanted = replace(WANTED, max_characters=most, unicode_form=form)
    return Sample([Document("here", 1, list(sentences))], wanted)


def alphabet(sample, room=100, pieces_each=2, **changes):
    return sample.alphabet(lambda text: text, replace(WANTED, **changes), room=room, pieces_each=pieces_each)


def test_sentences_come_back_as_often_as_asked_for_and_blanks_on_demand():
    documents = [Document("a", 1, ["one", "two"], ends=False), Document("a", 1, ["three"]), Document("b", 1, ["four"])]
    with Sample(documents, WANTED) as sample:
        assert list(sample.sentences()) == list(sample.sentences()) == ["one", "two", "three", "four"]
        assert list(sample.sentences(blanks=True)) == ["one", " two", " three", "four"]


def test_the_sample_ends_at_its_size_and_counts_what_it_holds():
    with sample_of("aaaa", "bbbb", "cccc", most=6) as sample:
        assert list(sample.sentences()) == ["aaaa", "bb"]
        assert sample.characters == {"a": 4, "b": 2}
    with pytest.raises(DataError, match="No text was given"):
        sample_of("")


def test_text_in_parts_is_counted_composed_where_the_tokenizer_composes():
    with sample_of(unicodedata.normalize("NFD", "한국"), form="NFC") as sample:
        assert set(sample.characters) == {"한", "국"}


def test_rare_characters_are_left_out_and_rare_syllables_of_a_korean_text_are_not():
    rare = "".join(chr(0xAC00 + number) for number in range(40))
    korean = sample_of("가" * 900_000 + "a" * 1000 + rare + "漢", most=10**7)
    with korean as sample, sample_of("a" * 900_000 + rare, most=10**7) as english:
        assert set(rare) <= set(alphabet(sample)) and "漢" not in alphabet(sample)
        assert set(alphabet(english)).isdisjoint(rare[1:])


def test_the_alphabet_fits_the_room_and_its_size_can_be_set():
    syllables = "".join(chr(0xAC00 + number) * (100 - number) for number in range(60))
    with sample_of(syllables, most=10_000) as sample:
        with pytest.warns(UserWarning, match="no room for 10 of the 60 syllables"):
            assert len(found := alphabet(sample)) == 50 and found[0] == "가"
        assert len(alphabet(sample, pieces_each=1)) == 60
        assert alphabet(sample, alphabet_size=3) == ["가", "각", "갂"]
        with pytest.raises(ConfigError, match="alphabet_size=51 needs 102 pieces, and vocab_size=200 leaves 100"):
            alphabet(sample, alphabet_size=51)


def test_text_of_nothing_but_white_space_for_the_normaliser_is_refused():
    with sample_of("\x07\x07") as sample, pytest.raises(DataError, match="control characters only"):
        sample.alphabet(lambda text: "", WANTED, room=100, pieces_each=2)


def test_syllables_without_room_are_told_with_the_size_that_holds_them():
    syllables = "".join(chr(0xAC00 + number) for number in range(60))
    with sample_of("a" * 300 + syllables * 5, most=10_000) as sample:
        with pytest.warns(UserWarning, match=r"no room for 11 of the 60 syllables.*takes vocab_size=222,"):
            assert len(alphabet(sample)) == 50
        with warnings.catch_warnings(action="error"):
            assert len(alphabet(sample, room=122)) == 61
