"""A question finds the paragraph that shares its rare words."""

import unicodedata

from spanwise.quickstart.retrieve import nearest_paragraphs

PARAGRAPHS = [
    "The university has a choir and a rowing club that the students founded.",
    "The harbour was built in 1890, and the harbour wall was raised in 1931.",
    "The town lies by the sea and has a small university.",
]


def test_rare_words_count_more_than_common_ones():
    assert nearest_paragraphs("When was the harbour built?", PARAGRAPHS)[0] == 1
    assert nearest_paragraphs("Is there a university choir?", PARAGRAPHS)[0] == 0


def test_paragraphs_without_a_common_word_are_left_out():
    assert nearest_paragraphs("Wem gehört das?", PARAGRAPHS) == []
    assert nearest_paragraphs("anything", []) == []


def test_at_most_top_paragraphs_are_given():
    assert len(nearest_paragraphs("the a", PARAGRAPHS, top=2)) == 2


def test_korean_particles_do_not_hide_a_word():
    paragraphs = [
        "부산항은 1876년에 열렸다.",
        "고려여객(高麗旅客)은 자회사이다.",
        "京都は千年の都であった。",
    ]

    for form in ("NFC", "NFD"):
        assert nearest_paragraphs(unicodedata.normalize(form, "고려여객이 무엇인가?"), paragraphs)[0] == 1
    assert nearest_paragraphs("千年の都はどこか", paragraphs)[0] == 2
    assert nearest_paragraphs("바다?", paragraphs) == []


def test_of_two_paragraphs_with_the_word_the_shorter_one_is_nearer():
    short, long = "The harbour was old.", "The harbour was old, and " + "so were many other things of the town " * 5
    rest = ["The university has a choir."] * 3
    assert nearest_paragraphs("harbour", [long, short, *rest]) == [1, 0]
    assert nearest_paragraphs("harbour", [short, long, *rest]) == [0, 1]
