"""Passages are neither headings nor chapters."""

from hypothesis import given
from hypothesis import strategies as st

from spanwise.questions.passages import LEAST, MOST, passages, running_text

SENTENCE = "The river runs to the sea. "


def test_headings_go_and_short_lines_join():
    lines = ["History", "One short line.", "References", *[SENTENCE * 3] * 4]
    found = passages(running_text(lines), "en")
    assert found[0].startswith("One short line. The river")
    assert len(found[0]) >= LEAST
    assert not any("History" in passage or "References" in passage for passage in found)


def test_a_line_ends_with_a_sentence_in_the_marks_of_other_scripts_too():
    lines = ["He left…", "他来了！", "Is it done？", "“He left.”", "'He left.'", "«He left.»", "「네.」", "『네.』"]
    assert running_text([*lines, "Sources:", "a list,"]) == lines


def test_a_chapter_is_cut_between_sentences():
    found = passages([SENTENCE * 200], "en")
    assert len(found) > 3
    assert all(passage.endswith("sea.") and len(passage) <= MOST for passage in found)
    assert " ".join(found) == (SENTENCE * 200).strip()


def test_a_long_line_loses_only_an_end_that_is_no_whole_sentence():
    for times in (12, 500):
        text = (SENTENCE * times).strip()
        assert len(text) > LEAST
        for end in ("The river runs", "[3]", "[12] [4]"):  # cut by its reader; marks of footnotes
            assert " ".join(passages(running_text([f"{text} {end}"]), "en")) == text
    assert passages(["word " * 3000], "en") == []


@given(st.lists(st.integers(0, 80), max_size=20))
def test_no_sentence_is_lost_or_turned_round(counts):
    lines = [" ".join(f"Number {place} of {n}." for place in range(n)) for n in counts]
    assert " ".join(passages(running_text(lines), "en")) == " ".join(line for line in lines if line)
