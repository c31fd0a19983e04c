"""A question finds the passages that share its rare terms."""

import unicodedata

import pytest

from spanwise.asking.term_weights import TermWeights, Vocabulary, nearest_passages

PARAGRAPHS = [
    "The university has a choir and a rowing club that the students founded.",
    "The harbour was built in 1890, and the harbour wall was raised in 1931.",
    "The town lies by the sea and has a small university.",
]


def weights_of(texts):
    vocabulary = Vocabulary()
    return TermWeights.count([vocabulary.encode(text) for text in texts], vocabulary)


def test_rare_words_count_more_than_common_ones():
    assert nearest_passages("When was the harbour built?", PARAGRAPHS)[0] == 1
    assert nearest_passages("Is there a university choir?", PARAGRAPHS)[0] == 0


def test_passages_without_a_common_term_are_left_out():
    assert nearest_passages("Wem gehört das?", PARAGRAPHS) == []
    assert nearest_passages("?", PARAGRAPHS) == nearest_passages("anything", []) == nearest_passages("a", ["..."]) == []


def test_at_most_top_passages_are_given():
    assert len(nearest_passages("the a", PARAGRAPHS, top=2)) == 2


def test_korean_particles_do_not_hide_a_word():
    paragraphs = ["부산항은 1876년에 열렸다.", "고려여객(高麗旅客)은 자회사이다.", "京都は千年の都であった。"]
    for form in ("NFC", "NFD"):
        assert nearest_passages(unicodedata.normalize(form, "고려여객이 무엇인가?"), paragraphs)[0] == 1
    assert nearest_passages("千年の都はどこか", paragraphs)[0] == 2
    assert nearest_passages("바다?", paragraphs) == []


def test_of_two_passages_with_the_word_the_shorter_one_is_nearer():
    short, long = "The harbour was old.", "The harbour was old, and " + "so were many other things of the town " * 5
    assert nearest_passages("harbour", [long, short, "The university has a choir."]) == [1, 0]


def test_saved_weights_find_the_same(tmp_path):
    counted = weights_of(PARAGRAPHS)
    counted.save(tmp_path / "terms")
    opened = TermWeights.load(tmp_path / "terms")
    assert len(opened) == 3
    assert opened.search("the harbour wall", 2) == counted.search("the harbour wall", 2)


def test_no_score_passes_the_information_of_a_question():
    weights = weights_of(PARAGRAPHS)
    told = weights.information("harbour wall")
    assert 0 < weights.search("harbour wall", 1)[0].score < told
    assert weights.information("harbour wall zebra") > told > weights.information("the")
    assert weights.information("?") == pytest.approx(0.0, abs=1e-6)
