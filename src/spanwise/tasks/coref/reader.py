"""Files of coreference by what they hold: CoNLL columns, JSON lines, GAP, plain text.

JSON lines are the field's own shape, `{"doc_key", "sentences", "speakers", "clusters"}`, with sentences of words and
clusters of `[first, last]` word numbers (last included), counted through the document; or `{"text"}` for text to
predict on. LitBank and OntoGUM are CoNLL columns.
"""

import itertools
import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from spanwise.errors import DataError
from spanwise.runtime.json_text import decode_json
from spanwise.tasks.coref.documents import CoreferenceData, CoreferenceDocument, Document, TextDocument, read_conll
from spanwise.tasks.coref.gap import is_gap, read_gap
from spanwise.tasks.coref.score import Mention
from spanwise.tasks.files.tables import parsed
from spanwise.tasks.files.text import OnError, Purpose, plain_suffix
from spanwise.text.readers import Line, read_lines


def read_coreference(path: str | Path, *, purpose: Purpose, errors: OnError = "strict") -> CoreferenceData:
    """Read a file of any of the shapes above, packed (.gz, .xz, .zst, .bz2) or not.

    A mention that comes twice counts where it first stood; mentions that cross are kept. `errors="repair"` leaves out
    mentions that do not lie in their text, counted. To train and to score, documents of words with clusters are
    needed, or to score a GAP file. A file that ends in .txt is one plain text.

    Raises: DataError naming the file and the line.
    """
    path = Path(path)
    head = _first_line(path)
    if head is None:
        raise DataError(f"{path} holds nothing; coreference data was expected.")
    if is_gap(head):
        if purpose == "train":
            raise DataError(f"{path} is a file of GAP, which names one pronoun a text: score on it, train on clusters.")
        examples = tuple(read_gap(path))
        texts = tuple(TextDocument(name=example.id, text=example.text) for example in examples)
        return CoreferenceData(source=str(path), documents=texts, gap=examples)
    if head.lstrip().startswith("{") or plain_suffix(path) in (".jsonl", ".ndjson", ".json"):
        data = _read_json_lines(path, errors)
    elif plain_suffix(path) == ".txt":
        text = "\n".join(_text_of(line) for line in _whole_lines(path))
        data = CoreferenceData(source=str(path), documents=(TextDocument(name=path.name, text=text),))
    else:
        data = CoreferenceData(source=str(path), documents=tuple(read_conll(path)))
    if purpose != "predict" and not data.has_words:
        raise DataError(f"{path} holds plain text without clusters; it can be predicted on, not trained or scored on.")
    return _without_repeats(data)


def _first_line(path: Path) -> str | None:
    return next((line.text for line in read_lines(path) if line.text.strip()), None)


def _whole_lines(path: Path) -> Iterator[list[Line]]:
    """Lines of any length: those that come in pieces are put together."""
    for _, parts in itertools.groupby(read_lines(path), lambda line: line.number):
        yield list(parts)


def _text_of(parts: list[Line]) -> str:
    return "".join(part.text for part in parts)


def _read_json_lines(path: Path, errors: OnError) -> CoreferenceData:
    """One document per line. Raises: DataError naming the line; of two documents of one name also under "repair"."""

    def read(parts: list[Line]) -> tuple[Document, int, int]:
        number = parts[0].number
        where = f"{path}, line {number}"
        try:
            row = decode_json(_text_of(parts))
        except ValueError as cause:
            raise DataError(f"{where} is not JSON ({cause}); one document per line was expected.") from cause
        if not isinstance(row, Mapping):
            raise DataError(f"{where} holds a {type(row).__name__}; an object per document was expected.")
        document, dropped = _json_document(row, f"{path.name}:{number}", where, errors)
        if isinstance(document, CoreferenceDocument):
            document = replace(document, line=number)
        return document, dropped, number

    found, num_dropped = parsed((parts for parts in _whole_lines(path) if _text_of(parts).strip()), read, errors)
    lines: dict[str, int] = {}
    for document, _, number in found:
        if document.name in lines:
            raise DataError(
                f"{path}, line {number}: document {document.name!r} came before, at line {lines[document.name]}."
            )
        lines[document.name] = number
    if not found:
        raise DataError(f"{path}: no document in it can be read.")
    return CoreferenceData(
        source=str(path),
        documents=tuple(document for document, _, _ in found),
        num_dropped_mentions=sum(dropped for _, dropped, _ in found),
        num_dropped=num_dropped,
    )


