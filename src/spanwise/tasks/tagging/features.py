"""Tagged sentences as model inputs, in windows where they are long, and the token at which each unit is read.

A word is read at its first piece. Files of characters are read at every piece: a label may end inside a word, as
Korean particles make them do, and where it ends inside a piece no model of these pieces can say it; that is counted.

Letters: W sentences, n tokens of one, U units in all, K tags.
Source: Devlin et al. 2019 (BERT), section 5.3; Park et al. 2021 (KLUE), section 4.3.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from spanwise.data.batch import Batch
from spanwise.errors import ConfigError, DataError
from spanwise.nn.losses.loss_sum import LossSum
from spanwise.tasks.frames import frames_of
from spanwise.tasks.sequence_rows import RowWriter, SequenceRows
from spanwise.tasks.tagging.sentences import Sentence, TaggedData
from spanwise.tasks.tagging.spans import Scheme, Span, spans_of, tags_of
from spanwise.tasks.windows import max_context_window, passage_windows, token_range
from spanwise.text.tokenizers import Tokenizer

TARGET = "tags"  # the name of the one target of this task


@dataclass(frozen=True)
class TagTargets:
    """Rows of the pack at which units are read, int64 [N], how many each example has, and the gold [N] or None."""

    rows: Tensor
    num_units: tuple[int, ...]
    gold: Tensor | None


def tag_loss(scores_TK: Tensor, targets: TagTargets) -> LossSum:
    """Cross-entropy of the N units; no unit is legal (sum 0)."""
    assert targets.gold is not None  # training reads labelled files alone
    scores_NK = scores_TK.float().index_select(0, targets.rows)
    with torch.no_grad():
        num_correct = (scores_NK.argmax(dim=1) == targets.gold).sum()
    return LossSum(
        sum=F.cross_entropy(scores_NK, targets.gold, reduction="sum"), num_correct=num_correct, is_log_likelihood=True
    )


@dataclass(frozen=True, kw_only=True)
class TaggedRows(SequenceRows):
    """Sentences as sequences. `places` [U]: the token of its sentence's sequences at which a unit is read;
    `unit_borders` [W+1]; `gold` [U] tag ids or None; `unit_spans`: characters [n, 2] of each sentence's units."""

    places: np.ndarray
    unit_borders: np.ndarray
    gold: np.ndarray | None
    unit_spans: tuple[np.ndarray, ...]
    num_unreached: int = 0  # gold spans with a border inside a piece

    def assemble(self, rows: np.ndarray) -> Batch:
        lengths_S = self.lengths_W[rows]
        starts_S = np.cumsum(lengths_S) - lengths_S
        ranges = [slice(self.unit_borders[row], self.unit_borders[row + 1]) for row in rows]
        places = [self.places[units] + start for units, start in zip(ranges, starts_S, strict=True)]
        gold = None if self.gold is None else np.concatenate([self.gold[units] for units in ranges])
        targets = TagTargets(
            rows=torch.from_numpy(np.concatenate(places)),
            num_units=tuple(len(part) for part in places),
            gold=None if gold is None else torch.from_numpy(gold),
        )
        return self.lay(rows, TARGET, targets, count=sum(targets.num_units))


@dataclass(frozen=True)
class _Read:
    """One sentence: its tokens, the token and the characters of each unit."""

    ids: np.ndarray  # [n]
    tokens: np.ndarray  # [units]
    spans: np.ndarray  # [units, 2]


