"""Pieces of stored text and special tokens between them become a pack: the one loop that all formats share.

A sequence is [CLS] piece [SEP] piece ... [SEP], where a frame says which of the special tokens stand there.
Letters: P pieces, S sequences, T tokens of the pack, V vocabulary.
"""

from dataclasses import dataclass

import numpy as np

from spanwise.data.token_store import TokenStore
from spanwise.errors import ConfigError
from spanwise.pretraining.formats.base import BlockTable
from spanwise.pretraining.packs import Pack
from spanwise.runtime.compiled import njit


@dataclass(frozen=True, kw_only=True)
class Pieces:
    """P token ranges of a store; sequence s owns the pieces `firsts[s]` to `firsts[s + 1]`, one at least."""

    starts: np.ndarray  # [P] int64
    lengths: np.ndarray  # [P] int64; an empty piece is legal: two special tokens meet there
    firsts: np.ndarray  # [S+1] int64


@dataclass(frozen=True, kw_only=True)
class Frame:
    """The special tokens of a sequence. A piece and the separators after it have one token type."""

    opens: bool = True  # [CLS] before the first piece
    closes: bool = True  # [SEP] after the last
    num_between: int = 1  # [SEP] between two pieces: BERT one, RoBERTa two between the segments of a pair
    num_token_types: int = 1  # piece k has type min(k, num_token_types - 1)


def assemble(store: TokenStore, pieces: Pieces, rows: np.ndarray, frame: Frame, labels: np.ndarray | None) -> Pack:
    """Return the pack of the blocks `rows` [S]; `labels` [S] are their pair labels, where there are any.

    Raises: ConfigError where the tokenizer has no such special token.
    """
    vocabulary = store.vocabulary
    if frame.opens and vocabulary.cls_id < 0:
        raise ConfigError(_missing("[CLS] before the text", "cls_token"))
    has_separators = frame.closes or (frame.num_between and len(pieces.starts) >= len(pieces.firsts))
    if has_separators and vocabulary.sep_id < 0:
        raise ConfigError(_missing("[SEP] after or between texts", "sep_token"))
    num_sequences = len(pieces.firsts) - 1
    num_specials = num_sequences * (frame.opens + frame.closes)
    num_specials += (len(pieces.lengths) - num_sequences) * frame.num_between
    num_tokens = int(pieces.lengths.sum()) + num_specials
    input_ids, token_type_ids = np.zeros((2, num_tokens), dtype=np.int64)
    maskable, starts_word = np.zeros((2, num_tokens), dtype=np.bool_)
    borders = np.zeros(num_sequences + 1, dtype=np.int64)
    _join(
        np.ascontiguousarray(store.gather(pieces.starts, pieces.lengths), dtype=np.int64),
        pieces.lengths,
        pieces.firsts,
        frame.opens,
        frame.closes,
        frame.num_between,
        frame.num_token_types,
        vocabulary.cls_id,
        vocabulary.sep_id,
        vocabulary.unk_id,
        vocabulary.is_special,
        vocabulary.starts_word,
        vocabulary.ends_word,
        input_ids,
        token_type_ids,
        borders,
        maskable,
        starts_word,
    )
    return Pack(
        input_ids=input_ids,
        token_type_ids=token_type_ids,
        borders=borders,
        maskable=maskable,
        starts_word=starts_word,
        block_ids=rows,
        pair_labels=labels,
    )


def one_piece_each(starts: np.ndarray, lengths: np.ndarray) -> Pieces:
    """Return sequences of one piece: starts [S], lengths [S]."""
    return Pieces(starts=starts, lengths=lengths, firsts=np.arange(len(starts) + 1))


def pairs_as_pieces(table: BlockTable, rows: np.ndarray) -> Pieces:
    """Return the blocks `rows` [S] as two pieces each, or one where a block has no second range."""
    assert table.second_starts is not None and table.second_lengths is not None
    second_S = table.second_lengths[rows]
    has_second_S = second_S > 0
    firsts = np.zeros(len(rows) + 1, dtype=np.int64)
    np.cumsum(1 + has_second_S, out=firsts[1:])
    starts, lengths = np.empty(firsts[-1], dtype=np.int64), np.empty(firsts[-1], dtype=np.int64)
    starts[firsts[:-1]], lengths[firsts[:-1]] = table.starts[rows], table.lengths[rows]
    seconds = firsts[:-1][has_second_S] + 1
    starts[seconds], lengths[seconds] = table.second_starts[rows][has_second_S], second_S[has_second_S]
    return Pieces(starts=starts, lengths=lengths, firsts=firsts)


