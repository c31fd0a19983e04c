"""Writing a token store: streamed to shards, in memory that does not grow with the corpus, whole or not at all."""

from __future__ import annotations

import contextlib
import json
import re
import zlib
from array import array
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from spanwise.data.megatron import dtype_for, index_bytes
from spanwise.data.shards import CHUNK_BYTES
from spanwise.data.token_store import (
    STORE_FORMAT,
    STORE_NAME,
    STORE_VERSION,
    TOKENIZER_FOLDER,
    side_name,
    vocabulary_of,
    vocabulary_record,
)
from spanwise.errors import ConfigError, DataError
from spanwise.runtime.disk import DISK
from spanwise.runtime.files import JsonObject, atomic_folder
from spanwise.text.tokenizers import Tokenizer

SHARD_BYTES = 1 << 29
NO_ENDS = np.empty(0, dtype=np.int64)
_SIDE_NAME = re.compile(r"[a-z][a-z0-9-]*")


class NothingToStoreError(DataError):
    """A store would hold no token at all."""


class TokenStoreWriter:
    """Write documents of sentences of ids to a new folder.

    Use it as a context manager: a block that ends well makes the folder appear, one that fails leaves nothing.
    Without `with`, `close()` does the first.
    """

    def __init__(
        self,
        folder: str | Path,
        tokenizer: Tokenizer,
        *,
        shard_bytes: int = SHARD_BYTES,
        side_arrays: Mapping[str, str] | None = None,
    ) -> None:
        """Start a store. A shard is closed at the first sentence border after `shard_bytes` bytes of ids.

        `side_arrays` names what is stored beside the ids, one byte per token, and what computed it.
        Raises: ConfigError where the folder exists, `shard_bytes` is below 1 or a side array has a name unfit for a
        file.
        """
        if shard_bytes < 1:
            raise ConfigError(f"shard_bytes={shard_bytes}: at least 1 is needed.")
        self.side_arrays = dict(side_arrays or {})
        for name in self.side_arrays:
            if not _SIDE_NAME.fullmatch(name):
                raise ConfigError(f"side array {name!r}: a name is small letters, digits and dashes.")
        self._tokenizer = tokenizer
        self._shard_bytes = shard_bytes
        self._dtype = dtype_for(tokenizer.vocab_size)
        self.unigram_counts = np.zeros(tokenizer.vocab_size, dtype=np.int64)
        self.num_documents = self.num_sentences = self.num_tokens = 0
        self.inside_document = False  # whether the next sentence goes on with a document
        self._shards: list[JsonObject] = []
        self._open: _OpenShard | None = None
        self._commit = contextlib.ExitStack()
        self._folder = self._commit.enter_context(atomic_folder(Path(folder)))
        try:
            tokenizer.save(self._folder / TOKENIZER_FOLDER)
        except BaseException as error:
            self._commit.__exit__(type(error), error, error.__traceback__)
            raise

    @property
    def num_bytes(self) -> int:
        """Bytes of ids written."""
        return self.num_tokens * self._dtype.itemsize

    @property
    def num_unknown(self) -> int:
        """Tokens that are [UNK]; none where the tokenizer has no such piece."""
        unk_id = self._tokenizer.unk_id
        return int(self.unigram_counts[unk_id]) if unk_id >= 0 else 0

    def __enter__(self) -> TokenStoreWriter:
        return self

    def __exit__(self, kind, error, trace) -> None:
        if kind is None:
            self.close()
        else:
            self._close_file()
            self._commit.__exit__(kind, error, trace)

    def add_document(
        self, sentences: Sequence[Sequence[int] | np.ndarray], side: Mapping[str, np.ndarray] | None = None
    ) -> None:
        """Add one document: a list of sentences, each a list of ids. Empty sentences are left out.

        Raises: DataError for an id outside the vocabulary, or side arrays of other names or lengths.
        """
        if not sentences:
            return
        flat = np.concatenate([np.asarray(sentence, dtype=np.int64).reshape(-1) for sentence in sentences])
        self.add_sentences(flat, np.array([len(sentence) for sentence in sentences], dtype=np.int64), side)
        self.end_document()

    def add_sentences(
        self,
        ids: np.ndarray,
        lengths: np.ndarray,
        side: Mapping[str, np.ndarray] | None = None,
        *,
        ends: np.ndarray = NO_ENDS,
    ) -> None:
        """Add sentences [lengths of k] to the current document, given as one flat array of ids [n].

        `side` holds a uint8 array [n] for each of the store's side arrays. `ends` [d], ascending, says after how many
        of these sentences a document ends; what follows the last of them is the beginning of the next.
        Raises: DataError for an id outside the vocabulary, lengths that do not add up to the ids, or side arrays of
        other names or lengths.
        """
        side = side or {}
        if side.keys() != self.side_arrays.keys() or any(len(values) != len(ids) for values in side.values()):
            given = ", ".join(f"{name} [{len(values)}]" for name, values in side.items()) or "none"
            wanted = ", ".join(f"{name} [{len(ids)}]" for name in self.side_arrays) or "none"
            raise DataError(f"side arrays given: {given}; this store takes: {wanted}.")
        filled = lengths > 0
        ends = np.unique(np.concatenate([[0], np.cumsum(filled)])[ends])
        lengths = lengths[filled]
        if lengths.sum() != len(ids):
            raise DataError(f"{len(ids)} ids were given for sentences of {lengths.sum()} tokens together.")
        if len(ends) and ends[0] == 0:
            self.end_document()
        if not len(ids):
            return
        if ids.min() < 0 or ids.max() >= len(self.unigram_counts):
            wrong = int(ids.min() if ids.min() < 0 else ids.max())
            raise DataError(f"id {wrong} is outside the vocabulary of {len(self.unigram_counts):,} tokens.")
        self.unigram_counts += np.bincount(ids, minlength=len(self.unigram_counts))
        self.num_sentences += len(lengths)
        self.num_tokens += len(ids)
        places = np.cumsum(lengths)
        first = 0  # sentence
        while first < len(lengths):
            shard = self._shard()
            done = int(places[first - 1]) if first else 0
            room = (self._shard_bytes - shard.num_bytes) // self._dtype.itemsize
            fits = int(np.searchsorted(places, done + room, side="left")) + 1  # the sentence that passes the size is in
            last = min(max(fits, first + 1), len(lengths))
            here = slice(done, int(places[last - 1]))
            ends_here = ends[(ends > first) & (ends <= last)]
            shard.add(
                ids[here].astype(self._dtype),
                lengths[first:last],
                {name: np.asarray(values[here], dtype=np.uint8) for name, values in side.items()},
                ends_here - first,
            )
            self.num_documents += len(ends_here)
            self.inside_document = not (len(ends_here) and ends_here[-1] == last)
            if shard.num_bytes >= self._shard_bytes:
                self._finish_shard()
            first = last

    def end_document(self) -> None:
        """End the current document. One without sentences is not counted."""
        if self.inside_document:
            self.num_documents += 1
            if self._open is not None:
                self._open.end_document()
        self.inside_document = False

    def close(self) -> None:
        """Finish the last document and make the folder appear. Raises: NothingToStoreError where no token was added."""
        try:
            if not self.num_tokens:
                raise NothingToStoreError("There is nothing to store: no text gave a token.")
            self.end_document()
            self._finish_shard()
            DISK.write_file(self._folder / STORE_NAME, (json.dumps(self._record()) + "\n").encode())
        except BaseException as error:
            self._close_file()
            self._commit.__exit__(type(error), error, error.__traceback__)
            raise
        self._commit.close()

    def _record(self) -> JsonObject:
        return {
            "format": STORE_FORMAT,
            "version": STORE_VERSION,
            "dtype": self._dtype.name,
            "num_documents": self.num_documents,
            "num_sentences": self.num_sentences,
            "num_tokens": self.num_tokens,
            "tokenizer_sha256": self._tokenizer.sha256,
            "chunk_bytes": CHUNK_BYTES,
            **({"side_arrays": self.side_arrays} if self.side_arrays else {}),
            "shards": self._shards,
            "vocabulary": vocabulary_record(vocabulary_of(self._tokenizer, self.unigram_counts)),
        }

    def _shard(self) -> _OpenShard:
        if self._open is None:
            name = f"{len(self._shards):05d}"
            self._open = _OpenShard(
                self._folder, name, self._dtype, self.side_arrays, continues_document=self.inside_document
            )
        return self._open

    def _finish_shard(self) -> None:
        if self._open is not None:
            self._shards.append(self._open.finish())
            self._open = None

    def _close_file(self) -> None:
        if self._open is not None:
            self._open.close_files()
            self._open = None


