"""A text is divided by its content, and a person is told what to expect of it."""

import pytest

from spanwise.errors import DataError
from spanwise.quickstart.adapting.texts import bundled_text, general_text, own_text
from spanwise.quickstart.bundle import open_bundle
from spanwise.quickstart.texts_in import CorpusReader
from spanwise.text.corpus import CorpusOptions, read_documents


def divided(path, folder, found="en"):
    with open_bundle() as bundle:
        return own_text(CorpusReader([path], bundle, CorpusOptions(), 60, 10), found, bundle, folder)


def sentences(path, options):
    return [sentence for document in read_documents(path, options) for sentence in document.sentences]


def test_no_sentence_is_lost_and_none_is_in_both_parts(towns, tmp_path):
    text = divided(towns, tmp_path)
    learned, kept = (sentences(path, text.options) for path in (text.learned, text.kept_out))
    assert sorted(learned + kept) == sorted(sentences(towns, CorpusOptions()))
    opening = {sentence for sentence in kept if sentence.startswith("The town")}  # the second ones repeat by turns
    assert opening and not opening & set(learned)
    assert text.record.num_characters == sum(map(len, learned))
    (note,) = text.record.notes
    assert note.startswith(f"Your text has only {text.record.num_characters:,} characters to learn from.")


@pytest.mark.parametrize(
    ("text", "found", "said"),
    [
        (" ".join(f"The mill of Moss stood for {n} years." for n in range(400)), "en", "a single line"),
        ("\n\n".join(f"Der Rhein war {n} Meter tief." for n in range(400)), "", "does not look English"),
    ],
)
def test_one_line_and_a_third_language_are_told_what_to_expect(text, found, said, tmp_path):
    (tmp_path / "a.txt").write_text(text, encoding="utf-8")
    notes = divided(tmp_path / "a.txt", tmp_path / "out", found).record.notes
    assert any(said in note for note in notes)


def test_a_text_too_small_to_divide_is_refused(tmp_path):
    (tmp_path / "a.txt").write_text("One sentence alone.")
    with pytest.raises(DataError, match="too short to keep a part"):
        divided(tmp_path / "a.txt", tmp_path / "out")


def test_the_bundled_text_is_divided_already_and_general_text_is_cut_to_the_budget(tmp_path):
    for language in ("en", "ko"):
        with open_bundle(language) as bundle:
            record = bundled_text(bundle).record
            assert record.num_documents > 100 and record.num_valid_documents >= 20 and not record.notes
    with open_bundle("ko") as bundle:
        number = general_text(bundle, 1.0, tmp_path / "general.txt", CorpusOptions())
        assert 200_000 < number < len((tmp_path / "general.txt").read_text("utf-8")) < 400_000
