"""Which files of a folder are read, and how each is."""

import pytest

from spanwise.asking.documents.read import ReadingOptions, document_files, installed_packages, read_document
from spanwise.errors import ConfigError, DataError


def test_a_folder_gives_what_can_be_read_by_name_without_hidden_files(tmp_path):
    (tmp_path / "b").mkdir()
    (tmp_path / ".hidden").mkdir()
    for name in ("b/z.md", "a.txt.gz", "c.PDF", "picture.png", ".a.txt", ".hidden/x.txt"):
        (tmp_path / name).write_bytes(b"12")
    found = document_files(tmp_path)
    assert found.passed_over == {".png": 1}
    assert [(file.name, file.size) for file in found.files] == [("a.txt.gz", 2), ("b/z.md", 2), ("c.PDF", 2)]


def test_folders_with_nothing_to_read_are_told(tmp_path):
    with pytest.raises(DataError, match=r"nothing to read \(found: no files\)"):
        document_files(tmp_path)
    (tmp_path / "picture.png").write_bytes(b"")
    with pytest.raises(DataError, match=r"found: picture\.png"):
        document_files(tmp_path)
    with pytest.raises(DataError, match="is a file"):
        document_files(tmp_path / "picture.png")
    with pytest.raises(DataError, match="does not exist"):
        document_files(tmp_path / "none")


def test_each_ending_finds_its_reader(tmp_path):
    (tmp_path / "a.HTM").write_text("<p>one</p>")
    (tmp_path / "a.md").write_text("# two")
    assert [line.text for line in read_document(tmp_path / "a.HTM", ReadingOptions())] == ["one", ""]
    assert [line.text for line in read_document(tmp_path / "a.md", ReadingOptions())] == ["two", ""]
    for name in ("a.pdf", "a.docx", "a.hwpx"):
        (tmp_path / name).write_bytes(b"nothing")
        with pytest.raises(DataError, match=name):
            list(read_document(tmp_path / name, ReadingOptions()))


def test_unknown_values_are_refused():
    with pytest.raises(ConfigError):
        ReadingOptions(errors="ignore")
    assert set(installed_packages()) == {"pypdf", "pyarrow"}  # the extra `test` has both
