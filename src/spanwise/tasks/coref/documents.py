"""Documents with coreference in memory, of words or of plain text, and as columns of CoNLL-2011 and CoNLL-2012.

Such a file has one word per line, an empty line after a sentence, `#begin document (NAME); part NUMBER` and
`#end document` around a document. The last column has `(5` where a mention of cluster 5 begins, `5)` where it ends and
`(5)` where it is one word, several with `|` between them or side by side, and `-`, `_` or nothing where there is none.
Columns are divided by tabs where a line has one, else by blanks.
Source: the CoNLL-2012 shared task; the reference scorer's way of reading the last column (Pradhan et al. 2014).
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from spanwise.errors import DataError
from spanwise.tasks.coref.gap import GapExample
from spanwise.tasks.coref.score import Mention
from spanwise.text.readers import Line, read_lines

WORD_COLUMN, SPEAKER_COLUMN = 3, 9  # counted from 0
NO_VALUE = frozenset({"", "-", "_"})
_BEGIN = re.compile(r"#\s*begin document\s*(.*)$")
_BRACKETS = {  # in the order in which they are taken out of a column
    "alone": re.compile(r"\(([^()|\s]+)\)"),
    "opens": re.compile(r"\(([^()|\s]+)"),
    "closes": re.compile(r"([^()|\s]+)\)"),
}


@dataclass(frozen=True, kw_only=True)
class CoreferenceDocument:
    """Words of one document and the clusters among them; a mention is a half-open range of words."""

    name: str  # as the file has it, part included: key and response are matched by it
    words: tuple[str, ...]
    sentence_borders: tuple[int, ...]  # words before each sentence, and all words
    speakers: tuple[str, ...]  # one per word, "" where the file has none
    clusters: tuple[tuple[Mention, ...], ...]  # in the order in which they begin
    line: int = 0  # where the document begins


def read_conll(path: str | Path) -> list[CoreferenceDocument]:
    """Read all documents of a file, packed or not.

    Raises: DataError naming the file and the line for text that is no such file: brackets that are not closed or
    not opened, a word outside a document, a name that comes twice, no document.
    """
    path = Path(path)
    documents: dict[str, CoreferenceDocument] = {}
    for document in _documents(path):
        if document.name in documents:
            raise DataError(
                f"{path}, line {document.line}: document {document.name!r} came before, at line "
                f"{documents[document.name].line}; each document of a file needs a name and part of its own."
            )
        documents[document.name] = document
    if not documents:
        raise DataError(
            f"{path} has no line '#begin document (NAME); part 000'; a CoNLL coreference file was expected."
        )
    return list(documents.values())


def _documents(path: Path) -> Iterator[CoreferenceDocument]:
    now: _Unfinished | None = None
    for line in read_lines(path):
        text = line.text.strip()
        begin = _BEGIN.match(text)
        if begin:
            if now is not None:  # some files leave '#end document' out
                yield now.finished()
            now = _Unfinished(begin[1].strip(), path, line.number)
        elif text.startswith("#end document") or text.startswith("# end document"):
            if now is not None:
                yield now.finished()
            now = None
        elif not text:
            if now is not None:
                now.end_sentence()
        elif now is not None:
            now.add(line)
        elif not text.startswith("#"):
            raise DataError(f"{path}, line {line.number} stands outside a document; '#begin document' was expected.")
    if now is not None:
        yield now.finished()


@dataclass
class _Unfinished:
    """One document while its lines are read."""

    name: str
    path: Path
    line: int
    words: list[str] = field(default_factory=list)
    speakers: list[str] = field(default_factory=list)
    borders: list[int] = field(default_factory=lambda: [0])
    clusters: dict[str, list[Mention]] = field(default_factory=dict)
    open: dict[str, list[tuple[int, int]]] = field(default_factory=dict)  # cluster -> (first word, line) not yet closed

    def add(self, line: Line) -> None:
        columns = line.text.rstrip("\r\n").split("\t") if "\t" in line.text else line.text.split()
        if len(columns) < 2:
            raise DataError(
                f"{self.path}, line {line.number} has one column; a word and its coreference were expected."
            )
        here = len(self.words)
        self.words.append(columns[min(WORD_COLUMN, len(columns) - 2)])
        speaker = columns[SPEAKER_COLUMN].strip() if len(columns) > SPEAKER_COLUMN + 1 else ""
        self.speakers.append("" if speaker in NO_VALUE else speaker)
        mark = columns[-1].strip()
        if mark not in NO_VALUE:
            self._mark(mark, here, line.number)

    def _mark(self, mark: str, here: int, number: int) -> None:
        """Take the brackets of one word as the reference scorer does: first mentions of this word alone, then those
        that begin here, then those that end here. Their order in the column does not matter, nor what divides them."""
        rest, found = mark, dict[str, list[str]]()
        for kind, pattern in _BRACKETS.items():
            found[kind] = pattern.findall(rest)
            rest = pattern.sub("|", rest)
        unread = rest.strip("| ") or ("" if any(found.values()) else mark)
        if unread:
            raise DataError(
                f"{self.path}, line {number}: coreference {unread!r} can't be read (the column holds {mark!r}); "
                "write '(5', '5)' and '(5)', with '|' between them or side by side, or '-' where there is none."
            )
        for cluster in found["alone"]:
            self.clusters.setdefault(cluster, []).append((here, here + 1))
        for cluster in found["opens"]:
            self.clusters.setdefault(cluster, [])
            self.open.setdefault(cluster, []).append((here, number))
        for cluster in found["closes"]:
            if not self.open.get(cluster):
                raise DataError(f"{self.path}, line {number}: cluster {cluster} is closed and was not opened before.")
            first, _ = self.open[cluster].pop()  # of several that are open, the one opened last
            self.clusters[cluster].append((first, here + 1))

    def end_sentence(self) -> None:
        if len(self.words) > self.borders[-1]:
            self.borders.append(len(self.words))

    def finished(self) -> CoreferenceDocument:
        for cluster, begun in self.open.items():
            if begun:
                raise DataError(
                    f"{self.path}, line {begun[-1][1]}: cluster {cluster} is opened and not closed before the end of "
                    f"document {self.name!r}."
                )
        self.end_sentence()
        return CoreferenceDocument(
            name=self.name,
            words=tuple(self.words),
            sentence_borders=tuple(self.borders),
            speakers=tuple(self.speakers),
            clusters=tuple(tuple(sorted(mentions)) for mentions in self.clusters.values()),
            line=self.line,
        )


def write_conll(documents: list[CoreferenceDocument]) -> str:
    """Return documents in the columns of CoNLL-2012, so that any scorer reads them; what is not known is `-`."""
    lines: list[str] = []
    for document in documents:
        marks: list[list[str]] = [[] for _ in document.words]
        for number, cluster in enumerate(document.clusters):
            for first, last in sorted(cluster, key=lambda mention: (mention[0], -mention[1])):
                if last == first + 1:
                    marks[first].append(f"({number})")
                else:
                    marks[first].append(f"({number}")
                    marks[last - 1].insert(0, f"{number})")
        lines.append(f"#begin document {document.name}")
        short = document.name.partition(";")[0].strip("() ") or "-"
        part = document.name.rpartition("part ")[2] if "part " in document.name else "0"
        for begin, end in zip(document.sentence_borders, document.sentence_borders[1:], strict=False):
            for place in range(begin, end):
                speaker = document.speakers[place] or "-"
                mark = "|".join(marks[place]) or "-"
                columns = [short, str(int(part)) if part.isdigit() else part, str(place - begin), document.words[place]]
                lines.append("\t".join([*columns, "-", "-", "-", "-", "-", speaker, "*", mark]))
            lines.append("")
        lines.append("#end document")
    return "\n".join(lines) + "\n"


NO_GENRE = "none"


@dataclass(frozen=True, kw_only=True)
class TextDocument:
    """Plain text; its sentences and words are found when it is cut into pieces."""

    name: str
    text: str
    language: str = "en"


Document = CoreferenceDocument | TextDocument


@dataclass(frozen=True, kw_only=True)
class CoreferenceData:
    """Documents of one source. `gap` are the questions of a GAP file, one per document; others have clusters."""

    source: str
    documents: tuple[Document, ...]
    gap: tuple[GapExample, ...] = ()
    num_repeated_mentions: int = 0  # named twice: kept where they first stood
    num_dropped_mentions: int = 0  # outside their text, and left out on request
    num_dropped: int = 0  # malformed documents of JSON lines, left out on request

    def __len__(self) -> int:
        """The number of documents."""
        return len(self.documents)

    @property
    def has_words(self) -> bool:
        return all(isinstance(document, CoreferenceDocument) for document in self.documents)

    @property
    def num_clusters(self) -> int:
        return sum(len(d.clusters) for d in self.documents if isinstance(d, CoreferenceDocument))

    @property
    def num_singletons(self) -> int:
        """Gold clusters of one mention."""
        return sum(
            len(cluster) == 1
            for document in self.documents
            if isinstance(document, CoreferenceDocument)
            for cluster in document.clusters
        )

    @property
    def has_singletons(self) -> bool:
        """Return whether lone mentions were annotated: a tenth of the clusters. (OntoGUM has a handful by mistake.)"""
        return self.num_singletons > 0 and 10 * self.num_singletons >= self.num_clusters


def genre_of(document: Document) -> str:
    """The kind of text that a name says: OntoNotes' `(nw/wsj/00/...)`, GUM's `GUM_news_...`; else "none"."""
    name = document.name.lstrip("( ")
    if "/" in name:
        return name.partition("/")[0] or NO_GENRE
    parts = name.split("_")
    return parts[1] if parts[0] == "GUM" and len(parts) > 2 else NO_GENRE
