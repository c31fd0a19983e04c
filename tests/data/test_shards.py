"""A shard is mapped only when its size is right, and every chunk is checked before use, once."""

import tracemalloc
import zlib

import numpy as np
import pytest

from spanwise.data import shards
from spanwise.data.megatron import Index
from spanwise.data.shards import MappedFile, Shard
from spanwise.errors import DataError


@pytest.fixture
def make(tmp_path, monkeypatch):
    """A shard of 1,000 ids in chunks of 64 bytes, and its file."""
    monkeypatch.setattr(shards, "CHUNK_BYTES", 64)
    path = tmp_path / "00000.bin"

    content = np.arange(1000, dtype="<u2").tobytes()
    path.write_bytes(content)

    def build():
        sums = np.array([zlib.crc32(content[at : at + 64]) for at in range(0, len(content), 64)], dtype=np.uint32)
        return Shard(path, Index(np.dtype("<u2"), np.array([400, 600], np.int32), np.array([0, 2])), sums)

    return build, path


def damage(path, at):
    content = bytearray(path.read_bytes())
    content[at] ^= 1
    path.write_bytes(content)


def test_a_wrong_size_is_refused_before_mapping(make):
    build, path = make
    whole = path.read_bytes()
    for content in (whole[:-1], whole + b"\0", b""):
        path.write_bytes(content)
        with pytest.raises(DataError, match=r"00000\.bin has .* bytes, its index says 2,000"):
            build()
    path.unlink()
    with pytest.raises(DataError, match=r"00000\.bin cannot be read"):
        build()


def test_only_touched_chunks_are_checked_and_damage_names_the_file_and_bytes(make):
    build, path = make
    damage(path, 640)
    shard = build()
    shard.check_ranges(np.array([0, 500]), np.array([320, 1000]))
    with pytest.raises(DataError, match=r"00000\.bin is damaged: bytes 640 to 704"):
        shard.check_ranges(np.array([319]), np.array([321]))
    with pytest.raises(DataError, match=r"00000\.bin is damaged"):
        shard.check_all()


def test_a_shard_checked_piece_by_piece_is_checked(make):
    shard = make[0]()
    assert not shard.is_checked
    for start in range(0, 1000, 10):
        shard.check_ranges(np.array([start, start]), np.array([start + 10, start]))
    assert shard.is_checked


def test_counting_ids_refuses_those_outside_the_vocabulary(make):
    shard = make[0]()
    counts = np.zeros(1000, dtype=np.int64)
    shard.count_ids_into(counts)
    assert (counts == 1).all()
    with pytest.raises(DataError, match=r"holds id .*, the tokenizer has 900 tokens"):
        shard.count_ids_into(np.zeros(900, dtype=np.int64))


def test_ids_are_a_plain_read_only_array(make):
    shard = make[0]()
    assert type(shard.ids) is np.ndarray and not shard.ids.flags.writeable


def test_a_shard_is_mapped_and_never_held_in_memory(tmp_path):
    """Opening, checking and reading 32 MB allocate next to nothing."""
    path, sums = tmp_path / "00000.bin", []
    with path.open("wb") as file:
        for number in range(32):
            chunk = np.full(shards.CHUNK_BYTES // 2, number, dtype="<u2").tobytes()
            sums.append(zlib.crc32(chunk))
            file.write(chunk)
    num_tokens = path.stat().st_size // 2
    index = Index(np.dtype("<u2"), np.array([num_tokens], np.int32), np.array([0, 1]))

    tracemalloc.start()
    shard = Shard(path, index, np.array(sums, dtype=np.uint32))
    shard.check_all()
    found = int(shard.ids[-1])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert found == 31 and peak < 2 * shards.CHUNK_BYTES


def test_any_array_is_mapped_and_checked_alike(tmp_path, monkeypatch):
    monkeypatch.setattr(shards, "CHUNK_BYTES", 4)
    content = bytes(range(10))
    sums = np.array([zlib.crc32(content[at : at + 4]) for at in range(0, 10, 4)], dtype=np.uint32)
    path = tmp_path / "00000.tags.u8"
    path.write_bytes(content)
    file = MappedFile(path, np.dtype(np.uint8), 10, sums)
    file.check_all()
    assert file.values.tolist() == list(range(10)) and file.num_checksums == 3
    damage(path, 9)
    with pytest.raises(DataError, match=r"tags\.u8 is damaged: bytes 8 to 12"):
        MappedFile(path, np.dtype(np.uint8), 10, sums).check_ranges(np.array([0]), np.array([10]))
