"""An index gives back what was put into it, and refuses what is damaged."""

import json
import os

import pytest

from spanwise.asking.documents.read import DocumentFile, ReadingOptions
from spanwise.asking.index import IndexedFile, IndexRecord, IndexWriter, TextIndex
from spanwise.asking.passages import Passage
from spanwise.errors import DataError
from spanwise.runtime.files import atomic_folder

FILES = [DocumentFile(name=f"{name}.txt", size=1, mtime_ns=2) for name in "abc"]
ONE, TWO, THREE = (
    Passage("The harbour was built in 1890.", ((0, 4, 0),)),
    Passage("서울은\n수도이다.", ((0, 1, 2), (4, 2, 3))),
    Passage("The town has a choir.", ((0, 9, 0),)),
)


def write_index(folder, *, with_text=True):
    with atomic_folder(folder, existing="replace") as inside:
        writer = IndexWriter(inside)
        writer.add(FILES[0], [ONE, TWO] if with_text else [])
        writer.add(FILES[1], [], problem="it is damaged")
        writer.add(FILES[2], [THREE] if with_text else [Passage("...", ((0, 1, 0),))])
        writer.finish(ReadingOptions(), ["pypdf"])
    return folder


def test_passages_their_places_and_files_come_back(tmp_path):
    index = TextIndex(write_index(tmp_path / "index"))
    assert [index.passage(number) for number in range(len(index))] == [ONE, TWO, THREE]
    assert [index.file_of(number).file.name for number in range(3)] == ["a.txt", "a.txt", "c.txt"]
    assert list(index.passages_of(0)) == [ONE, TWO] and list(index.passages_of(1)) == []
    assert [hit.number for hit in index.weights.search("서울의 항구", 5)] == [1]
    assert index.record.files[1].problem == "it is damaged" and index.record.packages == ("pypdf",)


def test_a_cut_or_foreign_index_is_refused(tmp_path):
    folder = write_index(tmp_path / "index")
    (folder / "texts.bin").write_bytes(b"short")
    with pytest.raises(DataError, match=r"texts\.bin"):
        TextIndex(folder)
    record = tmp_path / "index.json"
    record.write_text(json.dumps({"version": 0}))
    with pytest.raises(DataError, match="another version"):
        IndexRecord.read(record)
    record.write_text("[]")
    with pytest.raises(DataError, match="can't be read"):
        IndexRecord.read(record)


def test_texts_without_a_word_make_no_index(tmp_path):
    with pytest.raises(DataError, match=r"no text in a\.txt, b\.txt, c\.txt"):
        write_index(tmp_path / "index", with_text=False)
    assert not (tmp_path / "index").exists()


def test_a_name_that_is_no_utf8_comes_back_as_it_was(tmp_path):
    file = DocumentFile(name=os.fsdecode(b"caf\xe9.txt"), size=1, mtime_ns=1)
    record = IndexRecord(files=(IndexedFile(file=file, num_passages=1),), reading=ReadingOptions(), packages=())
    record.write(tmp_path / "index.json")
    assert IndexRecord.read(tmp_path / "index.json") == record
