"""The layer of file operations does what it says on a real disk."""

import io

from spanwise.runtime.disk import DISK, write_whole


class ShortFile(io.RawIOBase):
    """Takes three bytes at a time, as a pipe or a nearly full disk may."""

    def __init__(self):
        self.content = b""

    def write(self, given):
        self.content += bytes(given[:3])
        return min(3, len(given))


def test_all_of_a_content_reaches_a_file_that_takes_less_than_it_is_given():
    file = ShortFile()
    write_whole(file, b"abcdefgh")
    assert file.content == b"abcdefgh"


def test_files_are_written_added_to_copied_and_removed(tmp_path):
    DISK.make_folders(tmp_path / "a" / "b")
    DISK.make_folders(tmp_path / "a" / "b")
    with DISK.open_to_write(tmp_path / "a" / "b" / "c") as file:
        file.write(b"one")
        DISK.fsync_open(file)
        assert (tmp_path / "a" / "b" / "c").read_bytes() == b"one"
    with DISK.open_to_append(tmp_path / "a" / "b" / "c") as file:
        write_whole(file, b", two")
    DISK.write_by_name(tmp_path / "a" / "d", lambda place: place.write_bytes(b"three"))
    DISK.copy_tree(tmp_path / "a", tmp_path / "copy")

    assert DISK.files_under(tmp_path / "copy") == ["b/c", "d"]
    assert DISK.read_file(tmp_path / "copy" / "b" / "c") == b"one, two"
    DISK.remove_tree(tmp_path / "a")
    assert not DISK.exists(tmp_path / "a")