def _json_document(row: Mapping[str, Any], default_name: str, where: str, errors: OnError) -> tuple[Document, int]:
    name = str(row.get("doc_key", row.get("name", default_name)))
    if "subtoken_map" in row or "sentence_map" in row:
        raise DataError(f"{where} is cut into word pieces already; give the file of words that it was made from.")
    if "sentences" not in row:
        if isinstance(row.get("text"), str):
            return TextDocument(name=name, text=row["text"]), 0
        raise DataError(f"{where} has no 'sentences' (lists of words), and no 'text'.")
    sentences = _lists_of_strings(row["sentences"], f"{where}: 'sentences'")
    words = tuple(itertools.chain.from_iterable(sentences))
    speakers = [[""] * len(sentence) for sentence in sentences]
    if row.get("speakers"):
        speakers = _lists_of_strings(row["speakers"], f"{where}: 'speakers'")
    if [len(sentence) for sentence in speakers] != [len(sentence) for sentence in sentences]:
        raise DataError(f"{where}: 'speakers' has other lengths than 'sentences'; a speaker per word was expected.")
    clusters, dropped = _clusters(row.get("clusters", []), len(words), where, errors)
    borders = tuple(itertools.accumulate((len(sentence) for sentence in sentences if sentence), initial=0))
    document = CoreferenceDocument(
        name=name,
        words=words,
        sentence_borders=borders,
        speakers=tuple("" if speaker == "-" else speaker for speaker in itertools.chain.from_iterable(speakers)),
        clusters=clusters,
    )
    return document, dropped


def _lists_of_strings(value: Any, where: str) -> list[list[str]]:
    right = isinstance(value, list) and all(isinstance(sentence, list) for sentence in value)
    if not right or not all(isinstance(word, str) for sentence in value for word in sentence):
        raise DataError(f"{where} is not a list of lists of strings.")
    return value


def _clusters(
    value: object, num_words: int, where: str, errors: OnError
) -> tuple[tuple[tuple[Mention, ...], ...], int]:
    if not isinstance(value, list) or not all(isinstance(cluster, list) for cluster in value):
        raise DataError(f"{where}: 'clusters' is not a list of lists of [first, last] word numbers.")
    found, dropped = [], 0
    for cluster in value:
        mentions: list[Mention] = []
        for mention in cluster:
            numbers = mention if isinstance(mention, list) else []
            if len(numbers) < 2 or not all(type(number) is int for number in numbers[:2]):
                raise DataError(f"{where}: mention {mention!r} is not [first, last] in word numbers.")
            first, last = numbers[:2]
            if 0 <= first <= last < num_words:
                mentions.append((first, last + 1))
            elif errors == "repair":
                dropped += 1
            else:
                raise DataError(
                    f"{where}: mention {mention!r} does not lie in the document of {num_words:,} words "
                    f"(0 to {num_words - 1:,}, last included). `--errors repair` leaves such mentions out."
                )
        if mentions:
            found.append(tuple(sorted(mentions)))
    return tuple(found), dropped


def _without_repeats(data: CoreferenceData) -> CoreferenceData:
    """The same data in which every mention of a document stands once."""
    documents, repeated = [], 0
    for document in data.documents:
        if isinstance(document, CoreferenceDocument):
            seen: set[Mention] = set()
            clusters = []
            for cluster in document.clusters:
                fresh = tuple(mention for mention in dict.fromkeys(cluster) if mention not in seen)
                repeated += len(cluster) - len(fresh)
                seen.update(fresh)
                if fresh:
                    clusters.append(fresh)
            document = replace(document, clusters=tuple(clusters))
        documents.append(document)
    return replace(data, documents=tuple(documents), num_repeated_mentions=repeated)


def write_json_line(
    document: CoreferenceDocument, clusters: tuple[tuple[Mention, ...], ...], num_windows: int | None = None
) -> str:
    """One document as the JSON line of the field, with these clusters; of a prediction also its number of windows."""
    borders = list(itertools.pairwise(document.sentence_borders))
    row: dict[str, object] = {
        "doc_key": document.name,
        "sentences": [list(document.words[begin:end]) for begin, end in borders],
        "speakers": [list(document.speakers[begin:end]) for begin, end in borders],
        "clusters": [[[first, last - 1] for first, last in cluster] for cluster in clusters],
    }
    if num_windows is not None:
        row["num_windows"] = num_windows
    return json.dumps(row, ensure_ascii=False) + "\n"
