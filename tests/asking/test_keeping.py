"""The index of a folder is kept, renewed where files changed, and lies where it can."""

import itertools
import os

import pytest

from spanwise.asking import keeping
from spanwise.asking.documents.read import ReadingOptions
from spanwise.asking.keeping import BESIDE, OpenIndex, index_places
from spanwise.errors import DataError, SpanwiseError


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    folder = tmp_path / "text"
    folder.mkdir()
    (folder / "a.txt").write_text("The harbour was built in 1890.")
    (folder / "b.txt").write_text("The town has a choir.")
    return folder


@pytest.fixture
def read_files(monkeypatch):
    """The names of the files that are read, as they are."""
    names = []
    read = keeping.read_document
    monkeypatch.setattr(keeping, "read_document", lambda path, options: names.append(path.name) or read(path, options))
    return names


def texts_of(opened):
    return [opened.index.passage(number).text for number in range(len(opened.index))]


def test_an_index_is_kept_and_only_changed_files_are_read_again(folder, read_files, gauges):
    said = []
    OpenIndex(folder, ReadingOptions(), said.append)
    assert gauges["indexing"] == pytest.approx([51e-6, 51e-6])  # the bar shows MB, and comes to its end
    assert read_files == ["a.txt", "b.txt"] and "2 of 2 files" in said[0]
    OpenIndex(folder, ReadingOptions(), said.append)
    assert len(said) == 1 and len(read_files) == 2

    (folder / "b.txt").write_text("The town has a university.")
    (folder / "c.txt").write_text("It lies by the sea.")
    opened = OpenIndex(folder, ReadingOptions(), said.append)
    assert read_files[2:] == ["b.txt", "c.txt"] and "2 of 3 files are new" in said[1]
    assert texts_of(opened) == ["The harbour was built in 1890.", "The town has a university.", "It lies by the sea."]
    (folder / "a.txt").unlink()
    (folder / "c.txt").write_text("It lies by a river.")
    assert len(OpenIndex(folder, ReadingOptions(), said.append).index) == 2
    assert "1 of 2 files is new" in said[2]
    assert [path.name for path in folder.iterdir() if path.name.startswith(".")] == [BESIDE]


def test_a_change_that_keeps_the_size_is_seen_by_its_time(folder):
    OpenIndex(folder, ReadingOptions())
    (folder / "a.txt").write_text("The harbour was built in 1891.")
    os.utime(folder / "a.txt", ns=(1, 1))
    assert texts_of(OpenIndex(folder, ReadingOptions()))[0].endswith("1891.")


