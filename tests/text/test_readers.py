"""Files of all packings read the same; damage is told with file and line."""

import bz2
import gzip
import json
import lzma
import subprocess
import sys
import tracemalloc

import pytest
import zstandard

from spanwise.errors import ConfigError, DataError
from spanwise.text.readers import MAX_PIECE_BYTES, read_json_rows, read_lines, read_parquet_rows

TEXT = "First line.\nZweite Zeile: ä.\n\n마지막 줄".encode()
PACK = {".txt": bytes, ".gz": gzip.compress, ".xz": lzma.compress, ".bz2": bz2.compress, ".zst": zstandard.compress}


def texts(path, errors="strict"):
    return [line.text for line in read_lines(path, errors)]


@pytest.mark.parametrize("ending", PACK)
def test_every_packing_gives_the_same_lines(tmp_path, ending):
    path = tmp_path / f"a{ending}"
    path.write_bytes(PACK[ending](TEXT))
    assert texts(path) == ["First line.", "Zweite Zeile: ä.", "", "마지막 줄"]


@pytest.mark.parametrize("ending", [".gz", ".xz", ".bz2", ".zst"])
def test_packed_files_in_several_parts_are_read_to_the_end(tmp_path, ending):
    path = tmp_path / f"a{ending}"
    path.write_bytes(PACK[ending](b"one\n") + PACK[ending](b"two\n"))
    assert texts(path) == ["one", "two"]


@pytest.mark.parametrize("window", [28, 31])
def test_files_of_zstd_long_are_read(tmp_path, window):
    """What `zstd --long=28` and more writes asks the reader for a window above the usual 128 MiB."""
    frame = bytearray(zstandard.ZstdCompressor(write_content_size=False).compress(TEXT))
    frame[5] = (window - 10) << 3  # the window's descriptor follows the magic number and the frame's
    path = tmp_path / "a.txt.zst"
    path.write_bytes(frame)
    assert zstandard.get_frame_parameters(bytes(frame)).window_size == 1 << window
    assert len(texts(path)) == 4


@pytest.mark.parametrize("ending", [".gz", ".xz", ".bz2", ".zst"])
@pytest.mark.parametrize("share", [0.2, 0.7, 0.99])
def test_a_truncated_packed_file_is_told_by_name(tmp_path, ending, share):
    packed = PACK[ending](b"".join(f"line {number * 7919 % 10007}\n".encode() for number in range(20_000)))
    path = tmp_path / f"cut{ending}"
    path.write_bytes(packed[: int(len(packed) * share)])
    with pytest.raises(DataError, match=f"cut{ending}"):
        texts(path)


@pytest.mark.parametrize("ending", [".gz", ".xz", ".bz2", ".zst"])
def test_a_file_that_is_not_what_its_ending_says_is_told_by_name(tmp_path, ending):
    path = tmp_path / f"plain{ending}"
    path.write_bytes(b"not packed at all\n" * 9)
    with pytest.raises(DataError, match=f"plain{ending}"):
        texts(path)


def test_byte_order_mark_and_windows_line_ends_are_no_text(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"\xef\xbb\xbfone\r\ntwo\r\n")
    assert texts(path) == ["one", "two"]


def test_utf16_is_told_with_the_cure(tmp_path):
    path = tmp_path / "wide.txt"
    path.write_bytes("text\n".encode("utf-16"))
    with pytest.raises(DataError, match=r"wide\.txt is UTF-16.*iconv"):
        texts(path)


@pytest.mark.parametrize("bad", [b"\xff", b"\xc3(", b"\xed\xa0\x80", b"\xf8\x88\x80\x80\x80", b"ab\xe2\x82"])
def test_invalid_utf8_names_file_and_line_or_is_replaced(tmp_path, bad):
    path = tmp_path / "bad.txt"
    path.write_bytes(b"good\nfine\n" + bad + b"\nend\n")
    with pytest.raises(DataError, match=r"bad\.txt line 3 .*--errors replace"):
        texts(path)
    replaced = texts(path, "replace")
    assert "\ufffd" in replaced[2] and replaced[3] == "end"


