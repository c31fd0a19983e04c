"""The page's tiles are of measures that the record has, and its columns have headings in both languages."""

from spanwise.pretraining.comparison import ColumnMean, Gain, Measure
from spanwise.quickstart.adapting.page import CALLED, TILES, tiles
from spanwise.quickstart.texts import words_of


def test_every_tile_and_column_has_words():
    for language in ("en", "ko"):
        words = words_of(language)
        assert all(words[f"a_tile_{key}"] for key, _, _ in TILES)
        assert all(words[name] for name in CALLED.values())
        for verdict in ("above", "not above", "below"):
            for reference in ("init", "lexical", "unigram", "control"):
                assert words[f"{verdict} {reference}"]


def test_a_tile_stands_beside_the_start_and_beside_counted_words():
    def measured(key, counting, before, counted):
        found = {"init": before, counting: counted}
        values = {name: ColumnMean(value=value, se=0.1) for name, (value, _) in found.items()}
        gains = {name: Gain(value=1.0, low=0.5, high=1.5, verdict=verdict) for name, (_, verdict) in found.items()}
        values["trained"] = ColumnMean(value=45.5, se=0.1)
        return Measure(key=key, better="higher", num_items=9, values=values, gains=gains)

    loss = measured("mlm_loss", "bigram", (5.02, "above init"), (5.26, "below bigram"))
    spans = measured("mlm_spans", "bigram", (19.6, "above init"), (21.2, "above bigram"))
    exact = measured("exact", "lexical", (41.3, "not above init"), (11.1, "above lexical"))
    first, second, third = tiles([loss, spans, exact], words_of("en")).tiles
    assert first.note == "clearly better than before (5.02), clearly worse than counting words (5.26)"
    assert second.note == "clearly better than before (19.6), clearly better than counting words (21.2)"
    assert third.note == "not clearly better than before (41.3), clearly better than counting words (11.1)"
    assert [tile.value for tile in (first, second, third)] == ["45.50", "45.5", "45.5"]
    assert [tile.tone for tile in (first, second, third)] == ["bad", "good", "muted"]
    korean = tiles([loss, spans, exact], words_of("ko")).tiles[0]
    assert korean.note == "적응 전(5.02)보다 확실히 나음, 단어 세기(5.26)보다 확실히 못함"