def cut_at_documents(
    store: TokenStore, starts: np.ndarray, lengths: np.ndarray, num_separators: np.ndarray, leads: np.ndarray
) -> Pieces:
    """Return ranges [S] of a store as pieces that no document border crosses.

    Sequence s has num_separators[s] of them and one piece more. Where `leads[s]`, the first separator stands before the
    text; one that is left over at the end stands behind it; such a separator has an empty piece beside it.
    """
    firsts = np.zeros(len(starts) + 1, dtype=np.int64)
    np.cumsum(num_separators + 1, out=firsts[1:])
    piece_starts, piece_lengths = _cut(
        starts, lengths, firsts, leads, store.sentence_offsets, np.ascontiguousarray(store.document_borders)
    )
    return Pieces(starts=piece_starts, lengths=piece_lengths, firsts=firsts)


def _missing(what: str, name: str) -> str:
    return (
        f"the format puts {what}, and this tokenizer has no such token. Give it one ({name}), or take "
        "a format without special tokens: ContiguousText."
    )


@njit
def _cut(starts_S, lengths_S, firsts, leads_S, sentence_offsets, document_borders):
    piece_starts = np.empty(firsts[-1], dtype=np.int64)
    piece_lengths = np.zeros(firsts[-1], dtype=np.int64)
    for s in range(len(starts_S)):
        start, end = starts_S[s], starts_S[s] + lengths_S[s]
        low, high = 0, len(document_borders)  # find the first border behind the start
        while low < high:
            middle = (low + high) // 2
            if sentence_offsets[document_borders[middle]] <= start:
                low = middle + 1
            else:
                high = middle
        p = firsts[s]
        piece_starts[p : firsts[s + 1]] = start
        if leads_S[s]:
            p += 1
        while low < len(document_borders) and sentence_offsets[document_borders[low]] < end:
            border = sentence_offsets[document_borders[low]]
            if border > start:  # borders may lie on one another where documents hold no token
                piece_starts[p] = start
                piece_lengths[p] = border - start
                p += 1
                start = border
            low += 1
        piece_starts[p] = start
        piece_lengths[p] = end - start
        piece_starts[p + 1 : firsts[s + 1]] = end
    return piece_starts, piece_lengths


@njit
def _join(
    text_ids, lengths_P, firsts, opens, closes, num_between, num_types, cls_id, sep_id, unk_id, is_special_V,
    starts_word_V, ends_word_V, input_ids, types, borders, maskable, starts_word,
):  # fmt: skip
    """Fill the last five arrays, which come as zeros; arrays that a compiled loop makes itself compile slowly."""
    source, place = 0, 0
    for s in range(len(firsts) - 1):
        if opens:
            input_ids[place] = cls_id
            place += 1
        for p in range(firsts[s], firsts[s + 1]):
            first, length = place, lengths_P[p]
            place += length
            text = text_ids[source : source + length]
            ids, may, starts = input_ids[first:place], maskable[first:place], starts_word[first:place]
            source += length
            inside, ended = False, False
            for i in range(length):
                token = text[i]
                # [UNK] stands for a word of the text; other specials can come from foreign stores alone
                unknown = token == unk_id
                hideable = unknown | (not is_special_V[token])
                ids[i] = token
                may[i] = hideable
                starts[i] = hideable & (unknown | starts_word_V[token] | ended | (not inside))
                inside, ended = hideable, ends_word_V[token]
            for _ in range(num_between if p + 1 < firsts[s + 1] else int(closes)):
                input_ids[place] = sep_id
                place += 1
            piece_type = min(p - firsts[s], num_types - 1)
            if piece_type:
                types[first:place] = piece_type
        borders[s + 1] = place
