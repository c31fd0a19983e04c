"""Where the index of a folder is kept, and when it is made anew.

It lies beside the text, in a hidden folder; where that may not be written, among the user's caches; where neither may,
in a temporary folder that goes with the process. A file counts as changed when its size or its time did. Files that
did not change are not read again, only their passages are counted again, since the weight of a term depends on all.
"""

import hashlib
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path

from spanwise.asking.documents.read import (
    ENDINGS,
    DocumentFile,
    ReadingOptions,
    document_files,
    installed_packages,
    read_document,
)
from spanwise.asking.index import IndexRecord, IndexWriter, TextIndex
from spanwise.asking.passages import Passage, cut_passages
from spanwise.errors import ConfigError, DataError, SpanwiseError
from spanwise.runtime.files import atomic_folder
from spanwise.runtime.progress import Gauge
from spanwise.runtime.wording import counted
from spanwise.text.corpus import told_endings

BESIDE = ".spanwise-index"
CACHE_VARIABLE = "XDG_CACHE_HOME"  # as the desktop specification of freedesktop.org has it; else ~/.cache
Say = Callable[[str], None]


class OpenIndex:
    """An index of a folder that is up to date. `notes` say what was left out, and where no index can be kept, that too.

    Raises: DataError where the folder holds nothing to read, or a file that can't be read; ConfigError where a format
    needs a package that is not installed.
    """

    def __init__(self, folder: Path, reading: ReadingOptions, say: Say = lambda words: None) -> None:
        self.folder = folder
        self.notes: list[str] = []
        self._scratch: tempfile.TemporaryDirectory[str] | None = None
        found_files, packages = document_files(folder), installed_packages()
        files = found_files.files
        places = index_places(folder)
        found, damage = _found(places, lambda record: _is_current(record, files, reading, packages))
        for cause in damage:
            say(f"The index is made anew: {cause}" if found is None else f"Another copy of the index is used: {cause}")
        if found is not None and _is_current(found.record, files, reading, packages):
            self.index = found
        else:
            self.index = self._made(places, _Making(folder, files, reading, packages, found, say))
        if found_files.passed_over:
            others = told_endings(found_files.passed_over)
            self.notes.append(f"passed over, since only {', '.join(ENDINGS)} are read: {others}")
        problems = [one for one in self.index.record.files if one.problem]
        self.notes += [f"left out: {one.problem}" for one in problems]
        empty = [one.file.name for one in self.index.record.files if not one.num_passages and not one.problem]
        if empty:
            more = f" and {len(empty) - 3} more" if len(empty) > 3 else ""
            self.notes.append(f"without text (a scan has none): {', '.join(empty[:3])}{more}")

    def _made(self, places: Sequence[Path], making: "_Making") -> TextIndex:
        """Return a new index, in the first of the places that can be written."""
        refused = ""
        making.announce()
        for place in places:
            try:
                return making.write(place)
            except _Unwritable as error:
                refused = refused or str(error)
        self._scratch = tempfile.TemporaryDirectory(prefix="spanwise-index-")
        self.notes.append(f"the index is not kept, and made anew next time: {refused}")
        return making.write(Path(self._scratch.name) / "index")


def index_places(folder: Path) -> list[Path]:
    """Return where the index of a folder may lie, the best place first."""
    caches = os.environ.get(CACHE_VARIABLE) or os.path.expanduser("~/.cache")
    name = hashlib.sha256(os.path.realpath(folder).encode("utf-8", "surrogateescape")).hexdigest()[:20]
    return [folder / BESIDE, Path(caches, "spanwise", "indexes", name)]


def _found(places: Sequence[Path], is_current: Callable[[IndexRecord], bool]) -> tuple[TextIndex | None, list[str]]:
    """Return the first index that is current, else the first one, and what is wrong with those before it.

    An outdated one may lie in a folder that can no longer be written, before a current one among the caches.
    """
    outdated: TextIndex | None = None
    damage: list[str] = []
    for place in places:
        try:
            index = TextIndex(place) if place.is_dir() else None
        except (DataError, OSError) as cause:
            if outdated is None:
                damage.append(str(cause))
            continue
        if index is not None and is_current(index.record):
            return index, damage
        outdated = outdated or index
    return outdated, damage


def _is_current(
    record: IndexRecord, files: Sequence[DocumentFile], reading: ReadingOptions, packages: Sequence[str]
) -> bool:
    waits = any(one.problem for one in record.files) and list(record.packages) != list(packages)
    return not waits and record.reading == reading and [one.file for one in record.files] == list(files)


class _Unwritable(SpanwiseError):
    """A place that no index can be written to."""


class _Making:
    """What an index is made of."""

    def __init__(
        self,
        folder: Path,
        files: Sequence[DocumentFile],
        reading: ReadingOptions,
        packages: Sequence[str],
        before: TextIndex | None,
        say: Say,
    ) -> None:
        self.folder, self.files, self.reading, self.packages, self.say = folder, files, reading, packages, say
        self.before = before if before is not None and before.record.reading == reading else None
        known = self.before.record.files if self.before else ()
        self.kept = {one.file: place for place, one in enumerate(known) if not one.problem}
        self.fresh = [file for file in files if file not in self.kept]
        self.megabytes = sum(file.size for file in self.fresh) / 1e6

    def announce(self) -> None:
        """Say how much is to be read."""
        self.say(
            f"Indexing {self.folder}: {len(self.fresh):,} of {counted(len(self.files), 'file')} "
            f"{'is' if len(self.fresh) == 1 else 'are'} new or changed ({self.megabytes:,.1f} MB)."
        )

    def write(self, place: Path) -> TextIndex:
        """Write the index to a place, whole or not at all, and open it. Raises: _Unwritable; what reading raises."""
        problem: SpanwiseError | None = None
        try:
            with atomic_folder(place, existing="replace") as folder:
                try:
                    self._fill(folder)
                except SpanwiseError as error:
                    problem = error
                    raise
            return TextIndex(place)
        except SpanwiseError as error:
            if problem is not None:
                raise
            raise _Unwritable(str(error)) from error

    def _fill(self, folder: Path) -> None:
        with closing(IndexWriter(folder)) as writer, Gauge("indexing", "MB") as gauge:
            gauge.expect(self.megabytes)
            for file in self.files:
                if file in self.kept and self.before is not None:
                    writer.add(file, self.before.passages_of(self.kept[file]))
                else:
                    self._add(writer, file)
                    gauge.add(file.size / 1e6)
            if all(one.problem for one in writer.files):
                raise DataError(f"no file of {self.folder} can be read: {writer.files[0].problem}")
            writer.finish(self.reading, self.packages)

    def _add(self, writer: IndexWriter, file: DocumentFile) -> None:
        """Read a file, all of it before any is added where it may turn out to be damaged."""
        passages: Iterator[Passage] = cut_passages(read_document(self.folder / file.name, self.reading))
        if self.reading.errors == "strict":
            writer.add(file, passages)
            return
        try:
            writer.add(file, list(passages))
        except (DataError, ConfigError) as error:
            writer.add(file, [], problem=str(error))
