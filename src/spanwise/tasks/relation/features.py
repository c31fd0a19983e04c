"""Pairs of mentions as sequences that always show both of them: by their type in their place, by marks, or by both.


| way | sequence |
|---|---|
| ner | [CLS] SUBJ=PERSON was born in OBJ=CITY [SEP] |
| text | [CLS] <SUBJ_START> Ada <SUBJ_END> was born in <OBJ_START> London <OBJ_END> [SEP] |
| text_ner | the text as in `text`, [SEP] SUBJ=PERSON [SEP] OBJ=CITY [SEP] |
| ner_text | the text as in `ner`, [SEP] Ada [SEP] London [SEP] |
| typed | [CLS] <SUBJ=PERSON> Ada </SUBJ=PERSON> was born in <OBJ=CITY> London </OBJ=CITY> [SEP] |
| punct | [CLS] @ * person * Ada @ was born in # ^ city ^ London # [SEP] |

A marker is one token: a free piece `[unusedN]` of the vocabulary, in the order of the names that the model was taught,
which travel with it. Fine-tuning adds pieces where a vocabulary has too few; `punct` needs none. Mentions that overlap:
marks nest, the longer one outside, of equal ones the subject; in `ner` each type stands where its mention begins and
all words of both are taken out.

A sequence that is too long loses the words farthest from both mentions first, in front, behind and between them; what
`text_ner` and `ner_text` put behind the text counts as no mention here. Only where the mentions and their marks alone
are too long do the mentions lose their last words.

Letters: n tokens of a sequence without its frame.
Source: Joshi et al. 2020 (SpanBERT), section 4.2, and the four modes of the released code; Zhou and Chen 2022 for
typed and punctuation markers.
Differs: the released code cuts at the right, object and all; here markers are numbered by the sorted names of the
training file, not in the order in which files are read.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from spanwise.errors import ConfigError, DataError
from spanwise.tasks.classification.features import LabelledRows
from spanwise.tasks.frames import frames_of
from spanwise.tasks.free_pieces import free_piece_ids
from spanwise.tasks.relation.pairs import Mention, Pair, RelationData
from spanwise.tasks.sequence_rows import RowWriter
from spanwise.text.tokenizers import Tokenizer

Markers = Literal["ner", "text", "text_ner", "ner_text", "typed", "punct"]
ANY = "*"  # the type of a mention whose own the training file does not have
_PLAIN = ("SUBJ_START", "SUBJ_END", "OBJ_START", "OBJ_END")


@dataclass(frozen=True, slots=True)
class Item:
    """A part of the sequence: text to encode, or a marker by name (`[SEP]` is the separator). `is_core`: never cut
    before text that is not. `is_sign`: text that marks a mention (`punct`), and is never cut, as no marker is."""

    text: str = ""
    marker: str = ""
    is_core: bool = False
    is_sign: bool = False


SEPARATOR = Item(marker="[SEP]", is_core=True)


def marker_names(way: Markers, pairs: Iterable[Pair]) -> tuple[str, ...]:
    """The markers that a training file needs, in the order in which they get their pieces."""
    if way == "punct":
        return ()
    names: list[str] = list(_PLAIN) if way in ("text", "text_ner") else []
    if way != "text":
        subjects, objects = {ANY}, {ANY}
        for pair in pairs:
            subjects.add(pair.subject.type or ANY)
            objects.add(pair.object.type or ANY)
        typed = [f"SUBJ={name}" for name in sorted(subjects)] + [f"OBJ={name}" for name in sorted(objects)]
        names += typed + ([f"/{name}" for name in typed] if way == "typed" else [])
    return tuple(names)


def marker_ids(names: Sequence[str], tokenizer: Tokenizer) -> dict[str, int]:
    """The id of each marker: the k-th name has the k-th piece `[unusedN]`, N from 1.

    Raises: ConfigError where the vocabulary has too few of them.
    """
    free = free_piece_ids(tokenizer)
    if len(free) < len(names):
        raise ConfigError(
            f"{len(names)} markers are needed, and this vocabulary has {len(free)} free pieces [unusedN]; it is not "
            "the one that the model was fine-tuned with."
        )
    return dict(zip(names, free, strict=False))


def lay_out(pair: Pair, way: Markers, names: Sequence[str]) -> list[Item]:
    """The sequence of one example, without the frame; `names` are those that the model was taught."""
    subject = _marks("SUBJ", pair.subject, way, names)
    object = _marks("OBJ", pair.object, way, names)
    if way in ("ner", "ner_text"):
        items = _replaced(pair, subject[0][0], object[0][0])
        if way == "ner_text":
            for mention in (pair.subject, pair.object):
                items += [SEPARATOR, Item(pair.text[mention.start : mention.end], is_core=True)]
        return items
    items = _surrounded(pair, subject, object)
    if way == "text_ner":
        for role, mention in (("SUBJ", pair.subject), ("OBJ", pair.object)):
            items += [SEPARATOR, Item(marker=_typed(role, mention, names), is_core=True)]
    return items


def _marks(role: str, mention: Mention, way: Markers, names: Sequence[str]) -> tuple[list[Item], list[Item]]:
    """Return what stands before and behind a mention."""
    if way == "punct":
        outer, inner = ("@", "*") if role == "SUBJ" else ("#", "^")
        kind = f" {inner} {mention.type.lower().replace('_', ' ')} {inner}" if mention.type else ""
        return [Item(f" {outer}{kind} ", is_core=True, is_sign=True)], [Item(f" {outer}", is_core=True, is_sign=True)]
    if way in ("text", "text_ner"):
        return [Item(marker=f"{role}_START", is_core=True)], [Item(marker=f"{role}_END", is_core=True)]
    typed = _typed(role, mention, names)
    return [Item(marker=typed, is_core=True)], [Item(marker=f"/{typed}", is_core=True)]


def _typed(role: str, mention: Mention, names: Sequence[str]) -> str:
    name = f"{role}={mention.type or ANY}"
    return name if name in names else f"{role}={ANY}"


def _replaced(pair: Pair, subject: Item, object: Item) -> list[Item]:
    mentions = [(pair.subject, subject), (pair.object, object)]
    borders = sorted({0, len(pair.text), *(place for m, _ in mentions for place in (m.start, m.end))})
    items: list[Item] = []
    for start, end in zip(borders, [*borders[1:], len(pair.text)], strict=True):
        items += [marker for mention, marker in mentions if mention.start == start]
        if end > start and not any(mention.start <= start < mention.end for mention, _ in mentions):
            items.append(Item(pair.text[start:end]))
    return items


def _surrounded(
    pair: Pair, subject: tuple[list[Item], list[Item]], object: tuple[list[Item], list[Item]]
) -> list[Item]:
    both = [(pair.subject, *subject), (pair.object, *object)]
    longest_first = sorted(both, key=lambda entry: entry[0].start - entry[0].end)  # stable: of equal ones the subject
    borders = sorted({0, len(pair.text), *(place for m, _, _ in both for place in (m.start, m.end))})
    items: list[Item] = []
    for start, end in zip(borders, [*borders[1:], len(pair.text)], strict=True):
        for mention, _, behind in reversed(longest_first):
            items += behind if mention.end == start else []
        for mention, before, _ in longest_first:
            items += before if mention.start == start else []
        if end > start:
            inside = any(mention.start <= start < mention.end for mention, _, _ in both)
            items.append(Item(pair.text[start:end], is_core=inside))
    return items


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
    byte-level pieces are those of running text. Signs bring blanks of their own, so that none stands there twice."""
    texts, carried = [], ""
    for item in items:
        if item.marker:
            texts.append("")
            continue
        text = item.text if item.is_sign else carried + item.text
        if not texts and item.is_sign:
            text = text.lstrip()
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
    is_behind = np.repeat(np.cumsum([item is SEPARATOR for item in items]) > 0, lengths)
    core = np.flatnonzero(is_core & ~is_behind)
    distance = np.abs(places[:, None] - core[None, :]).min(axis=1) if len(core) else places
    run = np.cumsum(np.concatenate([[0], np.diff(is_core.astype(int) + 2 * is_mark.astype(int)) != 0]))
    first_of_run = np.searchsorted(run, run)
    rank = np.where(is_mark, 0, np.where(is_core, 1, 2))
    inner = np.where(rank == 1, places - first_of_run, distance)
    return np.sort(np.lexsort((places, inner, rank))[:room])
