"""Pairs of mentions as sequences that always show both of them.

A sequence that is too long loses the words farthest from both mentions first, in front, behind and between them; only
where the mentions and their marks alone are too long do the mentions lose their last words.

Letters: n tokens of a sequence without its frame.
Source: FAMILY section 5.3 and trap 7C-9 (the released code cut at the right, object and all).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from spanwise.errors import ConfigError, DataError
from spanwise.tasks.classification.features import LabelledRows
from spanwise.tasks.frames import frames_of
from spanwise.tasks.relation.markers import Item, Markers, lay_out, marker_ids
from spanwise.tasks.relation.reader import RelationData
from spanwise.tasks.sequence_rows import RowWriter
from spanwise.text.tokenizers import Tokenizer


@dataclass(frozen=True)
class _Tokens:
    """A sequence before it is cut: ids [n], which of them are marks, and which are core (marks and mentions)."""

    ids: np.ndarray
    is_mark: np.ndarray
    is_core: np.ndarray


def encode_pairs(
    data: RelationData,
    tokenizer: Tokenizer,
    *,
    markers: Markers,
    names: Sequence[str],
    max_length: int,
    num_token_types: int,
    on_overflow: str = "truncate",
    gold: np.ndarray | None = None,
) -> LabelledRows:
    """All examples as sequences of at most `max_length` tokens.

    Raises: ConfigError where the vocabulary has too few free pieces, or no separator that the way of marking needs;
    DataError for an example that is too long under "error", or whose marks alone are.
    """
    ids = marker_ids(names, tokenizer)
    if markers in ("text_ner", "ner_text"):
        if tokenizer.sep_id < 0:
            raise ConfigError(f"task.markers={markers} parts its sequence, and this tokenizer has no separator.")
        ids["[SEP]"] = tokenizer.sep_id
    frame = frames_of(tokenizer)[0]
    room = max_length - frame.num_specials
    laid = [lay_out(pair, markers, names) for pair in data.pairs]
    texts = list(dict.fromkeys(text for items in laid for text in _with_blanks(items) if text))
    encoded = {text: encoding.ids for text, encoding in zip(texts, tokenizer.encode_batch(texts), strict=True)}
    writer = RowWriter(num_token_types)
    for pair, items in zip(data.pairs, laid, strict=True):
        tokens = _tokens(items, encoded, ids)
        overflow = len(tokens.ids) - room
        if overflow > 0 and on_overflow == "error":
            raise DataError(
                f"{pair.where}: {len(tokens.ids) + frame.num_specials:,} tokens, and at most {max_length} fit; raise "
                "task.max_length, or let the words farthest from the mentions be dropped (task.on_overflow=truncate)."
            )
        if int(tokens.is_mark.sum()) + 2 > room:
            raise ConfigError(
                f"{pair.where}: task.max_length {max_length} leaves no room for two mentions and their marks."
            )
        kept = np.sort(_order_of_keeping(tokens)[:room])
        writer.add([frame.wrap(tokens.ids[kept])], num_dropped=max(0, overflow))
    return LabelledRows(gold=gold, **writer.arrays())


def _with_blanks(items: Sequence[Item]) -> list[str]:
    """The text of each item ("" of a marker). The blank before a part goes with it, not with the part before: so
    byte-level pieces are those of running text."""
    texts, carried = [], ""
    for item in items:
        if item.marker:
            texts.append("")
            continue
        text = carried + item.text
        bare = text.rstrip()
        texts.append(bare)
        carried = " " if len(bare) < len(text) else ""
    return texts


def _tokens(items: Sequence[Item], encoded: Mapping[str, np.ndarray], ids: Mapping[str, int]) -> _Tokens:
    parts, marks, core = [], [], []
    for item, text in zip(items, _with_blanks(items), strict=True):
        part = np.array([ids[item.marker]]) if item.marker else encoded.get(text, np.zeros(0, dtype=np.int32))
        parts.append(part)
        marks.append(np.full(len(part), bool(item.marker) or item.is_sign))
        core.append(np.full(len(part), item.is_core))
    return _Tokens(np.concatenate(parts).astype(np.int64), np.concatenate(marks), np.concatenate(core))


def _order_of_keeping(tokens: _Tokens) -> np.ndarray:
    """Token numbers [n], those to keep first in front: marks, then mentions from their first word on, then other words
    by their distance from the nearest core token."""
    places = np.arange(len(tokens.ids))
    core = np.flatnonzero(tokens.is_core)
    distance = np.abs(places[:, None] - core[None, :]).min(axis=1) if len(core) else places
    run = np.cumsum(np.concatenate([[0], np.diff(tokens.is_core.astype(int) + 2 * tokens.is_mark.astype(int)) != 0]))
    first_of_run = np.searchsorted(run, run)
    rank = np.where(tokens.is_mark, 0, np.where(tokens.is_core, 1, 2))
    inner = np.where(rank == 1, places - first_of_run, distance)
    return np.lexsort((places, inner, rank))
