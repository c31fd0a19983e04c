"""Names with a protocol are files elsewhere, and text there is read as text here."""

import gzip
import pickle
import sys
import uuid
from pathlib import Path

import fsspec
import pytest

from spanwise.errors import ConfigError, DataError
from spanwise.runtime.remote.paths import RemotePath, open_bytes_of, path_of
from spanwise.text.corpus import corpus_files, ending_of, read_documents


@pytest.fixture
def bucket():
    """A folder of fsspec's memory with text in several forms; its name."""
    name = f"memory://bucket-{uuid.uuid4().hex[:8]}"
    system = fsspec.filesystem("memory")
    for file, content in {
        "b.txt": b"Two.\n\nThree.\n",
        "a/a.txt.gz": gzip.compress(b"One."),
        "c.jsonl": b'{"text": "Four. Five."}\n',
        ".hidden/d.txt": b"No.",
        "image.png": b"No.",
    }.items():
        system.pipe(f"{name}/{file}", content)
    yield name
    system.rm(name, recursive=True)


@pytest.mark.parametrize("name", ["s3://b/x.txt.gz", "memory://a/b.txt", "hf://datasets/a/b", "file:///tmp/x"])
def test_a_name_with_a_protocol_keeps_it_also_where_a_path_was_made_of_it(name):
    for given in (name, Path(name), path_of(name), pickle.loads(pickle.dumps(path_of(name)))):
        path = path_of(given)
        assert isinstance(path, RemotePath) and str(path) == name
    assert str(path_of(name).parent / "other") == name.rpartition("/")[0] + "/other"


@pytest.mark.parametrize("name", ["text/a.txt", "/a/b", "C:/texts", "A:0.7", "store:0.3", "nosuch://a", "s3:"])
def test_other_names_stay_where_they_were(name):
    assert path_of(name) == Path(name) and not isinstance(path_of(name), RemotePath)


def test_folders_globs_and_files_elsewhere_are_read_in_their_order(bucket):
    files = corpus_files(bucket)
    assert [str(file).removeprefix(bucket) for file in files] == ["/a/a.txt.gz", "/b.txt", "/c.jsonl"]
    assert ending_of(files[0]) == ".txt" and files[1].stat().st_size == 13
    assert [document.sentences for document in read_documents(bucket)] == [
        ["One."],
        ["Two."],
        ["Three."],
        ["Four.", "Five."],
    ]
    assert corpus_files(f"{bucket}/*.txt") == [path_of(f"{bucket}/b.txt")]
    assert next(read_documents(Path(f"{bucket}/b.txt"))).source == f"{bucket}/b.txt"


def test_what_is_not_there_is_told_by_its_whole_name(bucket):
    for given in (f"{bucket}/none.txt", f"{bucket}/none-*.txt"):
        with pytest.raises(DataError, match=f"{bucket}/none"):
            corpus_files(given)
    with pytest.raises(ConfigError, match="named twice"):
        corpus_files([f"{bucket}/b.txt", bucket])


def test_a_file_by_its_own_protocol_is_the_file(tmp_path):
    (tmp_path / "a.txt").write_text("One.\nTwo.")
    assert [d.sentences for d in read_documents(f"file://{tmp_path}")] == [["One.", "Two."]]
    with open_bytes_of(path_of(f"file://{tmp_path}/a.txt")) as file:
        assert file.readline(2) == b"On"


def test_a_protocol_whose_package_is_missing_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "s3fs", None)
    monkeypatch.delitem(sys.modules["fsspec.registry"]._registry, "s3", raising=False)
    with pytest.raises(ConfigError, match=r"s3://b/x cannot be reached: Install s3fs"):
        corpus_files("s3://b/x")


def test_parquet_elsewhere_is_read(bucket):
    import pyarrow
    import pyarrow.parquet

    with fsspec.open(f"{bucket}/t.parquet", "wb") as file:
        pyarrow.parquet.write_table(pyarrow.table({"text": ["One.", "Two."]}), file)
    assert [d.sentences for d in read_documents(f"{bucket}/t.parquet")] == [["One."], ["Two."]]
