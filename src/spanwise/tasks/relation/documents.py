"""Files whose rows hold many examples: documents with the mentions and relations of each sentence (SciERC as it is
published, and what DyGIE and PURE read), and instances listed by relation (FewRel).

Of a document every ordered pair of different mentions of one sentence is an example: a relation, or `no_relation`. So
the scores are those of relation extraction from given mentions. Words are numbered through the document, the last one
of a mention included.

Source: Luan et al. 2018 (SciERC), section 3; Zhong and Chen 2021 (PURE), section 3.1; Han et al. 2018 (FewRel).
Differs: FewRel is read as relations to tell apart, not as episodes of few examples; a relation without direction
(CONJUNCTION, COMPARE) counts in the direction in which it is annotated.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from spanwise.errors import DataError
from spanwise.tasks.files.tables import Row
from spanwise.tasks.files.text import Purpose
from spanwise.tasks.relation.pairs import Pair, checked_pair, text_of_words
from spanwise.tasks.relation.score import NEGATIVE


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence of a document as it stands in the file; `first` is the number of its first word."""

    document: str
    words: list[object]
    first: int
    mentions: Any
    relations: Any
    where: str


def sentences_of(row: Row, number: int) -> Iterator[Sentence]:
    """The sentences of a document. Raises: DataError where its lists are not of one length."""
    values = row.values
    lists = {name: values.get(name) for name in ("sentences", "ner", "relations")}
    sentences = lists["sentences"]
    if not isinstance(sentences, list) or not all(isinstance(words, list) and words for words in sentences):
        raise DataError(f"{row.where}: 'sentences' is no list of lists of words.")
    for name, entries in lists.items():
        if entries is not None and (not isinstance(entries, list) or len(entries) != len(sentences)):
            raise DataError(f"{row.where}: {name!r} needs one list for each of the {len(sentences)} sentences.")
    first = 0
    for place, words in enumerate(sentences):
        mentions, relations = ((lists[name] or [[]] * len(sentences))[place] for name in ("ner", "relations"))
        where = f"{row.where}, sentence {place + 1}"
        yield Sentence(str(values.get("doc_key", number)), words, first, mentions, relations, where)
        first += len(words)


def pairs_of_sentence(sentence: Sentence, purpose: Purpose) -> list[Pair]:
    """Every ordered pair of different mentions. Of two relations of one pair the first is taken.

    Raises: DataError for a mention outside its sentence, or an entry of another form.
    """
    found = text_of_words(sentence.words, f"{sentence.where}: its entry")
    types: dict[tuple[int, int], str] = {}
    for entry in _entries(sentence.mentions, "ner", 2, sentence.where):
        types.setdefault(_span(entry[0], entry[1], sentence), entry[2])
    labels: dict[tuple[tuple[int, int], tuple[int, int]], str] = {}
    for entry in _entries(sentence.relations, "relations", 4, sentence.where):
        subject, object = _span(entry[0], entry[1], sentence), _span(entry[2], entry[3], sentence)
        types.setdefault(subject, "")
        types.setdefault(object, "")
        labels.setdefault((subject, object), entry[4])
    pairs = []
    for subject in sorted(types):
        for object in sorted(types):
            if subject == object:
                continue
            spans = [(first - sentence.first, last - sentence.first) for first, last in (subject, object)]
            mentions = [found.mention(*span, types[name]) for span, name in zip(spans, (subject, object), strict=True)]
            id = f"{sentence.document}:{subject[0]}-{subject[1]}:{object[0]}-{object[1]}"
            label = "" if purpose == "predict" else labels.get((subject, object), NEGATIVE)
            pairs.append(checked_pair(id, found.text, mentions[0], mentions[1], label, sentence.where))
    return pairs


def _entries(entries: Any, name: str, num_places: int, where: str) -> list[list[Any]]:
    """Lists of word numbers and a name behind them."""
    if not isinstance(entries, list):
        raise DataError(f"{where}: {name!r} is no list.")
    for entry in entries:
        is_right = isinstance(entry, list) and len(entry) > num_places and isinstance(entry[num_places], str)
        if not is_right or not all(type(place) is int for place in entry[:num_places]) or not entry[num_places]:
            raise DataError(
                f"{where}: {name!r} holds {str(entry)[:60]}; {num_places} numbers of words and a name were expected."
            )
    return entries


def _span(first: int, last: int, sentence: Sentence) -> tuple[int, int]:
    end = sentence.first + len(sentence.words)
    if not sentence.first <= first <= last < end:
        raise DataError(
            f"{sentence.where}: words {first} to {last} are not in the sentence, whose words are {sentence.first} to "
            f"{end - 1} of the document (the last of a mention is included)."
        )
    return first, last


def is_listed_by_relation(values: Mapping[str, object]) -> bool:
    """Return whether an object is FewRel's: lists of instances under the names of their relations."""
    firsts = [entries[0] for entries in values.values() if isinstance(entries, list) and entries]
    has_shape = all(isinstance(first, Mapping) and {"tokens", "h", "t"} <= set(first) for first in firsts)
    return len(firsts) == len(values) > 0 and has_shape


def instances_of(row: Row) -> Iterator[tuple[str, int, Any, str]]:
    """Relation, number, instance and place of all instances of FewRel. Raises: DataError where one has no list."""
    for relation, entries in row.values.items():
        if not isinstance(entries, list):
            raise DataError(f"{row.where}, {relation}: a list of instances was expected.")
        for number, entry in enumerate(entries):
            yield relation, number, entry, f"{row.where}, {relation}, entry {number + 1}"


def pair_of_instance(relation: str, number: int, entry: object, where: str, purpose: Purpose) -> Pair:
    """`{"tokens": [...], "h": [name, id, [[word numbers], ...]], "t": ...}`: a mention is where its name first stands.

    Raises: DataError for a mention that is missing or outside the words.
    """
    values = entry if isinstance(entry, Mapping) else {}
    found = text_of_words(values.get("tokens"), f"{where}: 'tokens'")
    mentions = []
    for name in ("h", "t"):
        held = values.get(name)
        places = held[2] if isinstance(held, list) and len(held) > 2 else None
        words = places[0] if isinstance(places, list) and places else None
        if not isinstance(words, list) or not words or not all(type(word) is int for word in words):
            raise DataError(f"{where}: {name!r} needs a name, an id and lists of word numbers, got {str(held)[:60]}.")
        if min(words) < 0 or max(words) >= len(found.words):
            raise DataError(f"{where}: {name!r} names words {min(words)} to {max(words)} of {len(found.words)}.")
        mentions.append(found.mention(min(words), max(words)))
    label = "" if purpose == "predict" else relation
    return checked_pair(f"{relation}:{number}", found.text, mentions[0], mentions[1], label, where)
