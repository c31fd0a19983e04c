"""A corpus in shards of whole documents, and the folder that keeps what each has given until all are done.

Shards follow from the text alone, so the number of processes, and where a run was stopped, change no row. A shard's
file appears whole or not at all (`runtime/files.py`).
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spanwise.errors import ConfigError, DataError
from spanwise.extraction.documents import Document, ReadingOptions, documents_of_file
from spanwise.runtime.disk import DISK
from spanwise.runtime.files import JsonObject, write_text_atomic
from spanwise.runtime.json_text import CHECKSUM, checksum_of, decode_json

MOST_DOCUMENTS, MOST_CHARACTERS = 64, 100_000  # of a shard; a longer document is a shard of its own
PLAN = "plan.json"


def shards_of(files: Mapping[str, Path], options: ReadingOptions) -> Iterator[list[Document]]:
    """Yield the documents of the files in shards, in order."""
    held: list[Document] = []
    size = 0
    for name, file in files.items():
        for document in documents_of_file(name, file, options):
            if held and (len(held) == MOST_DOCUMENTS or size + len(document.text) > MOST_CHARACTERS):
                yield held
                held, size = [], 0
            held.append(document)
            size += len(document.text)
    if held:
        yield held


@dataclass(frozen=True)
class Survey:
    """What a corpus holds: `files` has a hash of the documents of each file; `num_broken` documents can't be read."""

    num_documents: int
    num_broken: int
    num_shards: int
    files: dict[str, str]


def survey(files: Mapping[str, Path], options: ReadingOptions) -> Survey:
    """Read the whole corpus once. Raises: DataError where it has no document."""
    digests = {name: hashlib.sha256() for name in files}
    num_documents = num_broken = num_shards = 0
    for shard in shards_of(files, options):
        num_shards += 1
        for document in shard:
            is_file = document.id in files  # what is wrong with a file as a whole is no document of it
            num_documents += not is_file
            num_broken += not is_file and bool(document.error)
            name = document.id if is_file else document.id.rpartition("#")[0]
            digests[name].update(json.dumps([document.id, document.text, document.error]).encode())
    if not num_shards:
        raise DataError("the corpus holds no text, only white space at best.")
    return Survey(num_documents, num_broken, num_shards, {name: digest.hexdigest() for name, digest in digests.items()})


@dataclass(frozen=True)
class WorkFolder:
    """The folder beside OUT: plan.json says what is asked, and a file per finished shard what it gave."""

    path: Path

    @property
    def plan(self) -> JsonObject:
        """What is asked. Raises: DataError where the file is damaged."""
        return _read_record(self.path / PLAN, f"remove {self.path} to begin again.")

    def claim(self, plan: JsonObject) -> bool:
        """Write the plan; where the folder has one, return True if it is the same in all that decides a row.

        Shards without a plan may be of any job, so they are removed.

        Raises: ConfigError naming what differs.
        """
        if not (self.path / PLAN).exists():
            for shard in self.path.glob("shard-*.json"):
                DISK.remove_file(shard)
            _write_record(self.path / PLAN, plan)
            return False
        before = self.plan["asked"]
        for name, value in plan["asked"].items():
            if value != before.get(name):
                told = _told(before.get(name), value)
                raise ConfigError(
                    f"{self.path} holds an extraction that was begun with other {name} ({told}). Give "
                    "the same as then to go on, or remove that folder to begin again."
                )
        _write_record(self.path / PLAN, plan)  # files may lie elsewhere by now
        return True

    def file_of(self, shard: int) -> Path:
        return self.path / f"shard-{shard:06}.json"

    def write(self, shard: int, content: JsonObject) -> None:
        _write_record(self.file_of(shard), content)

    def contents(self, num_shards: int) -> Iterator[dict[str, Any]]:
        """Yield what each shard gave, in order. Raises: DataError for a file that is damaged."""
        for shard in range(num_shards):
            yield _read_record(self.file_of(shard), "remove it, and the same command makes it again.")

    def num_finished(self, num_shards: int) -> int:
        return sum(self.file_of(shard).exists() for shard in range(num_shards))


def _write_record(path: Path, record: JsonObject) -> None:
    content = {**record, CHECKSUM: checksum_of(record)}
    write_text_atomic(path, json.dumps(content, ensure_ascii=False) + "\n")


def _read_record(path: Path, cure: str) -> JsonObject:
    try:
        record: JsonObject = decode_json(path.read_bytes())
        is_whole = record.pop(CHECKSUM) == checksum_of(record)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        is_whole = False
    if not is_whole:
        raise DataError(f"{path} is damaged, or of an earlier version of spanwise; {cure}")
    return record


def _told(before: object, now: object) -> str:
    """Return the first difference of two values of a plan, as a person reads it."""
    if isinstance(before, dict) and isinstance(now, dict):
        for name in sorted({*before, *now}):
            if before.get(name) != now.get(name):
                return f"{name} is {_missing_or(before, now, name)}"
    return f"then {_short(before)}, now {_short(now)}"


def _missing_or(before: Mapping[str, object], now: Mapping[str, object], name: str) -> str:
    if name not in before:
        return "new"
    return "missing" if name not in now else "not what it was"


def _short(value: object) -> str:
    words = ", ".join(map(str, value)) if isinstance(value, Iterable) and not isinstance(value, str) else str(value)
    return words[:80] or "none"
