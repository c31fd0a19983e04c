"""Markdown gives the text of its blocks, each line with its number in the file."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanwise.asking.documents.markdown import markdown_lines
from spanwise.errors import DataError

TEXT = """---
title: The town
---
# The **old** town
Built in *1890* by [Anna Stone](https://example.org/anna "x"),
and `paved` in\\
1931.<!-- no -->

> A ~~new~~ <b>quay</b> &amp; a wall

- one
- ![a map](map.png)

| name | year |
|------|------|
| quay | **1902** |

```python
x = "**kept**"
```

<div>A <i>raw</i> block</div>
"""
LINES = [
    ("---", 1),
    ("title: The town", 2),
    ("---", 3),
    ("The old town", 4),
    ("Built in 1890 by Anna Stone,", 5),
    ("and paved in", 6),
    ("1931.", 7),
    ("A new quay & a wall", 9),
    ("one", 11),
    ("a map", 12),
    ("name year", 14),
    ("quay 1902", 16),
    ('x = "**kept**"', 19),
    ("A raw block", 22),
]


def lines_of(folder, text):
    (folder / "a.md").write_bytes(text.encode())
    return [(line.text, line.number) for line in markdown_lines(folder / "a.md", "strict")]


def test_text_comes_without_markup_and_with_its_line(tmp_path):
    assert [line for line in lines_of(tmp_path, TEXT) if line[0]] == LINES


def test_blocks_are_parted_by_an_empty_line_and_wrapped_lines_are_not(tmp_path):
    found = [text for text, _ in lines_of(tmp_path, "# A\nb\n\nc\nd\n\n\n- e\n- f\n")]
    assert found == ["A", "", "b", "", "c", "d", "", "e", "f"]


def test_headings_stand_alone_and_breaks_part_words(tmp_path):
    text = "one\n# Two\nthree<br>four\nTitle\nof two\n======\nlast\n\n    a\x0bb\n    c\n"
    assert lines_of(tmp_path, text) == [
        ("one", 1),
        ("", 2),
        ("Two", 2),
        ("", 2),
        ("", 3),
        ("three four", 3),
        ("Title", 4),
        ("of two", 5),
        ("", 5),
        ("", 6),
        ("last", 7),
        ("", 8),
        ("a\x0bb", 9),
        ("c", 10),
    ]


def test_settings_that_are_never_closed_are_text(tmp_path):
    assert [text for text, _ in lines_of(tmp_path, "---\nBuilt in 1890.\n") if text] == ["Built in 1890."]
    assert lines_of(tmp_path, "") == []


@given(words=st.lists(st.sampled_from(["bridge", "다리", "1890", "a_b", "2*3", "\n", "\n\n", "# ", "- ", "**", "`1`"])))
def test_no_word_is_lost_and_lines_are_those_of_the_file(tmp_path_factory, words):
    text = " ".join(words)
    found = lines_of(tmp_path_factory.mktemp("page"), text)
    source = text.split("\n")
    for word in ("bridge", "다리", "1890"):
        assert sum(line.count(word) for line, _ in found) == text.count(word)
        assert all(word in source[number - 1] for line, number in found if word in line)


def test_bytes_that_are_no_utf8_are_told_with_their_place(tmp_path):
    (tmp_path / "a.md").write_bytes(b"a\n\xff\n")
    with pytest.raises(DataError, match=r"a\.md line 2"):
        list(markdown_lines(tmp_path / "a.md", "strict"))
    assert [line.text for line in markdown_lines(tmp_path / "a.md", "replace")] == ["a", "\ufffd"]