def cut(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def flip(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(bytes(content))


def put_a_folder_there(path):
    path.unlink()
    path.mkdir()


def index_files(folder):
    return sorted(path.relative_to(folder / BESIDE) for path in (folder / BESIDE).rglob("*") if path.is_file())


DAMAGE = {"cut": cut, "flipped": flip, "deleted": lambda path: path.unlink(), "a folder": put_a_folder_there}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_whatever_file_of_an_index_is_damaged_it_is_said_and_made_anew(folder, read_files, damage):
    texts = texts_of(OpenIndex(folder, ReadingOptions()))
    names = index_files(folder)
    assert len(names) >= 11  # those of the weights of terms are among them
    for count, name in enumerate(names, start=2):
        damage(folder / BESIDE / name)
        told = []
        assert texts_of(OpenIndex(folder, ReadingOptions(), told.append)) == texts
        assert told[0].startswith("The index is made anew: ") and str(name) in told[0]
        assert len(read_files) == 2 * count


def test_two_files_of_an_index_that_were_swapped_are_said_and_it_is_made_anew(folder):
    texts = texts_of(OpenIndex(folder, ReadingOptions()))
    for one, other in itertools.pairwise(index_files(folder)):
        paths = folder / BESIDE / one, folder / BESIDE / other
        contents = [path.read_bytes() for path in paths]
        for path, content in zip(paths, reversed(contents), strict=True):
            path.write_bytes(content)
        told = []
        assert texts_of(OpenIndex(folder, ReadingOptions(), told.append)) == texts
        assert told[0].startswith("The index is made anew: ")


def test_a_file_with_the_name_of_the_index_stays_and_a_copy_elsewhere_is_made_and_used(folder, tmp_path, read_files):
    (folder / BESIDE).write_text("mine")
    opened = OpenIndex(folder, ReadingOptions())
    assert opened.notes == [] and read_files == ["a.txt", "b.txt"]
    assert (folder / BESIDE).read_text() == "mine" and not list(folder.glob(".tmp-*"))
    (folder / BESIDE).unlink()
    (folder / BESIDE).mkdir()  # never finished
    told = []
    OpenIndex(folder, ReadingOptions(), told.append)
    assert told[0].startswith("Another copy of the index is used: ") and len(told) == 1 and len(read_files) == 2


def test_where_the_folder_may_not_be_written_the_caches_keep_it_and_else_nothing_does(folder, monkeypatch, read_files):
    write = keeping.atomic_folder
    closed = [folder / BESIDE]

    def refusing(place, **options):
        if place in closed:
            raise SpanwiseError("the folder may not be written")
        return write(place, **options)

    monkeypatch.setattr(keeping, "atomic_folder", refusing)
    assert OpenIndex(folder, ReadingOptions()).notes == []
    assert index_places(folder)[1].is_dir() and not (folder / BESIDE).exists()
    OpenIndex(folder, ReadingOptions())
    assert len(read_files) == 2

    closed.append(index_places(folder)[1])
    (folder / "a.txt").write_text("Another text.")
    told: list[str] = []
    opened = OpenIndex(folder, ReadingOptions(), told.append)
    assert "not kept" in opened.notes[0] and len(opened.index) == 2
    assert len(told) == 1 and told[0].startswith("Indexing")  # once, whatever place it lands in


def test_unreadable_files_stop_or_are_left_out_and_told_until_they_change(folder, read_files):
    (folder / "c.txt").write_bytes(b"\xff\xfe")
    (folder / "d.pdf").write_bytes(b"no pdf")
    with pytest.raises(DataError, match=r"c\.txt is UTF-16"):
        OpenIndex(folder, ReadingOptions())
    assert not (folder / BESIDE).exists()
    opened = OpenIndex(folder, ReadingOptions(errors="replace"))
    assert len(opened.index) == 2 and ["c.txt" in opened.notes[0], "d.pdf" in opened.notes[1]] == [True, True]
    count = len(read_files)
    assert len(OpenIndex(folder, ReadingOptions(errors="replace")).notes) == 2 and len(read_files) == count


def test_files_that_waited_for_a_package_are_tried_when_it_is_there(folder, read_files, monkeypatch):
    (folder / "d.pdf").write_bytes(b"no pdf")
    monkeypatch.setattr(keeping, "installed_packages", lambda: [])
    OpenIndex(folder, ReadingOptions(errors="replace"))
    monkeypatch.setattr(keeping, "installed_packages", lambda: ["pypdf"])
    OpenIndex(folder, ReadingOptions(errors="replace"))
    assert read_files.count("d.pdf") == 2 and read_files.count("a.txt") == 1


def test_files_that_are_not_read_are_told_each_time(folder):
    for name in ("report.hwp", "old.hwp", "table.csv", ".hidden.doc"):
        (folder / name).write_text("The bridge.")
    for _ in range(2):
        note = OpenIndex(folder, ReadingOptions()).notes[0]
        assert note.startswith("passed over, since only .txt") and note.endswith("are read: 2 .hwp, 1 .csv")


def test_empty_files_are_told_and_a_folder_of_them_is_refused(folder):
    (folder / "c.txt").write_text("")
    assert OpenIndex(folder, ReadingOptions()).notes == ["without text (a scan has none): c.txt"]
    for name in "ab":
        (folder / f"{name}.txt").write_text("...")
    with pytest.raises(DataError, match="no text in"):
        OpenIndex(folder, ReadingOptions())


def test_a_current_index_is_found_behind_an_outdated_one_that_cannot_be_written(folder, monkeypatch, read_files):
    OpenIndex(folder, ReadingOptions())
    write = keeping.atomic_folder

    def refusing(place, **options):
        if place == folder / BESIDE:
            raise SpanwiseError("the folder may not be written")
        return write(place, **options)

    monkeypatch.setattr(keeping, "atomic_folder", refusing)
    (folder / "b.txt").write_text("The town has a university.")
    told: list[str] = []
    for _ in range(2):
        assert texts_of(OpenIndex(folder, ReadingOptions(), told.append))[1] == "The town has a university."
    assert read_files == ["a.txt", "b.txt", "b.txt"] and len(told) == 1
