"""How the two mentions are shown to the model: by their type in their place, by marks around them, or by both.

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

Source: Joshi et al. 2020 (SpanBERT), section 4.2, and the four modes of the released code; Zhou
and Chen 2022 for typed and punctuation markers.
Differs: markers are numbered by the sorted names of the training file, not in the order in which files are read.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from spanwise.errors import ConfigError
from spanwise.tasks.free_pieces import free_piece_ids
from spanwise.tasks.relation.pairs import Mention, Pair
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
        return [Item(f" {outer}{kind}", is_core=True, is_sign=True)], [Item(f" {outer}", is_core=True, is_sign=True)]
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
