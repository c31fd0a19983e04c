"""Documents keep every character, and a broken one does not end the reading."""

import gzip
import json
import os
import tracemalloc

import pyarrow
import pyarrow.parquet
import pytest

from spanwise.errors import ConfigError
from spanwise.extraction.documents import MOST_BYTES, ReadingOptions, documents_of_file, named_files

USUAL = ReadingOptions()


def read(path, options=USUAL):
    return list(documents_of_file(path.name, path, options))


def test_places_in_a_document_and_its_offset_lead_into_the_file_as_it_is(tmp_path):
    text = "\r\n  First  é one.\r\nMore of it.\r\n\r\n\n의 e\u0301 second\t one\nends"
    (tmp_path / "a.txt").write_bytes(b"\xef\xbb\xbf" + text.encode())
    documents = read(tmp_path / "a.txt")
    assert [d.id for d in documents] == ["a.txt#1", "a.txt#2"]
    for document in documents:
        assert document.offset is not None
        assert text[document.offset : document.offset + len(document.text)] == document.text
    assert documents[1].text == "의 e\u0301 second\t one\nends"


def test_a_file_may_be_one_document(tmp_path):
    (tmp_path / "a.txt").write_text("One.\n\nTwo.\n")
    assert [d.text for d in read(tmp_path / "a.txt", ReadingOptions(per_file=True))] == ["One.\n\nTwo."]


def test_a_document_that_is_no_utf8_is_listed_and_the_next_ones_are_read(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"Good.\n\nBad \xff.\n\nGood again.\n")
    first, bad, last = read(tmp_path / "a.txt")
    assert (first.text, last.text, last.id, last.offset) == ("Good.", "Good again.", "a.txt#3", 15)
    assert "0xff" in bad.error and not bad.text
    assert read(tmp_path / "a.txt", ReadingOptions(errors="replace"))[1].text == "Bad \ufffd."


def test_a_document_that_is_too_long_is_listed_and_the_next_ones_are_read(tmp_path):
    long = "é" * MOST_BYTES
    (tmp_path / "a.txt").write_text(f"{long}\n\nShort.")
    too_long, short = read(tmp_path / "a.txt")
    assert "at most 1,048,576 characters" in too_long.error
    assert (short.text, short.offset) == ("Short.", len(long) + 2)


def test_rows_of_json_lines_and_parquet_are_read_one_by_one(tmp_path):
    lines = [json.dumps({"text": " A b. "}), "", "{", json.dumps({"words": 1}), json.dumps({"text": "C."})]
    (tmp_path / "a.jsonl").write_text("\n".join(lines))
    found = read(tmp_path / "a.jsonl")
    assert [(d.id, d.text, bool(d.error)) for d in found] == [
        ("a.jsonl#1", " A b. ", False), ("a.jsonl#3", "", True), ("a.jsonl#4", "", True), ("a.jsonl#5", "C.", False),
    ]  # fmt: skip
    pyarrow.parquet.write_table(pyarrow.table({"text": ["A.", None, "C."]}), tmp_path / "a.parquet")
    assert [(d.text, bool(d.error)) for d in read(tmp_path / "a.parquet")] == [("A.", False), ("", True), ("C.", False)]


def test_a_line_beyond_its_bound_is_never_held_whole_and_the_next_ones_are_read(tmp_path):
    file = tmp_path / "a.jsonl"
    good = b'{"text": "Good."}\n'
    with file.open("wb") as opened:
        opened.write(good)
        opened.write(b'{"text": "')
        opened.seek(300 * 10**6, os.SEEK_CUR)  # zeros
        opened.write(b'"}\n' + good + b"[" * 10**5 + b"\n" + b'{"text": "\xff"}\n' + good)
        opened.write(b"x" * (10**6 + 1))
    tracemalloc.start()
    found = read(file, ReadingOptions(max_line_mb=1))
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 40e6
    assert [(d.id, d.text) for d in found if not d.error] == [(f"a.jsonl#{n}", "Good.") for n in (1, 3, 6)]
    long, deep, no_text, last = (d for d in found if d.error)
    assert long.error.startswith("line 2 of a.jsonl has 300,000,013 bytes, and at most 1 MB are read.")
    assert "--max-line-mb" in long.error and "nested too deeply" in deep.error
    assert "0xff" in no_text.error and "--errors replace" in no_text.error
    assert last.id == "a.jsonl#7" and "line 7 of a.jsonl has 1,000,001 bytes" in last.error
    assert len(read(file, ReadingOptions(max_line_mb=2))) == 7


@pytest.mark.parametrize("most", [0, 1025])
def test_the_bound_of_a_line_has_a_range(most):
    with pytest.raises(ConfigError, match="expected 1 to 1024"):
        ReadingOptions(max_line_mb=most)


def test_a_file_that_ends_too_early_gives_what_it_has_and_says_so(tmp_path):
    packed = gzip.compress(b"One.\n\n" + bytes(range(65, 91)) * 50 + b"\n\nTwo.\n")
    (tmp_path / "a.txt.gz").write_bytes(packed[:-12])
    *_, last = read(tmp_path / "a.txt.gz")
    assert last.id == "a.txt.gz" and "ends too early" in last.error


def test_documents_are_named_below_the_folder_that_was_given(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.txt").write_text("A.")
    assert list(named_files([tmp_path])) == ["in/a.txt"]
    assert list(named_files([tmp_path / "in" / "a.txt"])) == [(tmp_path / "in" / "a.txt").as_posix()]


def test_text_on_another_machine_is_refused():
    with pytest.raises(ConfigError, match=r"memory://box/a\.txt lies elsewhere"):
        named_files(["memory://box/a.txt"])


def test_a_name_that_is_no_utf8_is_one_that_every_file_can_hold(tmp_path):
    file = tmp_path / os.fsdecode(b"caf\xe9.txt")
    file.write_text("text")
    assert named_files([tmp_path]) == {r"caf\xe9.txt": file}
