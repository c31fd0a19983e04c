"""The index of a folder of text on disk: its passages, where each stands, and the BM25 weights of their terms.

| file | holds |
|---|---|
| index.json | version, how files were read, and of each file name, size, time and number of passages |
| texts.bin, texts.npy | the passages in UTF-8 end to end, and where each ends [P], in bytes |
| marks.npy, places.npy | [L, 3] character, line and page of the lines of all passages; where each passage's end [P] |
| terms/ | what the library bm25s saves |

Letters: P passages, L lines.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from spanwise.asking.documents.read import DocumentFile, ReadingOptions
from spanwise.asking.passages import Passage
from spanwise.asking.term_weights import TermWeights, Vocabulary
from spanwise.errors import DataError
from spanwise.runtime.disk import DISK
from spanwise.runtime.files import verify_folder
from spanwise.runtime.json_text import decode_json

VERSION = 4  # of passages, terms and files; an index of another one is made anew
RECORD = "index.json"


@dataclass(frozen=True, kw_only=True)
class IndexedFile:
    """A file as it was read; `problem` says why it was left out, "" where it was not."""

    file: DocumentFile
    num_passages: int
    problem: str = ""


@dataclass(frozen=True, kw_only=True)
class IndexRecord:
    """What an index says of itself."""

    files: tuple[IndexedFile, ...]
    reading: ReadingOptions
    packages: tuple[str, ...]  # those for other formats that were installed

    def write(self, path: Path) -> None:
        """Write the record as JSON."""
        DISK.write_file(path, json.dumps({"version": VERSION, **asdict(self)}).encode())

    @classmethod
    def read(cls, path: Path) -> "IndexRecord":
        """Raises: DataError for another version, or what is no such record."""
        try:
            record = decode_json(path.read_text(encoding="utf-8"))
            if record["version"] != VERSION:
                raise DataError(f"{path} is of another version of spanwise.")
            files = tuple(IndexedFile(**{**one, "file": DocumentFile(**one["file"])}) for one in record["files"])
            return cls(files=files, reading=ReadingOptions(**record["reading"]), packages=tuple(record["packages"]))
        except (OSError, ValueError, KeyError, TypeError) as cause:
            raise DataError(f"{path} can't be read ({cause}).") from cause


class IndexWriter:
    """Fills an empty folder with an index, file after file."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._texts = DISK.open_to_write(folder / "texts.bin")  # closed in `finish`
        self._text_ends: list[int] = []
        self._marks: list[tuple[int, int, int]] = []
        self._mark_ends: list[int] = []
        self._vocabulary = Vocabulary()
        self._passages: list[list[int]] = []
        self._files: list[IndexedFile] = []

    def add(self, file: DocumentFile, passages: Iterable[Passage], problem: str = "") -> None:
        """Add a file with its passages. Raises: as the passages do while they are read; the index is then of no use."""
        before = len(self._passages)
        for passage in passages:
            written = self._texts.write(passage.text.encode("utf-8", "replace"))
            self._text_ends.append(written + (self._text_ends[-1] if self._text_ends else 0))
            self._marks += passage.marks
            self._mark_ends.append(len(self._marks))
            self._passages.append(self._vocabulary.encode(passage.text))
        self._files.append(IndexedFile(file=file, num_passages=len(self._passages) - before, problem=problem))

    @property
    def files(self) -> tuple[IndexedFile, ...]:
        """The files that were added so far."""
        return tuple(self._files)

    def finish(self, reading: ReadingOptions, packages: Sequence[str]) -> None:
        """Weigh the terms and write everything. Raises: DataError where no passage has a word."""
        self._texts.close()
        if not self._vocabulary:
            names = ", ".join(one.file.name for one in self._files[:3])
            raise DataError(f"there is no text in {names}{' ...' if len(self._files) > 3 else ''}.")
        self._save("texts.npy", np.array(self._text_ends, dtype=np.int64))
        self._save("marks.npy", np.array(self._marks, dtype=np.int32).reshape(-1, 3))
        self._save("places.npy", np.array(self._mark_ends, dtype=np.int64))
        DISK.write_by_name(self._folder / "terms", TermWeights.count(self._passages, self._vocabulary).save)
        record = IndexRecord(files=self.files, reading=reading, packages=tuple(packages))
        record.write(self._folder / RECORD)

    def _save(self, name: str, array: np.ndarray) -> None:
        with DISK.open_to_write(self._folder / name) as file:
            np.save(file, array)

    def close(self) -> None:
        """Close what is open; after `finish` nothing is."""
        self._texts.close()


class TextIndex:
    """An index that is read as it is asked: texts and weights stay on disk, mapped into memory.

    Raises: DataError for a folder that is damaged, unfinished, or of another version.
    """

    def __init__(self, folder: Path) -> None:
        verify_folder(folder, DataError)  # some 0.1 s for the index of 100 MB of text
        self.record = IndexRecord.read(folder / RECORD)
        try:
            self._texts = np.memmap(folder / "texts.bin", dtype=np.uint8, mode="r")
            self._text_ends = np.load(folder / "texts.npy", mmap_mode="r")
            self._marks = np.load(folder / "marks.npy", mmap_mode="r")
            self._mark_ends = np.load(folder / "places.npy", mmap_mode="r")
            self.weights = TermWeights.load(folder / "terms")
        except (OSError, ValueError, KeyError, EOFError) as cause:
            raise DataError(f"{folder} can't be read as an index ({cause}).") from cause
        self._file_ends = np.cumsum([one.num_passages for one in self.record.files])
        if not len(self._text_ends) == len(self._mark_ends) == self._file_ends[-1]:
            raise DataError(f"{folder}: its parts do not belong together.")

    def __len__(self) -> int:
        """The number of passages."""
        return len(self._text_ends)

    def passage(self, number: int) -> Passage:
        """Return a passage by its number."""
        first, last = (self._text_ends[number - 1] if number else 0), self._text_ends[number]
        start, end = (self._mark_ends[number - 1] if number else 0), self._mark_ends[number]
        marks = tuple((int(a), int(b), int(c)) for a, b, c in self._marks[start:end])
        return Passage(self._texts[first:last].tobytes().decode("utf-8", "replace"), marks)

    def file_of(self, number: int) -> IndexedFile:
        """Return the file of a passage."""
        return self.record.files[int(np.searchsorted(self._file_ends, number, side="right"))]

    def passages_of(self, place: int) -> Iterator[Passage]:
        """Yield the passages of file number `place`."""
        end = int(self._file_ends[place])
        for number in range(end - self.record.files[place].num_passages, end):
            yield self.passage(number)
