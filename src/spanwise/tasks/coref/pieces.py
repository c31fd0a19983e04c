"""Documents as pieces: ids, and for each piece its word, sentence, speaker and characters.

Letters: T pieces of a document, S segments, M gold mentions.
Source: Joshi et al. 2019 (independent segments).
Differs: special tokens are not part of the document, so none is ever inside a span and none shares a sentence;
speakers are told apart whatever their number; a word longer than a segment is cut.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from spanwise.tasks.coref.documents import CoreferenceDocument, Document, TextDocument, genre_of
from spanwise.text.sentences import sentence_ranges
from spanwise.text.tokenizers import Encoding, Tokenizer


@dataclass(frozen=True, kw_only=True)
class DocumentPieces:
    """The T pieces of one document, special tokens not among them."""

    name: str
    text: str  # of a document of words: those joined by blanks
    genre: str
    ids_T: np.ndarray
    word_T: np.ndarray  # which word of the document, not falling
    sentence_T: np.ndarray
    speaker_T: np.ndarray
    chars_T2: np.ndarray  # half-open, into `text`
    gold_M3: np.ndarray  # first piece, last piece plus one, cluster from 1; sorted
    num_unreachable: int = 0  # gold mentions of whose words the tokenizer keeps nothing

    def __len__(self) -> int:
        return len(self.ids_T)

    @property
    def starts_word_T(self) -> np.ndarray:
        return np.concatenate([[True], np.diff(self.word_T) > 0])[: len(self)]

    def characters(self, start: int, end: int) -> tuple[int, int]:
        """Half-open characters of `text` that the pieces `[start, end)` cover, without white space around them."""
        first, last = int(self.chars_T2[start, 0]), int(self.chars_T2[end - 1, 1])
        while first < last and self.text[first].isspace():
            first += 1
        while first < last and self.text[last - 1].isspace():
            last -= 1
        return first, last


def cut_documents(documents: Sequence[Document], tokenizer: Tokenizer) -> list[DocumentPieces]:
    """Encode all documents together, a sentence at a time."""
    ranges = [_sentences(document) for document in documents]
    texts = [_text(document) for document in documents]
    sentences = [text[a:b] for text, found in zip(texts, ranges, strict=True) for a, b in found]
    encodings = iter(tokenizer.encode_batch(sentences))
    cut = []
    for document, text, found in zip(documents, texts, ranges, strict=True):
        own = list(itertools.islice(encodings, len(found)))
        cut.append(_pieces(document, text, found, own))
    return cut


def _text(document: Document) -> str:
    return document.text if isinstance(document, TextDocument) else " ".join(document.words)


def _sentences(document: Document) -> list[tuple[int, int]]:
    """Half-open characters of every sentence."""
    if isinstance(document, TextDocument):
        return sentence_ranges(document.text, document.language)
    starts, ends = _word_characters(document)
    return [(int(starts[a]), int(ends[b - 1])) for a, b in itertools.pairwise(document.sentence_borders)]


def _word_characters(document: CoreferenceDocument) -> tuple[np.ndarray, np.ndarray]:
    """Return where each word begins and ends in the words joined by blanks."""
    lengths = np.array([len(word) for word in document.words], dtype=np.int64)
    ends = np.cumsum(lengths + 1) - 1
    return ends - lengths, ends


def _pieces(document: Document, text: str, ranges: list[tuple[int, int]], encodings: list[Encoding]) -> DocumentPieces:
    counts = np.array([len(encoding.ids) for encoding in encodings], dtype=np.int64)
    sentence_T = np.repeat(np.arange(len(counts)), counts)
    chars = [encoding.offsets.astype(np.int64) + begin for encoding, (begin, _) in zip(encodings, ranges, strict=True)]
    chars_T2 = np.concatenate(chars) if chars else np.zeros((0, 2), dtype=np.int64)
    ids_T = np.concatenate([encoding.ids for encoding in encodings]) if encodings else np.zeros(0, dtype=np.int32)
    gold_M3, num_unreachable = np.zeros((0, 3), dtype=np.int64), 0
    if isinstance(document, TextDocument):
        word_ids = [encoding.word_ids.astype(np.int64) for encoding in encodings]
        before = np.cumsum([0, *(int(ids[-1]) + 1 if len(ids) else 0 for ids in word_ids)])
        word_T = np.concatenate([ids + n for ids, n in zip(word_ids, before, strict=False)] or [np.zeros(0, np.int64)])
        speaker_T = np.zeros(len(ids_T), dtype=np.int64)
    else:
        starts, _ = _word_characters(document)
        last_character = np.maximum(chars_T2[:, 1] - 1, chars_T2[:, 0])
        word_T = np.maximum(np.searchsorted(starts, last_character, side="right") - 1, 0)
        numbers = {speaker: number for number, speaker in enumerate(dict.fromkeys(document.speakers))}
        speaker_T = np.array([numbers[speaker] for speaker in document.speakers], dtype=np.int64)[word_T]
        gold_M3, num_unreachable = _gold(document, word_T)
    return DocumentPieces(
        name=document.name,
        text=text,
        genre=genre_of(document),
        ids_T=ids_T,
        word_T=word_T,
        sentence_T=sentence_T,
        speaker_T=speaker_T,
        chars_T2=chars_T2,
        gold_M3=gold_M3,
        num_unreachable=num_unreachable,
    )


def _gold(document: CoreferenceDocument, word_T: np.ndarray) -> tuple[np.ndarray, int]:
    """Gold mentions as pieces, [M, 3], and how many have none."""
    rows = [
        (int(first), int(last), number)
        for number, cluster in enumerate(document.clusters, 1)
        for begin, end in cluster
        for first, last in [np.searchsorted(word_T, [begin, end])]
    ]
    reached = sorted({(first, last): (first, last, n) for first, last, n in reversed(rows) if first < last}.values())
    return np.array(reached, dtype=np.int64).reshape(-1, 3), sum(first >= last for first, last, _ in rows)


def segment_borders(pieces: DocumentPieces, capacity: int) -> np.ndarray:
    """Pieces before each segment, and all of them, int64 [S + 1]; a segment holds at most `capacity` pieces.

    A segment ends with a sentence where one ends in it, else with a word, else anywhere.
    """
    num_pieces = len(pieces)
    places = np.arange(1, num_pieces + 1)
    sentence_ends = places[np.append(np.diff(pieces.sentence_T) > 0, True)[:num_pieces]]
    word_ends = places[np.append(pieces.starts_word_T[1:], True)[:num_pieces]]
    borders = [0]
    while borders[-1] < num_pieces:
        limit = borders[-1] + capacity
        for ends in (sentence_ends, word_ends):
            place = int(np.searchsorted(ends, limit, side="right")) - 1
            if place >= 0 and ends[place] > borders[-1]:
                borders.append(int(ends[place]))
                break
        else:
            borders.append(min(limit, num_pieces))
    return np.array(borders, dtype=np.int64)
