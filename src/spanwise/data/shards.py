"""The files of one shard of a token store: mapped into memory, sizes known to be right, chunks checked.

A file that is cut while it is mapped ends the process without a word (SIGBUS), so a size that does not fit the index
is refused before anything is mapped.
"""

import hashlib
import zlib
from pathlib import Path

import numpy as np

from spanwise.data.megatron import Index
from spanwise.errors import DataError

CHUNK_BYTES = 1 << 20  # what one checksum covers


class MappedFile:
    """One array on disk. `values` is read-only and of the file's own type."""

    def __init__(self, path: Path, dtype: np.dtype, length: int, checksums: np.ndarray | None) -> None:
        """Map `length` values. `checksums` [chunks] uint32 are CRC-32 of each `CHUNK_BYTES`; None for a foreign file.

        Raises: DataError where the file is missing or its size is not what the index says.
        """
        self.path = path
        self.num_bytes = length * dtype.itemsize
        try:
            size = path.stat().st_size
        except OSError as cause:
            raise DataError(f"{path} cannot be read: {cause.strerror or cause}.") from cause
        if size != self.num_bytes:
            raise DataError(f"{path} has {size:,} bytes, its index says {self.num_bytes:,}; it is damaged.")
        # The plain view: slicing np.memmap itself costs seven times as much.
        self.values = np.memmap(path, dtype=dtype, mode="r").view(np.ndarray) if size else np.empty(0, dtype)
        self._checksums = np.empty(0, dtype=np.uint32) if checksums is None else checksums
        self._checked = np.zeros(len(self._checksums), dtype=bool)
        self.is_checked = not len(self._checked)

    @property
    def num_checksums(self) -> int:
        return len(self._checksums)

    def check_ranges(self, starts: np.ndarray, ends: np.ndarray) -> None:
        """Check the chunks that token ranges touch, those that were not checked before. Raises: DataError."""
        if self.is_checked:
            return
        width = self.values.itemsize
        filled = ends > starts
        first = starts[filled] * width // CHUNK_BYTES
        last = (ends[filled] * width - 1) // CHUNK_BYTES
        touched = np.zeros(len(self._checked) + 1, dtype=np.int64)
        np.add.at(touched, first, 1)
        np.add.at(touched, last + 1, -1)
        for chunk in np.flatnonzero((np.cumsum(touched[:-1]) > 0) & ~self._checked):
            self._check(int(chunk))
        self.is_checked = bool(self._checked.all())

    def check_all(self) -> None:
        """Check every chunk that was not checked before. Raises: DataError."""
        for chunk in np.flatnonzero(~self._checked):
            self._check(int(chunk))
        self.is_checked = True

    def _check(self, chunk: int) -> None:
        step = CHUNK_BYTES // self.values.itemsize
        found = zlib.crc32(self.values[chunk * step : (chunk + 1) * step].data)
        if found != self._checksums[chunk]:
            raise DataError(
                f"{self.path} is damaged: bytes {chunk * CHUNK_BYTES:,} to {(chunk + 1) * CHUNK_BYTES:,} differ from "
                "what was written. Restore the file, or prepare the text again."
            )
        self._checked[chunk] = True


class Shard(MappedFile):
    """The ids of one shard, with its index. `side` has its arrays of one byte per token, by name."""

    def __init__(
        self, path: Path, index: Index, checksums: np.ndarray | None, *, continues_document: bool = False
    ) -> None:
        """As `MappedFile`. Raises: DataError."""
        super().__init__(path, index.dtype, index.num_tokens, checksums)
        self.index, self.continues_document = index, continues_document
        self.num_tokens = index.num_tokens
        self.side: dict[str, MappedFile] = {}

    @property
    def ids(self) -> np.ndarray:
        return self.values

    def count_ids_into(self, counts: np.ndarray) -> bytes:
        """Add how often each id occurs to `counts` [V] and give the content's SHA-256, in one pass over the file.

        Raises: DataError where an id is outside the vocabulary.
        """
        digest = hashlib.sha256()
        step = CHUNK_BYTES // self.ids.itemsize
        for start in range(0, self.num_tokens, step):
            chunk = self.ids[start : start + step]
            digest.update(chunk.tobytes())
            if chunk.min() < 0 or chunk.max() >= len(counts):
                raise DataError(
                    f"{self.path} holds id {int(chunk.max() if chunk.min() >= 0 else chunk.min())}, the tokenizer has "
                    f"{len(counts):,} tokens. It was made with another tokenizer, or is damaged."
                )
            counts += np.bincount(chunk, minlength=len(counts))
        return digest.digest()


def read_file(path: Path) -> bytes:
    """All bytes of a file. Raises: DataError naming it."""
    try:
        return path.read_bytes()
    except OSError as cause:
        raise DataError(f"{path} cannot be read: {cause.strerror or cause}.") from cause
