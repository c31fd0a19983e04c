"""Every composed character knows the characters it was made of."""

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from spanwise.text.composition import LOOKED_AT, beginning_of, compose, is_korean

MARKS = "한국ㅋéa\u0301\u0338\u1100\u1161\u11a8=<\u09c7\u09be漢\u0958\u0344e\u0323"


def test_jamo_and_accents_belong_to_their_letter():
    text, places = compose(unicodedata.normalize("NFD", "한 é"))
    assert text == "한 é" and places.tolist() == [0, 3, 4, 6]


def test_text_that_is_composed_stays_as_it_is():
    assert compose("")[0] == "" and compose("")[1].tolist() == [0]
    text, places = compose("ㅋㅋ a")
    assert text == "ㅋㅋ a" and places.tolist() == [0, 1, 2, 3, 4]


@given(st.text(st.sampled_from(MARKS)) | st.text(st.characters(codec="utf-8")))
def test_the_text_is_nfc_and_the_places_rise_from_its_beginning_to_its_end(given_text):
    text, places = compose(given_text)
    assert text == unicodedata.normalize("NFC", given_text)
    assert len(places) == len(text) + 1 and places[-1] == len(given_text)
    assert (places[1:] >= places[:-1]).all() and (not text or places[0] == 0)


KOREAN = "한강은 서울을 지나는 강이며 Han River Bridge가 놓였다."


def test_hangul_tells_korean_whole_or_in_parts_or_as_laughter():
    for text in (KOREAN, unicodedata.normalize("NFD", KOREAN), "ㅋㅋㅋㅋ ㅎㅎ lol 1234567890"):
        assert is_korean([text])


def test_other_languages_and_text_about_korea_are_not():
    for text in ("The Han River (한강) flows through Seoul.", "東京は日本の首都である", "", "123 !?"):
        assert not is_korean([text])
    assert not is_korean([])


def test_the_beginning_decides():
    sentences = ["a" * (LOOKED_AT // 2)] * 2 + [KOREAN] * 10**5
    assert len(list(beginning_of(sentences))) == 2 and not is_korean(sentences)
