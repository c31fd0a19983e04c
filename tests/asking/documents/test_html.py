"""A page gives the text that a browser shows."""

from spanwise.asking.documents.html import html_blocks, html_lines

PAGE = """<html><head><title>T</title><style>p {}</style></head>
<body><h1>The  <em>old</em>
town</h1>
<p>Built in 1890 &amp; raised.<br>Again.</p>
<script>var hidden = "<p>no</p>";</script><table><tr><td>a</td><td>b</td></tr></table>
tail"""


def lines_of(tmp_path, text):
    (tmp_path / "page.html").write_text(text)
    return [(line.text, line.number) for line in html_lines(tmp_path / "page.html", "strict") if line.text]


def test_blocks_come_with_the_line_where_they_begin(tmp_path):
    expected = [("The old town", 2), ("Built in 1890 & raised.", 4), ("Again.", 4), ("a b", 5), ("tail", 6)]
    assert lines_of(tmp_path, PAGE) == expected


def test_an_empty_line_ends_each_block_but_no_line_of_one(tmp_path):
    (tmp_path / "page.html").write_text(PAGE)
    texts = [line.text for line in html_lines(tmp_path / "page.html", "strict")]
    assert texts == ["The old town", "", "Built in 1890 & raised.", "Again.", "", "a b", "", "tail", ""]


def test_broken_pages_lose_no_text(tmp_path):
    assert lines_of(tmp_path, "<head><title>x<body><p>one<p>two</b></div>") == [("one", 1), ("two", 1)]
    assert lines_of(tmp_path, "a < b and <unknown>c</unknown>")[0][0].startswith("a < b")


def test_a_head_ends_where_text_begins_though_nothing_says_so(tmp_path):
    page = "<!doctype html><head><meta charset=utf-8><title>T</title><style>p {}</style><p>one<p>two"
    assert [text for text, _ in lines_of(tmp_path, page)] == ["one", "two"]


def test_preformatted_text_keeps_its_lines_and_their_numbers(tmp_path):
    page = "<p>one\ntwo</p>\n<pre>\nthree\n\n  <b>fo</b>ur\n</pre>five\nsix"
    assert lines_of(tmp_path, page) == [("one two", 1), ("three", 4), ("four", 6), ("five six", 7)]
    assert [one.text for one in html_blocks("<pre>a\nb</pre>c")] == ["a", "b", "", "c", ""]
    assert [one.text for one in html_blocks("<head><title>T</title><pre>a\nb</pre>")] == ["a", "b", ""]
    assert [one.text for one in html_blocks("<template><pre>x</template>a\nb")] == ["a b", ""]
    assert [one.text for one in html_blocks("<pre>a<template></pre></template>b\nc</pre>")] == ["a", "", "b", "c", ""]
