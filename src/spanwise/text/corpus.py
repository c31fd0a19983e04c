"""A corpus: files, folders and globs in, documents of sentences out, in bounded memory.

Plain text has one paragraph (or one sentence) a line and a blank line between documents; the end of a file also ends
a document. JSON lines and parquet have one document a row.
"""

import functools
import glob
import logging
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Literal, cast

from spanwise.errors import ConfigError, DataError
from spanwise.runtime.remote.paths import RemotePath, path_of
from spanwise.text.readers import COMPRESSIONS, Line, read_json_rows, read_lines, read_parquet_rows
from spanwise.text.sentences import check_language, cut_long, split_sentences

logger = logging.getLogger(__name__)

MAX_DOCUMENT_CHARACTERS = 1 << 20  # a longer document is handed on in parts

TEXT_ENDINGS = (".txt", ".text")
JSON_ENDINGS = (".jsonl", ".ndjson", ".json")
FOLDER_ENDINGS = (*TEXT_ENDINGS, ".jsonl", ".ndjson", ".parquet")


@dataclass(frozen=True, kw_only=True)
class CorpusOptions:
    """How to read a corpus. Raises: ConfigError for a value that is not one of those listed."""

    lines: Literal["paragraphs", "sentences"] = "paragraphs"  # what a line of text is
    errors: Literal["strict", "replace"] = "strict"  # bytes that are not UTF-8: stop, or put U+FFFD and go on
    text_field: str = "text"  # of JSON lines and parquet
    language: str = "en"  # for the sentence splitter: an ISO 639-1 code
    unicode_form: Literal["NFC", "as_is"] = "NFC"  # macOS writes Korean and accents apart (NFD); vocabularies are NFC

    def __post_init__(self) -> None:
        for name, choices in (
            ("lines", ("paragraphs", "sentences")),
            ("errors", ("strict", "replace")),
            ("unicode_form", ("NFC", "as_is")),
        ):
            if getattr(self, name) not in choices:
                raise ConfigError(f"{name}={getattr(self, name)!r}: expected {' or '.join(choices)}.")
        if not self.text_field:
            raise ConfigError("text_field may not be empty.")
        check_language(self.language)


@dataclass(frozen=True)
class Text:
    """One document as it stands in its file, or a part of a long one."""

    source: str  # the file
    line: int  # where it begins: line of a text file, row of a table
    text: str  # its lines, with \n between them
    ends: bool = True  # False: the next Text goes on with this document


@dataclass(frozen=True)
class Document:
    """Sentences of one document, or of a part of a long one."""

    source: str  # the file
    line: int  # where it begins: line of a text file, row of a table
    sentences: list[str]  # none empty
    ends: bool = True  # False: the next Document goes on with this one

    @property
    def num_characters(self) -> int:
        return sum(map(len, self.sentences))


def opened_sentences(documents: Iterable[Document], *, opens: bool = True) -> Iterator[tuple[bool, str]]:
    """All sentences, each with whether it opens its document; `opens` says so of the first one."""
    for document in documents:
        for sentence in document.sentences:
            yield opens, sentence
            opens = False
        opens = document.ends


Source = Iterable[Document] | Iterable[str | Path] | str | Path


def read_documents(
    paths: Sequence[str | Path] | str | Path, options: CorpusOptions | None = None
) -> Iterator[Document]:
    """Stream the documents of files, folders and globs, in the order given (folders and globs sorted by name).

    A document of plain text longer than `MAX_DOCUMENT_CHARACTERS` comes in parts (`Document.ends`), so memory stays
    flat; a row of JSON lines or Parquet is one document and held whole.
    Raises: DataError for files that are missing, damaged or not UTF-8, and for a corpus without any text.
    """
    options = options or CorpusOptions()
    files = corpus_files(paths)
    empty = True
    for text in read_texts(files, options):
        sentences = split_text(text.text, options)
        if sentences:
            empty = False
            yield Document(text.source, text.line, sentences, text.ends)
    if empty:
        names = ", ".join(str(file) for file in files[:3]) + (" ..." if len(files) > 3 else "")
        raise DataError(f"The corpus is empty: {names} holds no text, only white space at best.")


def documents_of(source: Source, options: CorpusOptions | None = None) -> Iterator[Document]:
    """Return the documents of a source, which are read as they are asked for: documents, or names of text files.

    Raises: DataError and ConfigError as `corpus_files`, before anything is read.
    """
    items: Iterator[Document | str | Path] = iter([source] if isinstance(source, str | Path) else source)
    first = next(items, None)
    if first is None:
        return iter(())
    items = chain([first], items)
    if isinstance(first, Document):  # a source is of one kind: the first item tells which
        return cast(Iterator[Document], items)
    paths = cast(list[str | Path], list(items))
    corpus_files(paths)
    return read_documents(paths, options)