class _ChecksummedFile:
    """A file being written, with the CRC-32 of each of its chunks."""

    def __init__(self, path: Path) -> None:
        self.file = DISK.open_to_write(path)  # closed by finish or by the writer
        self.num_bytes = 0
        self._checksums: list[int] = []
        self._checksum = 0  # of the bytes since the last whole chunk

    def add(self, values: np.ndarray) -> None:
        content = np.ascontiguousarray(values).data.cast("B")
        self.file.write(content)
        while len(content):
            part = content[: CHUNK_BYTES - self.num_bytes % CHUNK_BYTES]
            self._checksum = zlib.crc32(part, self._checksum)
            self.num_bytes += len(part)
            content = content[len(part) :]
            if self.num_bytes % CHUNK_BYTES == 0:
                self._checksums.append(self._checksum)
                self._checksum = 0

    def finish(self) -> list[int]:
        """Close the file and give its checksums."""
        self.file.close()
        return self._checksums + ([self._checksum] if self.num_bytes % CHUNK_BYTES else [])


class _OpenShard:
    """The shard being written: ids go straight to the file, four bytes per sentence stay in memory."""

    def __init__(
        self, folder: Path, name: str, dtype: np.dtype, side_arrays: Iterable[str], *, continues_document: bool
    ) -> None:
        self._ids = _ChecksummedFile(folder / f"{name}.bin")
        self._side = {side: _ChecksummedFile(folder / side_name(name, side)) for side in side_arrays}
        self._folder, self._name, self._dtype = folder, name, dtype
        self._continues_document = continues_document
        self._lengths = array("i")
        self._borders = array("q", [0])

    @property
    def num_bytes(self) -> int:
        return self._ids.num_bytes

    def add(self, ids: np.ndarray, lengths: np.ndarray, side: Mapping[str, np.ndarray], ends: np.ndarray) -> None:
        """Add sentences; `ends` says after how many of them a document ends."""
        self._borders.frombytes((ends + len(self._lengths)).astype(np.int64).tobytes())
        self._ids.add(ids)
        for name, values in side.items():
            self._side[name].add(values)
        self._lengths.frombytes(lengths.astype(np.intc).tobytes())

    def end_document(self) -> None:
        self._borders.append(len(self._lengths))

    def close_files(self) -> None:
        for file in (self._ids, *self._side.values()):
            file.file.close()

    def finish(self) -> JsonObject:
        """Write the index and give the shard's entry in `store.json`."""
        checksums = self._ids.finish()
        side = {name: file.finish() for name, file in self._side.items()}
        if self._borders[-1] != len(self._lengths):
            self.end_document()  # the document goes on in the next shard
        lengths = np.frombuffer(self._lengths, dtype=np.intc)
        borders = np.frombuffer(self._borders, dtype=np.int64)
        DISK.write_file(self._folder / f"{self._name}.idx", index_bytes(lengths, borders, self._dtype))
        entry = {
            "name": self._name,
            "num_sentences": len(lengths),
            "num_tokens": self.num_bytes // self._dtype.itemsize,
            "continues_document": self._continues_document,
            "crc32": checksums,
        }
        return {**entry, "side": side} if side else entry
