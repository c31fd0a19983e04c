"""Korean is told by its letters, English by its words; anything else is neither."""

import unicodedata

from spanwise.quickstart.language import language_note, language_of, settle_language
from spanwise.text.corpus import CorpusOptions

ENGLISH = ["The Han River flows through the middle of Seoul, and ferries crossed it until 1900."] * 9
KOREAN = ["한강은 서울을 지나는 강이며, 1900년에 Han River Bridge가 놓였다."] * 12
GERMAN = ["Die Hauptstadt der Bundesrepublik ist Berlin, und der Rhein fließt durch Köln."] * 9
FRENCH = ["La capitale de la France est Paris, et la Seine traverse la ville d'est en ouest."] * 9
JAPANESE = ["東京は日本の首都であり、隅田川が流れている。"] * 20


def test_english_and_korean_are_told_from_each_other_and_from_the_rest():
    assert language_of(ENGLISH) == "en" and language_of(KOREAN) == "ko"
    assert [language_of(text) for text in (GERMAN, FRENCH, JAPANESE)] == ["", "", ""]


def test_korean_typed_in_parts_or_with_much_latin_is_korean():
    assert language_of(unicodedata.normalize("NFD", sentence) for sentence in KOREAN) == "ko"
    assert language_of([*KOREAN * 2, *ENGLISH[:2]]) == "ko"
    assert language_of([*ENGLISH, "한강"]) == "en"


def test_too_little_text_is_taken_for_english():
    assert language_of([]) == "en" and language_of(["Köln am Rhein"]) == "en"


def test_the_beginning_of_files_is_enough(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text("\n".join(KOREAN * 400 + ENGLISH * 4000), encoding="utf-8")
    options, told = settle_language([path], CorpusOptions(), None)
    assert (told, options.language) == ("ko", "ko")


def test_what_a_person_says_goes_before_what_is_told(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text("\n".join(KOREAN), encoding="utf-8")
    assert settle_language([path], CorpusOptions(), "en")[0].language == "en"
    assert settle_language([path], CorpusOptions(language="de"), None)[0].language == "de"
    assert settle_language([], CorpusOptions(), None) == (CorpusOptions(), None)
    assert settle_language([], CorpusOptions(lines="sentences"), "ko")[0] == CorpusOptions(
        lines="sentences", language="ko"
    )


def test_questions_in_another_language_are_told_of():
    assert language_note(None, "en") == language_note(None, "ko") == language_note("en", "en") == ""
    assert "so are the questions" in language_note("ko", "ko")
    assert "does not look English" in language_note("", "en") and "does not look English" in language_note("ko", "en")
    assert "does not look Korean" in language_note("en", "ko")