def corpus_files(paths: Sequence[str | Path] | str | Path) -> list[Path]:
    """The files that files, folders and globs stand for, here or elsewhere (s3://..., hf://datasets/...).

    Of a folder, files ending in .txt, .text, .jsonl, .ndjson or .parquet (maybe packed) at any depth; hidden ones are
    passed over, and those with other endings told in a line.
    Raises: DataError where nothing is found; ConfigError where a file comes twice.
    """
    files: list[Path] = []
    for given in [paths] if isinstance(paths, str | Path) else list(paths):
        path = path_of(given)
        if path.is_dir():
            files += _files_of_folder(path)
        elif path.exists() or not glob.has_magic(str(given)):
            if not path.exists():
                raise DataError(f"{path} does not exist.")
            files.append(path)
        else:
            matched = _matches(path)
            if not matched:
                raise DataError(f"No file matches {str(given)!r}.")
            files += matched
    if not files:
        raise DataError("No text was given. Name a file, a folder or a glob such as 'texts/*.txt.xz'.")
    seen: set[Path] = set()
    for file in files:
        if file.resolve() in seen:
            raise ConfigError(f"{file} is named twice; its text would count double.")
        seen.add(file.resolve())
    return files


def _matches(pattern: Path) -> Sequence[Path]:
    if isinstance(pattern, RemotePath):
        return pattern.matches()
    return sorted(Path(name) for name in glob.glob(str(pattern), recursive=True) if Path(name).is_file())


def _files_of_folder(folder: Path) -> list[Path]:
    if isinstance(folder, RemotePath):
        below: Iterable[Path] = folder.files_under()
    else:
        below = (path for path in sorted(folder.rglob("*")) if path.is_file())
    hidden = len(folder.parts)
    visible = [path for path in below if not any(part.startswith(".") for part in path.parts[hidden:])]
    found = [path for path in visible if ending_of(path) in FOLDER_ENDINGS]
    if not found:
        others = ", ".join(path.name for path in visible[:3]) or "no files"
        raise DataError(
            f"{folder} holds no {', '.join(FOLDER_ENDINGS)} file (found: {others}). "
            f"Other names are read when named: '{folder}/*'."
        )
    passed = Counter(ending for path in visible if (ending := ending_of(path)) not in FOLDER_ENDINGS)
    if passed:
        _tell_passed_over(str(folder), told_endings(passed))
    return found


def told_endings(endings: Counter[str]) -> str:
    """Return how many files there are of each of the four commonest endings, as words."""
    shown = ", ".join(f"{count:,} {ending or 'without ending'}" for ending, count in endings.most_common(4))
    return shown + (" and others" if len(endings) > 4 else "")


@functools.cache  # once, however often a command looks at its folder
def _tell_passed_over(folder: str, others: str) -> None:
    """Say which files of a folder are not read."""
    logger.warning(
        "%s: files with other endings than %s are passed over (%s); those that are plain text are read when named.",
        folder,
        ", ".join(FOLDER_ENDINGS),
        others,
    )


def ending_of(path: Path) -> str:
    """The ending below the compression: `.txt` of `a.txt.xz`."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in COMPRESSIONS:
        suffixes.pop()
    return suffixes[-1] if suffixes else ""


def read_texts(files: Iterable[Path], options: CorpusOptions) -> Iterator[Text]:
    """Stream the documents of files before they are split: what `split_text` makes of each is what a store holds.

    Raises: DataError as `read_documents`, but not where there is no text.
    """
    for file in files:
        ending = ending_of(file)
        if ending == ".parquet":
            rows: Iterable[tuple[int, str]] = read_parquet_rows(file, options.text_field, options.errors)
        elif ending in JSON_ENDINGS:
            rows = read_json_rows(file, options.text_field, options.errors)
        else:
            yield from _texts_of_lines(str(file), read_lines(file, options.errors))
            continue
        for number, text in rows:
            yield Text(str(file), number, text)


def split_text(text: str, options: CorpusOptions) -> list[str]:
    """The sentences of a text of any number of lines, as a corpus has them; none is empty."""
    return [sentence for line in text.split("\n") for sentence in _sentences(line, options)]


def _texts_of_lines(source: str, lines: Iterable[Line]) -> Iterator[Text]:
    """Group lines into documents. A part is given away only when more text follows it, so each document has an end."""
    held: list[str] = []
    begin = size = 0
    line_is_blank = True
    for line in lines:
        is_blank = not line.text.strip()
        line_is_blank = line_is_blank and is_blank
        if not is_blank:
            if size > MAX_DOCUMENT_CHARACTERS:
                yield Text(source, begin, "\n".join(held), ends=False)
                held, size = [], 0
            begin = begin if held else line.number
            held.append(line.text)
            size += len(line.text)
        if line.ends:
            if line_is_blank and held:
                yield Text(source, begin, "\n".join(held))
                held, size = [], 0
            line_is_blank = True
    if held:
        yield Text(source, begin, "\n".join(held))


def _sentences(line: str, options: CorpusOptions) -> list[str]:
    if options.unicode_form == "NFC" and not line.isascii():
        line = unicodedata.normalize("NFC", line)
    if options.lines == "sentences":
        return cut_long(line)
    return split_sentences(line, options.language)
