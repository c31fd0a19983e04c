"""Pairs of mentions as sequences that always show both of them.

A sequence that is too long loses the words farthest from both mentions first, in front, behind and between them; only
where the mentions and their marks alone are too long do the mentions lose their last words.

Letters: n tokens of a sequence without its frame.
Differs: the released code of SpanBERT cuts at the right, object and all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from spanwise.errors import ConfigError, DataError
from spanwise.tasks.classification.features import LabelledRows
from spanwise.tasks.frames import frames_of
from spanwise.tasks.relation.markers import Item, Markers, lay_out, marker_ids
from spanwise.tasks.relation.pairs import RelationData
from spanwise.tasks.sequence_rows import RowWriter
from spanwise.text.tokenizers import Tokenizer


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
        parts = _parts(items, encoded, ids)
        tokens = np.concatenate(parts).astype(np.int64)
        overflow = len(tokens) - room
        if overflow > 0:
            if on_overflow == "error":
                raise DataError(
                    f"{pair.where}: {len(tokens) + frame.num_specials:,} tokens, and at most {max_length} fit; raise "
                    "task.max_length, or let words far from the mentions be dropped (task.on_overflow=truncate)."
                )
            kept = _kept(items, parts, room)
            if kept is None:
                raise ConfigError(
                    f"{pair.where}: task.max_length {max_length} leaves no room for two mentions and their marks."
                )
            tokens = tokens[kept]
        writer.add([frame.wrap(tokens)], num_dropped=max(0, overflow))
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


def _parts(items: Sequence[Item], encoded: Mapping[str, np.ndarray], ids: Mapping[str, int]) -> list[np.ndarray]:
    """The token ids of each item."""
    nothing = np.zeros(0, dtype=np.int32)
    return [
        np.array([ids[item.marker]]) if item.marker else encoded.get(text, nothing)
        for item, text in zip(items, _with_blanks(items), strict=True)
    ]


def _kept(items: Sequence[Item], parts: Sequence[np.ndarray], room: int) -> np.ndarray | None:
    """The numbers [room] of the tokens to keep: marks first, then mentions from their first word on, then other words
    by their distance from the nearest of both. None where there is no room for the marks and a token of each mention.
    """
    lengths = [len(part) for part in parts]
    is_mark = np.repeat([bool(item.marker) or item.is_sign for item in items], lengths)
    is_core = np.repeat([item.is_core for item in items], lengths)
    if int(is_mark.sum()) + 2 > room:
        return None
    places = np.arange(len(is_core))
    core = np.flatnonzero(is_core)
    distance = np.abs(places[:, None] - core[None, :]).min(axis=1) if len(core) else places
    run = np.cumsum(np.concatenate([[0], np.diff(is_core.astype(int) + 2 * is_mark.astype(int)) != 0]))
    first_of_run = np.searchsorted(run, run)
    rank = np.where(is_mark, 0, np.where(is_core, 1, 2))
    inner = np.where(rank == 1, places - first_of_run, distance)
    return np.sort(np.lexsort((places, inner, rank))[:room])
