"""The Megatron-LM index file: where each sequence of a `.bin` file lies, and where documents begin.

Layout, little-endian: 9 bytes `MMIDIDX\\0\\0`; uint64 version (1); uint8 dtype code; uint64 n sequences; uint64 length
of the document index; int32 lengths [n]; int64 byte pointers [n]; int64 document index [d + 1], counted in sequences.
The `.bin` file holds the ids alone, end to end.

Letters: n sequences (for us: sentences), d documents. Source: Megatron-LM, `indexed_dataset` (public format).
"""

import struct
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from spanwise.errors import DataError

MAGIC = b"MMIDIDX\x00\x00"
VERSION = 1
DTYPE_CODES: dict[int, np.dtype] = {4: np.dtype("<i4"), 8: np.dtype("<u2")}
_OTHER_DTYPES = {1: "uint8", 2: "int8", 3: "int16", 5: "int64", 6: "float64", 7: "float32"}
_HEADER = struct.Struct("<9sQBQQ")
_LARGEST_UINT16_VOCABULARY = 65_500  # Megatron's own rule, so that its tools agree with the files


@dataclass(frozen=True)
class Index:
    """The content of an `.idx` file."""

    dtype: np.dtype
    lengths: np.ndarray  # [n] int32, tokens of each sequence
    documents: np.ndarray  # [d+1] int64, first sequence of each document, then n

    @property
    def num_tokens(self) -> int:
        return int(self.lengths.sum(dtype=np.int64))


def dtype_for(vocab_size: int) -> np.dtype:
    """The narrowest id type of the format for a vocabulary."""
    return np.dtype("<u2") if vocab_size < _LARGEST_UINT16_VOCABULARY else np.dtype("<i4")


def index_bytes(lengths: np.ndarray, documents: np.ndarray, dtype: np.dtype) -> bytes:
    """The `.idx` file of sequences with `lengths` [n] and document borders [d+1]."""
    code = next(code for code, known in DTYPE_CODES.items() if known == dtype)
    lengths = np.asarray(lengths, dtype="<i4")
    pointers = np.zeros(len(lengths), dtype="<i8")
    np.cumsum(lengths[:-1], out=pointers[1:])
    pointers *= dtype.itemsize
    header = _HEADER.pack(MAGIC, VERSION, code, len(lengths), len(documents))
    return b"".join((header, lengths.tobytes(), pointers.tobytes(), np.asarray(documents, dtype="<i8").tobytes()))


def parse_index(content: bytes, path: Path) -> Index:
    """Read an `.idx` file's content; `path` is for messages.

    Raises: DataError where it is cut, padded, of another kind, or its numbers contradict each other.
    """
    if len(content) < _HEADER.size:
        raise DataError(f"{path} has {len(content)} bytes, less than the header of an index file; it is damaged.")
    magic, version, code, num_sequences, num_borders = _HEADER.unpack_from(content)
    if magic != MAGIC:
        raise DataError(
            f"{path} does not begin as a Megatron-LM index does ({magic!r}); it is damaged or another format."
        )
    if version != VERSION:
        raise DataError(f"{path} is index version {version}; version {VERSION} is expected.")
    if code not in DTYPE_CODES:
        name = _OTHER_DTYPES.get(code, f"code {code}")
        raise DataError(f"{path} holds ids of type {name}; uint16 or int32 is expected.")
    body = _HEADER.size
    expected = body + num_sequences * (4 + 8) + num_borders * 8
    if expected != len(content):
        raise DataError(
            f"{path} has {len(content):,} bytes, its header ({num_sequences:,} sequences, {num_borders:,} document "
            f"borders) asks for {expected:,}; it is damaged."
        )
    lengths = np.frombuffer(content, "<i4", num_sequences, body)
    pointers = np.frombuffer(content, "<i8", num_sequences, body + num_sequences * 4)
    documents = np.frombuffer(content, "<i8", num_borders, body + num_sequences * 12)
    dtype = DTYPE_CODES[code]
    if num_sequences and lengths.min() < 0:
        raise DataError(f"{path}: a sequence has a negative length; the file is damaged.")
    ends = np.cumsum(lengths, dtype=np.int64)
    if num_sequences and (pointers[0] != 0 or not np.array_equal(pointers[1:], ends[:-1] * dtype.itemsize)):
        raise DataError(f"{path}: sequences do not lie end to end; the file is damaged or was written by another rule.")
    borders_fit = num_borders and documents[0] == 0 and documents[-1] == num_sequences
    if not borders_fit or (np.diff(documents) < 0).any():
        raise DataError(f"{path}: document borders do not run from 0 to {num_sequences:,}; the file is damaged.")
    return Index(dtype, lengths.copy(), documents.copy())  # views would keep the pointers, 8 bytes a sequence
