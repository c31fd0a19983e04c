"""The page's tiles are of measures that the record has, and its columns have headings in both languages."""

from spanwise.quickstart.adapting.page import CALLED, TILES
from spanwise.quickstart.texts import words_of


def test_every_tile_and_column_has_words():
    for language in ("en", "ko"):
        words = words_of(language)
        assert all(words[f"a_tile_{key}"] for key, _ in TILES)
        assert all(words[name] for name in CALLED.values())
        for verdict in ("above", "not above", "below"):
            for reference in ("init", "lexical", "unigram", "control"):
                assert words[f"{verdict} {reference}"]
