"""Relations between two mentions, from the files of TACRED, SemEval-2010 Task 8, SciERC and ChemProt, KLUE-RE, FewRel,
and plain objects with character spans.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from spanwise.errors import DataError
from spanwise.tasks.files.tables import Row, Table, parsed, read_table, text_of
from spanwise.tasks.files.text import OnError, Purpose, plain_suffix, read_lines
from spanwise.tasks.relation.documents import (
    instances_of,
    is_listed_by_relation,
    pair_of_instance,
    pairs_of_sentence,
    sentences_of,
)
from spanwise.tasks.relation.pairs import (
    Format,
    Mention,
    Pair,
    RelationData,
    checked_pair,
    label_of,
    text_of_words,
)

_SEMEVAL = re.compile(r"(\d+)\t\"?(.*?)\"?\s*")
_MARKS = (re.compile(r"\[\[ (.+?) \]\]"), re.compile(r"<< (.+?) >>"))


def read_relations(path: str | Path, *, purpose: Purpose, errors: OnError = "strict") -> RelationData:
    """Read a file by its form; with `errors="repair"` malformed examples are left out and counted.

    Raises: DataError naming file and example: mentions that are missing, empty or outside their text, missing labels,
    ids that stand twice."""
    if plain_suffix(path) in (".txt", ""):
        lines = read_lines(path)
        places = [number for number, line in enumerate(lines) if _SEMEVAL.fullmatch(line)]
        found: Format = "semeval"
        pairs, num_dropped = parsed(places, lambda place: _semeval(lines, place, str(path), purpose), errors)
    else:
        table = read_table(path, errors=errors)
        found = _format_of(table.rows[0])
        pairs, num_dropped = _pairs_of(table, found, purpose, errors)
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
    rows = list(enumerate(table.rows))
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
    """The key of an official scorer: lines of id and relation (SemEval's), or of one relation each, which are numbered
    from 0 (TACRED's). None where the file is none; it has relations and no texts."""
    if plain_suffix(path) not in (".txt", ".key", ""):
        return None
    lines = [line.split("\t") for line in read_lines(path) if line.strip()]
    width = len(lines[0]) if lines else 0
    if width not in (1, 2) or any(len(cells) != width or " " in cells[-1].strip() for cells in lines):
        return None
    ids = [cells[0].strip() if width == 2 else str(number) for number, cells in enumerate(lines)]
    if len(set(ids)) < len(ids):
        raise DataError(f"{path}: an id stands on two lines; each example has one relation.")
    nowhere = Mention(0, 0)
    pairs = tuple(
        Pair(id, "", nowhere, nowhere, cells[-1].strip(), str(path)) for id, cells in zip(ids, lines, strict=True)
    )
    return RelationData(source=str(path), pairs=pairs, format="semeval" if width == 2 else "tacred")


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
