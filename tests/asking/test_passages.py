"""Passages are paragraphs, and know where their lines stand."""

from spanwise.asking.documents import TextLine
from spanwise.asking.passages import MOST, Passage, cut_passages, sentence_around, unwrapped


def passages_of(text):
    return list(cut_passages(TextLine(line, number) for number, line in enumerate(text.split("\n"), start=1)))


def test_long_paragraphs_are_passages_and_short_lines_join_the_next():
    long = "A sentence of some words. " * 15
    found = passages_of(f"Heading\n{long}\n{long}\n\nend")
    assert [passage.text for passage in found] == [f"Heading\n{long.rstrip()}", long.rstrip(), "end"]
    assert found[0].place(0) == (1, 0) and found[0].place(20) == (2, 0) and found[2].place(0) == (5, 0)


def test_no_text_is_lost_and_none_is_longer_than_a_window():
    text = "\n".join(["word " * n for n in (3, 400, 0, 0, 50, 50, 50, 50, 50, 50, 50, 2)] + ["x" * 5000, "?!", "end."])
    found = passages_of(text)
    assert max(len(passage.text) for passage in found) <= MOST
    assert "".join("".join(p.text for p in found).split()) == "".join(text.split())


def test_endless_lines_are_cut_where_a_sentence_ends():
    found = passages_of("One sentence that says a little. " * 100)
    assert len(found) > 2 and all(passage.text.rstrip().endswith(".") for passage in found)
    assert {passage.place(5) for passage in found} == {(1, 0)}


def test_rows_are_never_joined_and_passages_without_a_word_are_left_out():
    lines = [TextLine("one", 1, is_alone=True), TextLine("--", 2, is_alone=True), TextLine("two", 3, is_alone=True)]
    assert [passage.text for passage in cut_passages(lines)] == ["one", "two"]


def test_a_passage_knows_the_page_of_each_line():
    passage = Passage("ab\ncd", ((0, 7, 1), (3, 1, 2)))
    assert (passage.place(2), passage.place(3)) == ((7, 1), (1, 2))


def test_a_sentence_goes_on_over_lines_that_were_wrapped_and_ends_at_a_heading():
    wrapped = "The harbour of the town was built in the year\n1890 by Anna Miller. It is old."
    assert len(unwrapped(wrapped)) == len(wrapped) and "\n" not in unwrapped(wrapped)
    start = wrapped.index("1890")
    first, last = sentence_around(wrapped, start, start + 4, "en")
    assert wrapped[first:last].startswith("The harbour") and wrapped[first:last].endswith("Miller.")
    headed = "History\nIt was built in 1890."
    start = headed.index("1890")
    assert headed[slice(*sentence_around(headed, start, start + 4, "en"))] == "It was built in 1890."
