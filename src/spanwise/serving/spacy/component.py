"""What the spaCy components share: when the model is opened, batches of documents, and how it is saved with `nlp`.

A component is made from its settings alone and opens its model when it is first needed: spaCy makes every component of
a saved pipeline before it says where their files lie. The folder of the model is saved with the pipeline; weights that
ship with this package are saved as their name.
"""

import tempfile
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, ClassVar, Self

import srsly
from spacy.tokens import Doc, Span
from spacy.util import minibatch

import spanwise
from spanwise.errors import ConfigError
from spanwise.interop.sources import find_folder
from spanwise.runtime.disk import DISK
from spanwise.weights import shipped_folder

CONFIG, MODEL = "config.json", "model"
Alignment = str  # "strict", "contract" or "expand", as in Doc.char_span


class Component(ABC):
    """A step of a spaCy pipeline around a pipeline of this package.

    model: a folder, a hub id or shipped weights. precision: as in `spanwise.pipeline`. batch_size: documents that are
    read together where `nlp.pipe` does not say it.
    """

    pipeline_name: ClassVar[str]

    def __init__(self, name: str, model: str | None, precision: str, batch_size: int) -> None:
        if model is None:
            raise ConfigError(f"{name} needs a model: config={{'model': FOLDER}}.")
        self.name, self.model, self.precision, self.batch_size = name, model, precision, batch_size
        self._opened: Any = None
        self._kept: tempfile.TemporaryDirectory[str] | None = None  # files that came as bytes

    @property
    def pipeline(self) -> Any:
        """Return the pipeline of this package. Raises: CheckpointError for a model that can't do the task."""
        if self._opened is None:
            self._opened = spanwise.pipeline(self.pipeline_name, model=self.model, precision=self.precision)
        return self._opened

    def __call__(self, doc: Doc) -> Doc:
        """Add to one document what the model finds."""
        self.annotate([doc])
        return doc

    def pipe(self, stream: Iterable[Doc], *, batch_size: int | None = None) -> Iterator[Doc]:
        """Yield the documents of a stream with what the model finds; a batch goes through the model together."""
        for batch in minibatch(stream, size=batch_size or self.batch_size):
            docs = list(batch)
            self.annotate(docs)
            yield from docs

    def annotate(self, docs: list[Doc]) -> None:
        """Add to documents what the model finds; those without a word stay as they are."""
        written = [doc for doc in docs if doc.text.strip()]
        if written:
            self._annotate(written)

    @abstractmethod
    def _annotate(self, docs: list[Doc]) -> None: ...

    def to_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> None:
        """Save the model's folder, or the name of shipped weights, into a folder of the pipeline's."""
        folder = Path(path)
        DISK.make_folders(folder)
        record = {"model": None if self._is_own else self.model}
        DISK.write_by_name(folder / CONFIG, lambda place: srsly.write_json(place, record))
        if self._is_own:
            DISK.copy_tree(find_folder(self.model), folder / MODEL)

    def from_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> Self:
        """Take the model that was saved there."""
        folder = Path(path)
        self._take(srsly.read_json(folder / CONFIG)["model"] or str(folder / MODEL))
        return self

    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:
        """Return the files of the model's folder, or the name of shipped weights."""
        if not self._is_own:
            return bytes(srsly.msgpack_dumps({"model": self.model, "files": {}}))
        folder = find_folder(self.model)
        files = {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}
        return bytes(srsly.msgpack_dumps({"model": None, "files": files}))

    def from_bytes(self, data: bytes, *, exclude: Iterable[str] = ()) -> Self:
        """Take the model of `to_bytes`; its files lie in a folder that is removed with this component."""
        given = srsly.msgpack_loads(data)
        if given["model"] is not None:
            self._take(given["model"])
            return self
        kept = tempfile.TemporaryDirectory(prefix="spanwise-")
        for name, content in given["files"].items():
            place = Path(kept.name) / name
            if not place.resolve().is_relative_to(Path(kept.name).resolve()):
                raise ConfigError(f"these bytes hold a file {name!r} outside of the model's folder; they are damaged.")
            DISK.make_folders(place.parent)
            DISK.write_file(place, content)
        self._take(kept.name)
        self._kept = kept
        return self

    @property
    def _is_own(self) -> bool:
        return shipped_folder(self.model) is None

    def _take(self, model: str) -> None:
        self.model, self._opened, self._kept = model, None, None


def span_of(doc: Doc, start: int, end: int, alignment: Alignment, label: str = "") -> Span | None:
    """Return the tokens of characters `start` to `end`; None where the alignment finds none."""
    return doc.char_span(start, end, label=label, alignment_mode=alignment)
