"""Writes questions as a file of the SQuAD shape, document by document, so that memory holds one of them.

Each question carries what SQuAD has no key for, which readers pass over: `kind` (of the answer), `form` (wh or cloze)
and `made_from` (the file and line of the document, and the sentence).
"""

from __future__ import annotations

import contextlib
import io
import json
import os
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import TextIO

from spanwise.errors import ConfigError
from spanwise.questions.document import Made
from spanwise.runtime.disk import DISK
from spanwise.runtime.files import explained_disk_errors, make_folder_durably, refuse_special
from spanwise.text.corpus import Document


class SquadWriter:
    """Writes beside `path` and renames at the end of a `with` block; after an error, be it a full disk, nothing is
    left."""

    def __init__(self, path: Path, *, with_impossible: bool) -> None:
        """Raises: ConfigError where `path` is a folder, a device or a pipe."""
        if path.is_dir():
            raise ConfigError(f"{path} is a folder; name the file to write, such as {path / 'questions.json'}.")
        refuse_special(path)
        self.path, self.with_impossible = path, with_impossible
        self._partial = path.with_name(f".{path.name}.partial-{os.getpid()}")
        self._file: TextIO
        self._num_articles = 0

    def __enter__(self) -> SquadWriter:
        with explained_disk_errors(self.path):
            make_folder_durably(Path(os.path.abspath(self.path)).parent)
            opened = DISK.open_to_write(self._partial)
        self._file = io.TextIOWrapper(opened, encoding="utf-8", errors="backslashreplace")
        version = "v2.0" if self.with_impossible else "1.1"
        self._file.write(f'{{"version": "{version}", "data": [')
        return self

    def write(self, document: Document, questions: Iterable[Made]) -> None:
        """Add the questions of a document as one article; none, no article."""
        passages: dict[str, list[dict[str, object]]] = {}
        for made in questions:
            passages.setdefault(made.passage.text, []).append(self._record(document, made))
        if not passages:
            return
        article = {
            "title": f"{Path(document.source).name}:{document.line}",
            "paragraphs": [{"context": context, "qas": qas} for context, qas in passages.items()],
        }
        self._file.write(",\n" if self._num_articles else "\n")
        json.dump(article, self._file, ensure_ascii=False)
        self._num_articles += 1

    def _record(self, document: Document, made: Made) -> dict[str, object]:
        found = [{"text": made.answer, "answer_start": made.start}] if made.start >= 0 else []
        record: dict[str, object] = {"id": made.id, "question": made.question, "answers": found}
        if self.with_impossible:
            record["is_impossible"] = not found
        source = {"file": document.source, "line": document.line, "sentence": made.sentence}
        return record | {"kind": made.kind, "form": made.form, "made_from": source}

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        is_whole = False
        try:
            if kind is None:
                with explained_disk_errors(self.path), self._file:
                    self._file.write("\n]}\n")
                    DISK.fsync_open(self._file)
                    is_whole = True
            else:
                with contextlib.suppress(OSError):  # of what is thrown away
                    self._file.close()
        finally:
            if not is_whole:
                DISK.remove_file(self._partial)
        if is_whole:
            DISK.replace(self._partial, self.path)
            DISK.fsync_folder(Path(os.path.abspath(self.path)).parent)
