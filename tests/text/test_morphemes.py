"""Morphemes begin where stems end; what finds them is told apart from what uses them."""

import sys
import unicodedata
from itertools import pairwise

import numpy as np
import pytest

from spanwise.errors import ConfigError
from spanwise.text import morphemes
from spanwise.text.corpus import Document
from spanwise.text.learn import learn_tokenizer
from spanwise.text.morphemes import MorphemeAnalyser, MorphemeTagger

SENTENCES = ["학교에서는 공부를 했다.", "🙂 학교를 大韓民國에서 iPhone으로 ㅋㅋㅋ"]


def parts(text, borders):
    cuts = [*sorted(borders), len(text)]
    return [text[first:last].strip() for first, last in pairwise(cuts)]


def test_particles_leave_their_stems_in_characters_of_the_text():
    first, second = MorphemeAnalyser().borders(SENTENCES)
    assert parts(SENTENCES[0], first) == ["학교", "에서", "는", "공부", "를", "했", "다", "."]
    assert parts(SENTENCES[1], second)[:7] == ["🙂", "학교", "를", "大韓民國", "에서", "iPhone", "으로"]


def test_morphemes_have_the_forms_of_a_dictionary_and_join_again():
    analyser = MorphemeAnalyser()
    (found,) = analyser.morphemes(["그는 집을 지었다."])
    verb = next(morpheme for morpheme in found if morpheme.tag == "VV")
    assert (verb.form, verb.is_irregular) == ("짓", True)
    assert analyser.joined(("짓", "VV-I"), ("ᆫ", "ETM")) == "지은"
    assert analyser.joined(("받", "VV"), ("ᆫ", "ETM")) == "받은"


def test_text_in_parts_has_the_same_borders_at_its_own_characters():
    (whole,) = MorphemeAnalyser().borders([SENTENCES[1]])
    parted = unicodedata.normalize("NFD", SENTENCES[1])
    (found,) = MorphemeAnalyser().borders([parted])
    assert [unicodedata.normalize("NFC", part) for part in parts(parted, found)] == parts(SENTENCES[1], whole)


def test_tokens_are_tagged_where_a_morpheme_begins_at_them():
    tokenizer = learn_tokenizer([Document("here", 1, ["학교 에서 는 공부 를"] * 5)], vocab_size=64)
    texts = ["학교에서는", "", "공부를"]
    encodings = tokenizer.encode_batch(texts)
    tags = MorphemeTagger().tag(texts, encodings)
    for text, encoding, found in zip(texts, encodings, tags, strict=True):
        assert found.dtype == np.uint8 and found.shape == encoding.ids.shape
        assert {int(start) for start in encoding.offsets[found > 0, 0]} <= {0, 2, 4}, text
    assert tags[0].sum() == 3 and tags[2].sum() == 2


def test_without_the_analyser_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "kiwipiepy", None)
    morphemes._kiwi.cache_clear()
    with pytest.raises(ConfigError, match=r"pip install 'spanwise\[ko\]'"):
        MorphemeAnalyser()
    morphemes._kiwi.cache_clear()
