"""Documents as packs: independent segments, what the head needs to know of the pieces in them, and hidden states of
whole documents, encoded in packs that documents share.

Letters: W documents, T pieces of one, S segments, N candidate spans, M gold mentions,
D hidden size.
Source: Joshi et al. 2019 ("independent").
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from spanwise.data.batch import Batch
from spanwise.nn.coreference.head import LONG, DocumentTensors
from spanwise.nn.coreference.pruning import candidate_spans
from spanwise.nn.sequences import Sequences
from spanwise.runtime.memory import return_freed_memory
from spanwise.runtime.seed import derive_key
from spanwise.tasks.batches import Packing
from spanwise.tasks.coref.pieces import DocumentPieces, segment_borders
from spanwise.tasks.frames import Frame

TARGET, MENTIONS = "coref", "mentions"  # the names of the two losses


@dataclass(frozen=True)
class CoreferenceTargets:
    """The documents of a pack: which rows of it are their pieces, what the head needs, and gold mentions [M, 3]."""

    rows: tuple[Tensor, ...]
    documents: tuple[DocumentTensors, ...]
    gold: tuple[Tensor, ...]


@dataclass(frozen=True, kw_only=True)
class CoreferenceFeatures:
    """W documents cut into segments, of which a range is shown (all but in training)."""

    documents: tuple[DocumentPieces, ...]
    borders: tuple[np.ndarray, ...]  # of segments, in pieces
    shown_W2: np.ndarray  # half-open range of segments
    genre_W: np.ndarray
    frame: Frame  # the special tokens around each segment
    max_width: int
    spans_per_piece: float
    max_spans: int
    max_segments: int | None = None  # shown of a document in one epoch; None: all
    with_mention_loss: bool = False
    keep_gold: bool = False

    def __len__(self) -> int:
        return len(self.documents)

    @property
    def lengths_W(self) -> np.ndarray:
        """Tokens of each document in a pack, special tokens included."""
        return np.array([sum(self.segment_lengths(row)) for row in range(len(self))], dtype=np.int64)

    @property
    def sequence_lengths(self) -> np.ndarray:
        """Tokens of all segments."""
        return np.array([n for row in range(len(self)) for n in self.segment_lengths(row)], dtype=np.int64)

    def segment_lengths(self, row: int) -> list[int]:
        first, last = self.shown_W2[row]
        return (np.diff(self.borders[row][first : last + 1]) + self.frame.num_specials).tolist()

    def at_epoch(self, epoch: int, seed: int) -> CoreferenceFeatures:
        """Documents of more than `max_segments` segments show as many of them in a row, others every epoch."""
        if self.max_segments is None:
            return self
        shown_W2 = self.shown_W2.copy()
        for row, borders in enumerate(self.borders):
            spare = len(borders) - 1 - self.max_segments
            first = derive_key(seed, "segments", epoch, row) % (spare + 1) if spare > 0 else 0
            shown_W2[row] = first, min(first + self.max_segments, len(borders) - 1)
        return dataclasses.replace(self, shown_W2=shown_W2)

    def range_of(self, row: int) -> tuple[int, int]:
        """The pieces of a document that are shown."""
        first, last = self.shown_W2[row]
        return int(self.borders[row][first]), int(self.borders[row][last])

    def segment_ids(self, row: int) -> list[np.ndarray]:
        """Token ids of the shown segments, special tokens around each."""
        first, last = self.shown_W2[row]
        borders, ids = self.borders[row], self.documents[row].ids_T
        return [self.frame.wrap(ids[borders[k] : borders[k + 1]])[0] for k in range(first, last)]

    def tensors(self, row: int) -> DocumentTensors:
        """Return what the head needs of the pieces that are shown."""
        begin, end = self.range_of(row)
        document, first = self.documents[row], int(self.shown_W2[row, 0])
        start_N, end_N = candidate_spans(
            document.starts_word_T[begin:end], document.sentence_T[begin:end], self.max_width
        )
        segment_T = np.searchsorted(self.borders[row], np.arange(begin, end), side="right") - 1 - first
        return DocumentTensors(
            start_N=start_N,
            end_N=end_N,
            speaker_T=torch.from_numpy(document.speaker_T[begin:end].astype(np.int64)),
            segment_T=torch.from_numpy(segment_T.astype(np.int64)),
            genre=int(self.genre_W[row]),
            always_N=self._gold_candidates(row, start_N, end_N) if self.keep_gold else None,
            num_spans=min(self.max_spans, max(1, int(self.spans_per_piece * (end - begin)))),
        )

    def _gold_candidates(self, row: int, start_N: np.ndarray, end_N: np.ndarray) -> np.ndarray:
        """Which candidates are gold mentions, [N] bool."""
        gold_M3 = self.gold(row)
        base = int(end_N.max(initial=0)) + 1
        return np.isin(start_N * base + end_N, gold_M3[:, 0] * base + gold_M3[:, 1])

    def gold(self, row: int) -> np.ndarray:
        """Gold mentions that lie in the pieces shown, [M, 3]: first piece, last piece plus one, cluster."""
        begin, end = self.range_of(row)
        gold_M3 = self.documents[row].gold_M3
        inside = gold_M3[(gold_M3[:, 0] >= begin) & (gold_M3[:, 1] <= end)]
        return inside - np.array([begin, begin, 0])

    def assemble(self, rows: Sequence[int] | np.ndarray) -> Batch:
        """The shown segments of the documents `rows` end to end."""
        pieces: list[np.ndarray] = []
        lengths: list[int] = []
        places: list[Tensor] = []
        place = 0
        for row in rows:
            segments = self.segment_ids(int(row))
            pieces += segments
            here = [len(segment) for segment in segments]
            starts = place + np.cumsum([0, *here[:-1]])
            skip, specials = len(self.frame.before), self.frame.num_specials
            within = [np.arange(n - specials) + start + skip for n, start in zip(here, starts, strict=True)]
            places.append(torch.from_numpy(np.concatenate([*within, np.zeros(0, np.int64)]).astype(np.int64)))
            lengths += here
            place += sum(here)
        documents = tuple(self.tensors(int(row)) for row in rows)
        ids = np.concatenate([*pieces, np.zeros(0, np.int64)]).astype(np.int64)
        count = sum(min(document.num_spans, len(document.start_N)) for document in documents)
        return Batch(
            input_ids=torch.from_numpy(ids),
            token_type_ids=torch.zeros(len(ids), dtype=torch.int64),
            sequences=Sequences.from_lengths(lengths),
            targets={
                TARGET: CoreferenceTargets(
                    rows=tuple(places),
                    documents=documents,
                    gold=tuple(torch.from_numpy(self.gold(int(row))) for row in rows),
                )
            },
            counts={TARGET: count} | ({MENTIONS: count} if self.with_mention_loss else {}),
            ids=tuple(int(row) for row in rows),
            sequence_ids=tuple(number for row in rows for number in self._numbers_of(int(row))),
        )

    def _numbers_of(self, row: int) -> range:
        """A number of each shown segment that no other segment of any document has."""
        first, last = self.shown_W2[row]
        return range(row * self._most_segments + int(first), row * self._most_segments + int(last))

    @functools.cached_property
    def _most_segments(self) -> int:
        """The segments of the document that has most of them, shown or not."""
        return max(len(borders) - 1 for borders in self.borders)


def cut_segments(documents: Sequence[DocumentPieces], capacity: int) -> tuple[tuple[np.ndarray, ...], np.ndarray]:
    """Borders of the segments of all documents, and all of them shown."""
    borders = tuple(segment_borders(document, capacity) for document in documents)
    shown = [(0, len(found) - 1) for found in borders]
    return borders, np.array(shown, dtype=np.int64).reshape(-1, 2)


MAX_PACK_TOKENS = 2048  # a long document's states lie in memory meanwhile, so its packs are kept small


def document_states(
    encode: Callable[[Batch], Tensor], features: CoreferenceFeatures, packing: Packing
) -> Iterator[list[Tensor]]:
    """For every document a list of one tensor: its pieces' hidden states, float32 [T, D], special tokens left out.

    The list is handed over: who pops the tensor out of it has the only reference. Segments are encoded in order, many
    documents' together; at most one document is under way beside the pack.
    """
    budget = min(packing.tokens, MAX_PACK_TOKENS)
    longest = max((end - begin for begin, end in map(features.range_of, range(len(features)))), default=0)
    if not packing.is_fixed and longest > LONG:
        budget = min(budget, MAX_PACK_TOKENS // 2)  # its own states weigh as much as a pack
    packing = dataclasses.replace(packing, tokens=budget)
    ready: dict[int, list[Tensor]] = {}
    written: dict[int, int] = {}
    next_row = 0
    for pack in _packs(features, packing.capacity):
        batch = packing.filled(_batch([ids for _, ids in pack]))
        hidden_TD = encode(batch)
        place = 0
        for row, ids in pack:
            if row not in ready:
                begin, end = features.range_of(row)
                ready[row] = [torch.empty((end - begin, hidden_TD.shape[1]), device=hidden_TD.device)]
                written[row] = 0
            states, at = ready[row][0], written[row]
            begin, num_pieces = place + len(features.frame.before), len(ids) - features.frame.num_specials
            states[at : at + num_pieces] = hidden_TD[begin : begin + num_pieces]
            written[row] = at + num_pieces
            place += len(ids)
        del hidden_TD, states
        if len(ready) == 1 and len(next(iter(ready.values()))[0]) > MAX_PACK_TOKENS:
            return_freed_memory()  # a long document is under way: let its packs leave nothing behind
        while next_row < len(features):
            begin, end = features.range_of(next_row)
            if written.get(next_row, 0) < end - begin:
                break
            yield ready.pop(next_row, [torch.empty((0, 0))])
            next_row += 1
    for _ in range(next_row, len(features)):  # without pieces, behind the last that has any
        yield [torch.empty((0, 0))]


def _packs(features: CoreferenceFeatures, budget: int) -> Iterator[list[tuple[int, np.ndarray]]]:
    """(document, token ids) of segments in order, about `budget` tokens together."""
    pack: list[tuple[int, np.ndarray]] = []
    size = 0
    for row in range(len(features)):
        for ids in features.segment_ids(row):
            if pack and size + len(ids) > budget:
                yield pack
                pack, size = [], 0
            pack.append((row, ids))
            size += len(ids)
    if pack:
        yield pack


def _batch(segments: list[np.ndarray]) -> Batch:
    ids = torch.from_numpy(np.concatenate(segments).astype(np.int64))
    return Batch(
        input_ids=ids,
        token_type_ids=torch.zeros_like(ids),
        sequences=Sequences.from_lengths([len(segment) for segment in segments]),
    )
