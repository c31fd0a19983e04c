"""Our steps in a pipeline of datatrove: text in as our readers have it, a part of a store out, and the parts' merge.

datatrove numbers the tasks of a pipeline by rank and lets any number of workers take them. Here a task is a part of
the input, cut before anything runs, so what a task writes depends on its part alone.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, pairwise
from pathlib import Path

from datatrove.data import Document as TroveDocument
from datatrove.pipeline.base import PipelineStep

from spanwise.data.merge import merge_stores
from spanwise.data.prepare import prepare
from spanwise.data.store_writer import SHARD_BYTES, NothingToStoreError
from spanwise.errors import ConfigError, DataError
from spanwise.runtime.disk import DISK
from spanwise.runtime.files import atomic_folder, verify_folder
from spanwise.text.corpus import CorpusOptions, Document, read_texts, split_text
from spanwise.text.tokenizers import Tokenizer

DOCUMENT = "spanwise_document"  # the key, in a document's metadata, of what all parts of a long document share


class ReadTexts(PipelineStep):
    """Give the documents of a rank's part as they stand in their files; very long ones come in several pieces."""

    type = "📖 - READER"
    name = "spanwise texts"

    def __init__(self, parts: Sequence[Sequence[Path]], options: CorpusOptions) -> None:
        """`parts` [tasks] has the files of each."""
        super().__init__()
        self.parts, self.options = parts, options

    def run(
        self, data: Iterable[TroveDocument] | None = None, rank: int = 0, world_size: int = 1
    ) -> Iterator[TroveDocument]:
        if world_size != len(self.parts):
            raise ConfigError(f"tasks={world_size}: the input was cut into {len(self.parts)} parts, a task each.")
        number = 0
        for text in read_texts(self.parts[rank], self.options):
            if text.text.strip():
                place = f"{text.source}:{text.line}"
                yield TroveDocument(text.text, place, metadata={"file_path": text.source, DOCUMENT: number})
                self.stat_update("texts")
            number += text.ends


class WriteStorePart(PipelineStep):
    """Split and encode what reaches it into a part of a store. A part that stands whole is left as it is, unread.

    A line of a document's text is a paragraph, or a sentence, as the options say; so a filter may drop documents, and
    a formatter may change their text, as they like.
    """

    type = "💽 - WRITER"
    name = "spanwise store part"

    def __init__(
        self, folder: Path, tokenizer: Path, options: CorpusOptions, *, shard_bytes: int = SHARD_BYTES
    ) -> None:
        """`folder` takes the parts, named by rank; `tokenizer` is a folder. All workers see both at these paths."""
        super().__init__()
        self.folder, self.tokenizer, self.options, self.shard_bytes = folder, tokenizer, options, shard_bytes

    def run(self, data: Iterable[TroveDocument], rank: int = 0, world_size: int = 1) -> None:
        part = part_folder(self.folder, rank)
        if stands_whole(part):
            return
        try:
            documents = documents_of_pipeline(data, self.options)
            report = prepare(documents, Tokenizer.load(self.tokenizer), part, shard_bytes=self.shard_bytes)
            self.stat_update("tokens", value=report.num_tokens)
        except NothingToStoreError:
            with atomic_folder(part):
                pass


class MergeStoreParts(PipelineStep):
    """Make the store of its parts: one task, after all others."""

    type = "💽 - WRITER"
    name = "spanwise store"

    def __init__(self, folder: Path, num_parts: int, out: Path, *, shard_bytes: int = SHARD_BYTES) -> None:
        super().__init__()
        self.folder, self.num_parts, self.out, self.shard_bytes = folder, num_parts, out, shard_bytes

    def run(self, data: object = None, rank: int = 0, world_size: int = 1) -> None:
        if not stands_whole(self.out):
            parts = [part_folder(self.folder, number) for number in range(self.num_parts)]
            self.stat_update("tokens", value=merge_stores(parts, self.out, shard_bytes=self.shard_bytes))


def part_folder(folder: Path, rank: int) -> Path:
    return folder / f"{rank:05d}"


def stands_whole(folder: Path) -> bool:
    """Return whether a store or part was committed before. Raises: DataError where it lost or changed a file's size."""
    if not DISK.exists(folder):
        return False
    verify_folder(folder, DataError, read=lambda name: False)  # contents are checked where they are read
    return True


def documents_of_pipeline(data: Iterable[TroveDocument], options: CorpusOptions) -> Iterator[Document]:
    """Split what a pipeline gives into sentences. Documents of other readers, without our key, each stand alone."""
    found = (
        (trove.metadata.get(DOCUMENT, object()), Document(trove.id, 1, sentences))
        for trove in data
        if (sentences := split_text(trove.text, options))
    )
    nothing = (None, Document("", 0, []))
    for (key, document), (next_key, _) in pairwise(chain(found, [nothing])):
        yield replace(document, ends=next_key != key)
