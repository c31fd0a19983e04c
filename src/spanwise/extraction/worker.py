"""One process of an extraction: it reads the corpus and asks the models about every n-th shard.

`python -m spanwise.extraction.worker FOLDER` does the share of one of several processes, by the plan in FOLDER.
"""

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from spanwise.errors import InterruptedAndSaved, SpanwiseError
from spanwise.extraction.documents import Document, ReadingOptions
from spanwise.extraction.models import Asked, Batch, Reader, opened, read_each
from spanwise.extraction.questions import Question
from spanwise.extraction.rows import COLUMNS, Record, Row
from spanwise.extraction.shards import WorkFolder, shards_of
from spanwise.runtime.files import JsonObject
from spanwise.runtime.interrupt import StopRequested
from spanwise.runtime.processes.distributed import world_of_environment
from spanwise.runtime.processes.launch import leave_with_launcher
from spanwise.runtime.progress import Gauge

Say = Callable[[str], None]
SECONDS_BETWEEN_LINES = 10.0
MOST_LOOKING = 50  # how much longer than a look at all files the time to the next one is


class Stopped(Exception):
    """A stop was asked for inside a shard, which is left unfinished."""


def do_shards(work: WorkFolder, rank: int, size: int, say: Say) -> None:
    """Do the unfinished shards whose number leaves `rank` when divided by `size`, with one thread.

    Raises: InterruptedAndSaved after Ctrl-C or SIGTERM; what was finished stays.
    """
    plan = work.plan
    files = {name: Path(path) for name, path in plan["files"].items()}
    options = ReadingOptions(**plan["asked"]["reading"])
    num_shards, num_threads = plan["num_shards"], torch.get_num_threads()
    own = {shard for shard in range(rank, num_shards, size) if not work.file_of(shard).exists()}
    if not own:
        return
    torch.set_num_threads(1)  # a result's last bits may follow the number of threads
    try:
        with StopRequested() as stop:
            readers = [opened(_asked(entry, plan)) for entry in plan["readers"]]
            with Gauge("reading", "shards") as gauge:
                progress = _Progress(work, num_shards, gauge, say)
                for shard, documents in enumerate(shards_of(files, options)):
                    if shard in own:
                        work.write(shard, read_shard(readers, documents, stop))
                        progress.tell()
                progress.look()
    except Stopped:
        raise InterruptedAndSaved(
            f"stopped; {work.num_finished(num_shards):,} of {num_shards:,} shards are saved in {work.path}. The same "
            "command goes on from there."
        ) from None
    finally:
        torch.set_num_threads(num_threads)


class _Progress:
    """How far all processes are, as their files say: a bar on a terminal, elsewhere a line now and then."""

    def __init__(self, work: WorkFolder, num_shards: int, gauge: Gauge, say: Say) -> None:
        self._work, self._num_shards, self._gauge, self._say = work, num_shards, gauge, say
        self._first = self._last = work.num_finished(num_shards)
        self._began = self._told = self._next = time.monotonic()
        gauge.expect(num_shards - self._first)

    def tell(self) -> None:
        if time.monotonic() >= self._next:
            self.look()

    def look(self) -> None:
        now = time.monotonic()
        finished = self._work.num_finished(self._num_shards)
        self._next = time.monotonic() + MOST_LOOKING * (time.monotonic() - now)
        self._gauge.add(finished - self._last)
        self._last = finished
        if finished < self._num_shards and not self._gauge.is_shown and now - self._told > SECONDS_BETWEEN_LINES:
            self._told = now
            left = (self._num_shards - finished) * (now - self._began) / max(1, finished - self._first) / 60
            self._say(f"{finished:,} of {self._num_shards:,} shards, some {left:,.0f} min left")


def _asked(entry: dict[str, str], plan: JsonObject) -> Asked:
    asked = plan["asked"]
    return Asked(
        model=entry["model"],
        task=entry["task"],
        questions=tuple(Question(*question) for question in asked["questions"]),
        language=asked["language"],
        precision=asked["precision"],
        device=plan["device"],
    )


def read_shard(readers: list[Reader], documents: list[Document], stop: StopRequested) -> JsonObject:
    """Return the rows of a shard by document, then by reader, what went wrong, and how many tokens were not read.

    Raises: Stopped.
    """
    errors: list[dict[str, Any]] = [
        {"document": document.id, "error": document.error} for document in documents if document.error
    ]
    whole = [document for document in documents if not document.error]
    batch = Batch(whole)
    rows: list[list[Record]] = [[] for _ in whole]
    before = [reader.num_unread for reader in readers]
    for reader in readers if whole else []:
        if stop:
            raise Stopped
        found, wrong = read_each(reader, batch)
        for place, document in enumerate(whole):
            rows[place] += [_record(document, reader.asked, row) for row in found[place]]
        errors += [
            {"document": whole[place].id, "task": reader.asked.task, "model": reader.asked.model, "error": error}
            for place, error in sorted(wrong.items())
        ]
    return {
        "rows": [[record[name] for name in COLUMNS] for own in rows for record in own],
        "errors": errors,
        "unread": [reader.num_unread - number for reader, number in zip(readers, before, strict=True)],
    }


def _record(document: Document, asked: Asked, row: Row) -> Record:
    known: Record = {"document": document.id, "offset": document.offset, "task": asked.task, "model": asked.model}
    known |= {name: value for name, value in row.items() if isinstance(value, str | int | float)}
    return {name: known.get(name) for name in COLUMNS}


def main(folder: str) -> int:
    """Do one process's share; return its exit status."""
    leave_with_launcher()
    world = world_of_environment()
    try:
        do_shards(WorkFolder(Path(folder)), world.rank, world.size, lambda line: print(line, file=sys.stderr))
    except SpanwiseError as error:
        print(f"spanwise: {error}", file=sys.stderr)
        return error.exit_status
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
