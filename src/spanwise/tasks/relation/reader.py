"""Relations between two mentions, from the files of TACRED, SemEval-2010 Task 8, SciERC and ChemProt, KLUE-RE, FewRel,
and plain objects with character spans.

SciERC as it is published (and what DyGIE and PURE read) has documents with the mentions and relations of each sentence,
FewRel instances listed by relation. Of a document every ordered pair of different mentions of one sentence is an
example: a relation, or `no_relation`. So the scores are those of relation extraction from given mentions. Words are
numbered through the document, the last one of a mention included.

Source: Luan et al. 2018 (SciERC), section 3; Zhong and Chen 2021 (PURE), section 3.1; Han et al. 2018 (FewRel).
Differs: FewRel is read as relations to tell apart, not as episodes of few examples; a relation without direction
(CONJUNCTION, COMPARE) counts in the direction in which it is annotated.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spanwise.errors import DataError
from spanwise.tasks.files.tables import Row, Table, holds_json, parsed, read_table, text_of
from spanwise.tasks.files.text import OnError, Purpose, plain_suffix, read_lines
from spanwise.tasks.relation.pairs import Format, Mention, Pair, RelationData, checked_pair, label_of, text_of_words
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


_SEMEVAL = re.compile(r"(\d+)\t\"?(.*?)\"?\s*")
_MARKS = (re.compile(r"\[\[ (.+?) \]\]"), re.compile(r"<< (.+?) >>"))


def read_relations(path: str | Path, *, purpose: Purpose, errors: OnError = "strict") -> RelationData:
    """Read a file by its form; with `errors="repair"` malformed examples are left out and counted.

    Raises: DataError naming file and example: mentions that are missing, empty or outside their text, missing labels,
    ids that stand twice."""
    if plain_suffix(path) in (".txt", "") and not holds_json(path):
        lines = read_lines(path)
        places = [number for number, line in enumerate(lines) if _SEMEVAL.fullmatch(line)]
        found: Format = "semeval"
        pairs, num_dropped = parsed(places, lambda place: _semeval(lines, place, str(path), purpose), errors)
    else:
        table = read_table(path, errors=errors)
        found = _format_of(table.rows[0])
        pairs, num_dropped = _pairs_of(table, found, purpose, errors)
        num_dropped += table.num_dropped
    if not pairs:
        raise DataError(f"{path}: no example in it.")
    seen: set[str] = set()
    for pair in pairs:
        if pair.id in seen:
            raise DataError(f"{pair.where}: the id {pair.id!r} stands twice; every example needs its own.")
        seen.add(pair.id)
    return RelationData(source=str(path), pairs=tuple(pairs), format=found, num_dropped=num_dropped)


def _pairs_of(table: Table, form: Format, purpose: Purpose, errors: OnError) -> tuple[list[Pair], int]:
    """The examples of a table, and how many malformed ones (of documents: sentences) were left out."""
    rows = [(row.number, row) for row in table.rows]
    if form == "documents":
        split, num_documents = parsed(rows, lambda entry: list(sentences_of(entry[1], entry[0])), errors)
        sentences = [sentence for several in split for sentence in several]
        lists, num_sentences = parsed(sentences, lambda sentence: pairs_of_sentence(sentence, purpose), errors)
        return [pair for several in lists for pair in several], num_documents + num_sentences
    if form == "fewrel":
        instances = [instance for row in table.rows for instance in instances_of(row)]
        return parsed(instances, lambda instance: pair_of_instance(*instance, purpose), errors)
    reader = {"tacred": _tacred, "klue": _klue, "marked": _marked, "spans": _spans}[form]
    return parsed(rows, lambda entry: reader(entry[1], entry[0], purpose), errors)


def read_key(path: str | Path) -> RelationData | None:
    """The key, or the answers, of an official scorer: lines of id and relation (SemEval's), or of one relation each,
    which are numbered from 0 (TACRED's). None where the file holds something else, whatever its name ends in; a key
    has relations and no texts."""
    if holds_json(path):
        return None
    lines = [line.split("\t") for line in read_lines(path) if line.strip()]
    width = len(lines[0]) if lines else 0
    is_prose = any("<e1>" in cells[-1] or (width == 1 and " " in cells[0].strip()) for cells in lines)
    if width not in (1, 2) or is_prose or any(len(cells) != width for cells in lines):
        return None
    ids = [cells[0].strip() if width == 2 else str(number) for number, cells in enumerate(lines)]
    if len(set(ids)) < len(ids):
        raise DataError(f"{path}: an id stands on two lines; each example has one relation.")
    labels = [cells[-1].strip() for cells in lines]
    return _key(path, ids, labels, "semeval" if width == 2 else "tacred")


def read_sentences_key(path: str | Path) -> RelationData | None:
    """The ids and relations of a file in SemEval's form. Its sentences aren't looked at, so that a row whose mention
    is bad (the test set of KBP37 has one) counts in a score. None where there is another form, or something is wrong
    that `read_relations` names."""
    if plain_suffix(path) not in (".txt", ""):
        return None
    lines = [*read_lines(path), ""]
    found = [(match[1], place) for place, line in enumerate(lines) if (match := _SEMEVAL.fullmatch(line))]
    ids, labels = [id for id, _ in found], [lines[place + 1].strip() for _, place in found]
    return _key(path, ids, labels, "semeval") if ids and all(labels) and len(set(ids)) == len(ids) else None


def _key(path: str | Path, ids: Sequence[str], labels: Sequence[str], form: Format) -> RelationData:
    nowhere = Mention(0, 0)
    pairs = tuple(Pair(id, "", nowhere, nowhere, label, str(path)) for id, label in zip(ids, labels, strict=True))
    return RelationData(source=str(path), pairs=pairs, format=form)


def _format_of(row: Row) -> Format:
    names = row.values
    if "sentences" in names and ("ner" in names or "relations" in names):
        return "documents"
    if is_listed_by_relation(names):
        return "fewrel"
    if "token" in names or "tokens" in names:
        return "tacred"
    if "subject_entity" in names:
        return "klue"
    if "subject" in names and "object" in names:
        return "spans"
    if "text" in names:
        return "marked"
    raise DataError(
        f"{row.where}: its form is not known; it has {', '.join(names)}. Read are TACRED (token, subj_start, ...), "
        "KLUE-RE (subject_entity, ...), SciERC (documents of sentences, ner, relations, or text with [[ ]] and << >>), "
        "FewRel, or objects of text, subject, object, label."
    )


def _tacred(row: Row, number: int, purpose: Purpose) -> Pair:
    values = row.values
    found = text_of_words(values.get("token", values.get("tokens")), f"{row.where}: 'token'")
    mentions = []
    for name, kind in (("subject", "subj"), ("object", "obj")):
        first: Any = values.get(f"{kind}_start")
        last: Any = values.get(f"{kind}_end")
        if not (type(first) is int and type(last) is int and 0 <= first <= last < len(found.words)):
            raise DataError(
                f"{row.where}: the {name} is words {first} to {last} of {len(found.words)}; both count from 0, and the "
                "last is included."
            )
        mentions.append(found.mention(first, last, str(values.get(f"{kind}_type") or "")))
    label = label_of(values, ("relation", "label"), purpose, row.where)
    return checked_pair(str(values.get("id", number)), found.text, mentions[0], mentions[1], label, row.where)


def _klue(row: Row, number: int, purpose: Purpose) -> Pair:
    text = text_of(row, "sentence")
    mentions = []
    for name in ("subject_entity", "object_entity"):
        entry = row.values.get(name)
        values = entry if isinstance(entry, Mapping) else {}
        places: list[Any] = [values.get(key) for key in ("start_idx", "end_idx")]
        if [type(place) for place in places] != [int, int]:
            raise DataError(f"{row.where}: {name!r} needs 'start_idx' and 'end_idx', got {str(entry)[:60]}.")
        mentions.append(Mention(places[0], places[1] + 1, str(values.get("type") or "")))
    label = label_of(row.values, ("label",), purpose, row.where)
    return checked_pair(str(row.values.get("guid", number)), text, mentions[0], mentions[1], label, row.where)


def _spans(row: Row, number: int, purpose: Purpose) -> Pair:
    text = text_of(row, "text")
    mentions = [mention_of(row.values.get(name), f"{row.where}: {name!r}") for name in ("subject", "object")]
    label = label_of(row.values, ("label", "relation"), purpose, row.where)
    return checked_pair(str(row.values.get("id", number)), text, mentions[0], mentions[1], label, row.where)


def mention_of(value: object, where: str) -> Mention:
    """A mention from `{"start", "end", "type"}` or `[start, end]`. Raises: DataError."""
    places: list[Any]
    if isinstance(value, Mapping):
        places, kind = [value.get("start"), value.get("end")], value.get("type") or ""
    else:
        places, kind = (list(value) if isinstance(value, list | tuple) else []), ""
    if [type(place) for place in places] != [int, int] or not isinstance(kind, str):
        raise DataError(f"{where} needs 'start' and 'end' as numbers of characters, got {str(value)[:60]}.")
    return Mention(places[0], places[1], kind)


def _marked(row: Row, number: int, purpose: Purpose) -> Pair:
    """SciERC and ChemProt: `[[ subject ]]` and `<< object >>`, blanks included; the marks are taken out."""
    text = text_of(row, "text")
    found = [list(mark.finditer(text)) for mark in _MARKS]
    if [len(matches) for matches in found] != [1, 1]:
        counts = " and ".join(str(len(matches)) for matches in found)
        raise DataError(f"{row.where}: one [[ mention ]] and one << mention >> were expected, found {counts}.")
    (subject,), (object,) = found
    first, second = sorted((subject, object), key=lambda match: match.start())
    if second.start() < first.end():
        raise DataError(f"{row.where}: the marks [[ ]] and << >> lie in one another; give character spans instead.")
    places: dict[int, Mention] = {}
    plain, end = "", 0
    for match in (first, second):
        plain += text[end : match.start()]
        places[match.start()] = Mention(len(plain), len(plain) + len(match[1]))
        plain += match[1]
        end = match.end()
    plain += text[end:]
    label = label_of(row.values, ("label",), purpose, row.where)
    id = str(row.values.get("id", number))
    return checked_pair(id, plain, places[subject.start()], places[object.start()], label, row.where)


def _semeval(lines: Sequence[str], place: int, source: str, purpose: Purpose) -> Pair:
    """`8001 <TAB> "a sentence with <e1>marks</e1>"`, the relation below it, perhaps a comment."""
    match = _SEMEVAL.fullmatch(lines[place])
    assert match is not None
    where = f"{source}, line {place + 1}"
    below = lines[place + 1].strip() if place + 1 < len(lines) else ""
    if purpose != "predict" and not below:
        raise DataError(f"{where}: no relation stands on the line below the sentence.")
    text, mentions = match[2], []
    marks = re.compile(r"</?e([12])>")
    for digit in ("1", "2"):
        if [found[0] for found in marks.finditer(text) if found[1] == digit] != [f"<e{digit}>", f"</e{digit}>"]:
            raise DataError(f"{where}: one <e{digit}>mention</e{digit}> was expected.")
    plain = marks.sub("", text)
    for digit in ("1", "2"):
        start, end = (len(marks.sub("", text[: text.index(mark)])) for mark in (f"<e{digit}>", f"</e{digit}>"))
        mentions.append(Mention(start, end))
    return checked_pair(match[1], plain, mentions[0], mentions[1], below if purpose != "predict" else "", where)