@pytest.mark.parametrize("unit", ["word ", "ä", "한글", "x", "🙂"])
def test_a_ten_megabyte_line_comes_in_whole_pieces_of_bounded_size(tmp_path, unit):
    text = unit * (10_000_000 // len(unit.encode()))
    path = tmp_path / "long.txt"
    path.write_bytes(text.encode() + b"\nnext\n")
    del text
    tracemalloc.start()
    characters, pieces = 0, 0
    for line in read_lines(path):
        assert len(line.text.encode()) <= 2 * MAX_PIECE_BYTES
        characters += len(line.text) if line.number == 1 else 0
        pieces += line.number == 1
        assert line.ends or line.number == 1
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert characters == 10_000_000 // len(unit.encode()) * len(unit)
    assert pieces >= 9 and line.text == "next" and line.number == 2
    assert peak < 16 * MAX_PIECE_BYTES


@pytest.mark.parametrize("size", [MAX_PIECE_BYTES - 1, MAX_PIECE_BYTES, MAX_PIECE_BYTES + 1])
@pytest.mark.parametrize("end", [b"", b"\n", b"\r\n"])
def test_lines_at_the_size_of_a_piece_are_complete(tmp_path, size, end):
    path = tmp_path / "edge.txt"
    path.write_bytes(b"y" * size + end)
    lines = list(read_lines(path))
    assert sum(len(line.text) for line in lines) == size and {line.number for line in lines} == {1}


def test_json_rows_give_the_named_field(tmp_path):
    path = tmp_path / "a.jsonl.gz"
    rows = [{"body": "One.\nTwo.", "id": 1}, {"body": ""}]
    path.write_bytes(gzip.compress(b"\n".join(json.dumps(row).encode() for row in rows) + b"\n\n"))
    assert list(read_json_rows(path, "body")) == [(1, "One.\nTwo."), (2, "")]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ('{"texts": "a"}', "has no field 'text'.*'texts'.*Did you mean 'texts'"),
        ('{"text": 3}', "field 'text' holds a int"),
        ('{"text": null}', "field 'text' is null"),
        ("[1]", "holds a list"),
        ("{broken", "is not JSON"),
        ("[" * 100_000, "is not JSON"),
        ('{"text": "a\\ud800b"}', "half a surrogate pair at character 1"),
    ],
)
def test_a_wrong_json_row_names_file_and_line(tmp_path, row, message):
    path = tmp_path / "rows.jsonl"
    path.write_text('{"text": "fine"}\n' + row + "\n")
    with pytest.raises(DataError, match=rf"rows\.jsonl line 2.*{message}"):
        list(read_json_rows(path, "text"))


def test_only_korean_is_told_to_be_converted_from_its_encoding(tmp_path):
    for text, encoding, is_korean in (("서울에 간다, it’s", "cp949", True), ("It’s fine, isn’t it", "cp1252", False)):
        (tmp_path / "it's.txt").write_bytes(text.encode(encoding))
        with pytest.raises(DataError) as error:
            list(read_lines(tmp_path / "it's.txt"))
        assert ("iconv -f CP949" in str(error.value)) is is_korean


def test_a_half_surrogate_can_be_replaced(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text('{"text": "a\\ud800b \\ud83d\\ude42"}\n')
    assert list(read_json_rows(path, "text", "replace")) == [(1, "a\ufffdb 🙂")]


def test_a_row_without_text_is_named_or_passed_over(tmp_path):
    import pyarrow
    import pyarrow.parquet

    (tmp_path / "rows.jsonl").write_text('{"text": "One."}\n{"text": null}\n')
    pyarrow.parquet.write_table(pyarrow.table({"text": ["One.", None]}), tmp_path / "a.parquet")
    for read, name in ((read_json_rows, "rows.jsonl"), (read_parquet_rows, "a.parquet")):
        with pytest.raises(DataError, match=r"2: field 'text' is null; .*--errors replace"):
            list(read(tmp_path / name, "text"))
        assert list(read(tmp_path / name, "text", "replace")) == [(1, "One."), (2, "")]


def test_parquet_rows_give_the_named_column(tmp_path):
    import pyarrow
    import pyarrow.parquet

    path = tmp_path / "a.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"text": ["One.", "Two."], "id": [1, 2]}), path)
    assert list(read_parquet_rows(path, "text")) == [(1, "One."), (2, "Two.")]
    with pytest.raises(DataError, match="has no field 'body'; it has 'text', 'id'"):
        list(read_parquet_rows(path, "body"))
    with pytest.raises(DataError, match="row 1: field 'id' holds a int"):
        list(read_parquet_rows(path, "id"))
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(DataError, match=r"a\.parquet cannot be read as parquet"):
        list(read_parquet_rows(path, "text"))


def test_without_pyarrow_the_error_says_what_to_install(tmp_path):
    code = (
        "import sys; sys.modules['pyarrow'] = None\n"
        "from pathlib import Path\nfrom spanwise.text.readers import read_parquet_rows\n"
        "list(read_parquet_rows(Path('a.parquet'), 'text'))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "ConfigError" in done.stderr and "pip install 'spanwise[parquet]'" in done.stderr
    assert ConfigError.exit_status == 2


def test_a_missing_file_and_a_folder_are_told_by_name(tmp_path):
    with pytest.raises(DataError, match=r"gone\.txt does not exist"):
        texts(tmp_path / "gone.txt")
    with pytest.raises(DataError, match="cannot be read"):
        texts(tmp_path)
