"""The index file byte for byte as the public layout says, and nothing else accepted."""

import struct

import numpy as np
import pytest

from spanwise.data.megatron import dtype_for, index_bytes, parse_index
from spanwise.errors import DataError

LENGTHS, DOCUMENTS = np.array([3, 1, 2]), np.array([0, 2, 3])
EXPECTED = (
    b"MMIDIDX\x00\x00"
    + struct.pack("<Q", 1)
    + struct.pack("<B", 8)
    + struct.pack("<QQ", 3, 3)
    + struct.pack("<3i", 3, 1, 2)
    + struct.pack("<3q", 0, 6, 8)
    + struct.pack("<3q", 0, 2, 3)
)


def test_the_bytes_are_those_of_the_public_layout():
    assert index_bytes(LENGTHS, DOCUMENTS, np.dtype("<u2")) == EXPECTED


def test_an_index_reads_back(tmp_path):
    for dtype in ("<u2", "<i4"):
        found = parse_index(index_bytes(LENGTHS, DOCUMENTS, np.dtype(dtype)), tmp_path)
        assert found.dtype == dtype and found.num_tokens == 6
        assert found.lengths.tolist() == LENGTHS.tolist() and found.documents.tolist() == DOCUMENTS.tolist()


def test_large_vocabularies_take_four_bytes():
    assert dtype_for(65_499) == np.dtype("<u2") and dtype_for(65_500) == np.dtype("<i4")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "less than the header"),
        (b"X" + EXPECTED[1:], "does not begin"),
        (EXPECTED[:9] + struct.pack("<Q", 2) + EXPECTED[17:], "version 2"),
        (EXPECTED[:17] + b"\x05" + EXPECTED[18:], "type int64; uint16 or int32"),
        (EXPECTED[:17] + b"\x63" + EXPECTED[18:], "type code 99"),
        (EXPECTED[:-1], "its header"),
        (EXPECTED + b"\x00", "its header"),
        (EXPECTED[:18] + struct.pack("<QQ", 2**63, 3) + EXPECTED[34:], "its header"),
        (EXPECTED[:34] + struct.pack("<3i", 3, -1, 4) + EXPECTED[46:], "negative length"),
        (EXPECTED[:46] + struct.pack("<3q", 0, 6, 10) + EXPECTED[70:], "end to end"),
        (EXPECTED[:-24] + struct.pack("<3q", 0, 4, 3), "document borders"),
        (EXPECTED[:-24] + struct.pack("<3q", 0, 2, 2), "document borders"),
    ],
)
def test_each_contradiction_is_named(tmp_path, content, message):
    with pytest.raises(DataError, match=rf"a\.idx.*{message}"):
        parse_index(content, tmp_path / "a.idx")