def encode_sentences(
    data: TaggedData,
    tokenizer: Tokenizer,
    *,
    max_length: int,
    stride: int | None,
    num_token_types: int,
    labels: Sequence[str] = (),
    scheme: Scheme = "IOB2",
    on_overflow: str = "windows",
) -> TaggedRows:
    """All sentences in windows of at most `max_length` tokens that start `stride` apart (None: half a window).

    Every unit is read once, in the window that shows most around it. labels: the tags by id, where gold is wanted.
    Raises: ConfigError where `max_length` leaves no room; DataError for a sentence longer than a window under "error".
    """
    frame = frames_of(tokenizer)[0]
    room = max_length - frame.num_specials
    if room < 1:
        raise ConfigError(f"task.max_length {max_length} leaves no room for a text; use 8 or more.")
    by_words = data.level == "words"
    read = _by_words(data.sentences, tokenizer) if by_words else _by_pieces(data.sentences, tokenizer)
    number_of = {name: number for number, name in enumerate(labels)}
    writer = RowWriter(num_token_types)
    places, gold, num_unreached = [], [], 0
    for sentence, found in zip(data.sentences, read, strict=True):
        windows = passage_windows(len(found.ids), room, stride or max(1, room // 2))
        if len(windows) > 1 and on_overflow == "error":
            raise DataError(
                f"{sentence.where}: {len(found.ids) + frame.num_specials:,} tokens, and at most {max_length} fit; "
                "split the text, or let it be read in windows (task.on_overflow=windows)."
            )
        writer.add([frame.wrap(found.ids[first:last]) for first, last in windows])
        starts = np.cumsum([0, *(last - first + frame.num_specials for first, last in windows)])
        shown_in = max_context_window(windows, len(found.ids))[found.tokens]
        places.append(starts[shown_in] + len(frame.before) + found.tokens - windows[shown_in, 0])
        if labels:
            tags, lost = _gold(sentence, found, data, scheme)
            num_unreached += lost
            gold.append(np.array([number_of[tag] for tag in tags], dtype=np.int64))
    return TaggedRows(
        places=np.concatenate(places).astype(np.int64),
        unit_borders=np.concatenate([[0], np.cumsum([len(part) for part in places])]).astype(np.int64),
        gold=np.concatenate(gold) if labels else None,
        unit_spans=tuple(found.spans for found in read),
        num_unreached=num_unreached,
        **writer.arrays(),
    )


def _gold(sentence: Sentence, found: _Read, data: TaggedData, scheme: Scheme) -> tuple[Sequence[str], int]:
    """The tag of each unit, and how many spans have a border that no unit has."""
    if data.kind == "classes":
        return sentence.tags, 0
    if data.level == "words":
        return tags_of(spans_of(sentence.tags), len(found.tokens), scheme), 0
    kept: list[Span] = []
    lost = 0
    for span in sentence.spans():
        units = token_range(found.spans, span.first, span.last)
        if units is None or (kept and units[0] < kept[-1].last):
            lost += 1
            continue
        lost += (found.spans[units[0], 0], found.spans[units[1] - 1, 1]) != (span.first, span.last)
        kept.append(Span(*units, span.label))
    return tags_of(kept, len(found.tokens), scheme), lost


def _by_words(sentences: Sequence[Sentence], tokenizer: Tokenizer) -> list[_Read]:
    """Each word by itself, as it stands in running text; a word of which nothing is kept is unknown."""
    doubled, single = tokenizer.encode("a a").ids, tokenizer.encode("a").ids
    blank = "" if doubled.tolist() == [*single, *single] else " "  # byte-level BPE writes the blank into the word
    written = [
        [(blank if start == 0 or s.text[start - 1].isspace() else "") + s.text[start:end] for start, end in s.units]
        for s in sentences
    ]
    different = list(dict.fromkeys(word for words in written for word in words))
    unknown = np.array([max(tokenizer.unk_id, 0)])
    ids_of = {
        word: encoding.ids if len(encoding.ids) else unknown
        for word, encoding in zip(different, tokenizer.encode_batch(different), strict=True)
    }
    found = []
    for sentence, words in zip(sentences, written, strict=True):
        pieces = [ids_of[word] for word in words]
        ids = np.concatenate(pieces) if pieces else np.zeros(0, dtype=np.int32)
        tokens = np.cumsum([0, *map(len, pieces)])[:-1].astype(np.int64)
        found.append(_Read(ids, tokens, np.array(sentence.units, dtype=np.int64).reshape(-1, 2)))
    return found


def _by_pieces(sentences: Sequence[Sentence], tokenizer: Tokenizer) -> list[_Read]:
    """The text as a whole; each piece is a unit, without the blanks that some vocabularies write into pieces."""
    found = []
    for sentence, encoding in zip(sentences, tokenizer.encode_batch([s.text for s in sentences]), strict=True):
        spans = np.asarray(encoding.offsets, dtype=np.int64).reshape(-1, 2).copy()
        for row, (start, end) in enumerate(spans):
            part = sentence.text[start:end]
            if part.strip():
                spans[row] = start + len(part) - len(part.lstrip()), end - len(part) + len(part.rstrip())
        found.append(_Read(encoding.ids, np.arange(len(encoding.ids)), spans))
    return found
