"""Tagged sentences from any of the usual files, as texts with units and tags."""

import itertools
import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from spanwise.errors import ConfigError, DataError
from spanwise.runtime.suggest import did_you_mean
from spanwise.runtime.wording import counted
from spanwise.tasks.files.guess import text_looks_like
from spanwise.tasks.files.tables import Row, parsed, read_table
from spanwise.tasks.files.text import OnError, Purpose, plain_suffix, read_lines
from spanwise.tasks.tagging.columns import (
    COLUMN_ENDINGS,
    CONLLU,
    Block,
    blocks_of,
    conllu_words,
    find_columns,
    holds_characters,
    holds_text,
    is_conllu,
    without_language,
)
from spanwise.tasks.tagging.sentences import Kind, Level, Sentence, TaggedData, at_level, split_words
from spanwise.tasks.tagging.spans import OUTSIDE, Span, is_entity_tag, tags_of

logger = logging.getLogger(__name__)


def read_tagged(
    path: str | Path,
    *,
    purpose: Purpose,
    column: str | None = None,
    word_column: int | None = None,
    level: Level | None = None,
    kind: Kind | None = None,
    errors: OnError = "strict",
) -> TaggedData:
    """Read CoNLL columns, CoNLL-U, a file of characters, or JSON (lines); for prediction also a plain text.

    column: where the tags stand: a number from 0, or "upos", "xpos", "deprel" of CoNLL-U; None: the last column that
    holds entity tags, else the last (CoNLL-U: upos). JSON objects have `tokens` (or `words`) and `tags`, or `text` and
    `spans` of `start`, `end`, `label`. level, kind: None: as found; entities are brought to a level that is given.
    Files read for prediction may lack tags; lines of text that are no columns are a text each there.
    With `errors="repair"` malformed sentences are left out and counted.

    Raises: DataError naming file and line; also for classes of characters that a model is to be trained on.
    """
    if plain_suffix(path) in (".json", ".jsonl", ".ndjson"):
        found = _from_objects(path, purpose, errors)
    else:
        lines = read_lines(path)
        if text_looks_like("\n".join(lines[:300])) not in (None, "tagging"):
            raise DataError(f"{path}: this is no file of tags, which has one token per line.")
        is_told = plain_suffix(path) in COLUMN_ENDINGS or column is not None or word_column is not None
        if purpose == "predict" and not is_told and holds_text(lines):
            found = _texts(lines, str(path))
        else:
            found = _from_columns(lines, str(path), purpose, column, word_column, level, errors)
    if not found.sentences:
        raise DataError(f"{path}: no sentence in it.")
    if purpose == "predict":
        found = replace(found, sentences=tuple(replace(sentence, tags=()) for sentence in found.sentences))
    else:
        found = _of_one_kind(found, kind, errors)
    found = replace(found, kind=kind or found.kind)
    if (found.kind, found.level, purpose) == ("classes", "characters", "train"):
        raise DataError(
            f"{path} tells the class of each character, and models are taught classes of words: the pieces that they "
            "read hold several characters. Tag words, one a line, or spans of characters (tags B-TYPE, I-TYPE and O); "
            "leave out task.kind=classes and task.level=characters, where they were given."
        )
    if level in (None, found.level):
        return found
    if found.kind == "classes" and purpose != "predict":
        raise DataError(f"{path} tells the class of {found.level}, and {level} are wanted; leave task.level out.")
    kept, num_cut = parsed(found.sentences, lambda sentence: at_level(sentence, level), errors)
    return replace(found, sentences=tuple(kept), level=level, num_dropped=found.num_dropped + num_cut)


def _texts(lines: Sequence[str], source: str) -> TaggedData:
    numbered = [(line.strip(), f"{source}, line {number}") for number, line in enumerate(lines, 1)]
    found = [Sentence(text, tuple(split_words(text)), (), where) for text, where in numbered if text]
    logger.info("%s is read as plain text: %s, one per line.", source, counted(len(found), "text"))
    return TaggedData(source=source, sentences=tuple(found), level="words", kind="entities")


def _from_columns(
    lines: Sequence[str],
    source: str,
    purpose: Purpose,
    column: str | None,
    word_column: int | None,
    level: Level | None,
    errors: OnError,
) -> TaggedData:
    tabs = any("\t" in line for line in lines if not line.startswith("#"))
    blocks, width = blocks_of(lines, tabs=tabs)
    if not blocks:
        raise DataError(f"{source}: no sentence in it.")
    if purpose != "predict" and width < 2:
        raise DataError(f"{_where(source, blocks[0])}: one column; a word and its tag were expected.")
    found_level: Level = "characters" if holds_characters(blocks, is_told=level == "characters") else "words"
    num_dropped = 0
    if width == 1:
        sentences = [_units([line.cells[0] for line in b], (), found_level, _where(source, b)) for b in blocks]
    elif is_conllu(blocks, width):
        found_level = "words"
        sentences, num_dropped = _conllu(blocks, column, source, errors)
    else:
        sentences, num_dropped = _columns(blocks, width, column, word_column, found_level, source, errors)
    return TaggedData(
        source=source,
        sentences=tuple(sentences),
        level=found_level,
        kind=_kind_of(sentences),
        num_dropped=num_dropped,
    )


def _kind_of(sentences: Sequence[Sentence]) -> Kind:
    """Entities where every tag is "O" or has the form B-TYPE."""
    tags = {tag for sentence in sentences for tag in sentence.tags}
    return "entities" if all(map(is_entity_tag, tags)) else "classes"


def _of_one_kind(data: TaggedData, wanted: Kind | None, errors: OnError) -> TaggedData:
    """Raises: DataError for a tag that is none of an entity, where entities are wanted or most tags are theirs."""
    tags = [tag for sentence in data.sentences for tag in sentence.tags]
    num_entity = sum(map(is_entity_tag, tags))
    are_most = 2 * num_entity > len(tags) and any(tag != OUTSIDE and is_entity_tag(tag) for tag in tags)
    if num_entity == len(tags) or wanted == "classes" or (wanted is None and not are_most):
        return data
    others = f"as {num_entity:,} of {len(tags):,} tags are; mend it" if are_most else "as the model tells them"
    cure = "read all tags as word classes with task.kind=classes" if wanted is None else "name another task.column"

    def checked(sentence: Sentence) -> Sentence:
        for place, tag in enumerate(sentence.tags):
            if not is_entity_tag(tag):
                start, end = sentence.units[place]
                raise DataError(
                    f"{sentence.where}, word {place + 1} ({sentence.text[start:end]!r}): {tag!r} is no tag of an "
                    f"entity (B-TYPE, I-TYPE, O), {others}, or {cure}."
                )
        return sentence

    kept, num_cut = parsed(data.sentences, checked, errors)
    return replace(data, sentences=tuple(kept), kind="entities", num_dropped=data.num_dropped + num_cut)


def _columns(
    blocks: Sequence[Block],
    width: int,
    column: str | None,
    word_column: int | None,
    level: Level,
    source: str,
    errors: OnError,
) -> tuple[list[Sentence], int]:
    word, tag = find_columns(blocks, width)
    word = word_column if word_column is not None else word
    if column is not None:
        if not column.isdigit():
            raise ConfigError(
                f"task.column {column!r} is a name of CoNLL-U, which {source} is not; give a number from 0."
            )
        tag = int(column)

    def checked(block: Block) -> Block:
        for line in block:
            if len(line.cells) <= max(word, tag) or not line.cells[tag].strip():
                raise DataError(
                    f"{source}, line {line.number}: {len(line.cells)} columns ({' | '.join(line.cells)[:60]}); the tag "
                    f"was expected in column {tag}, counted from 0."
                )
            if not line.cells[word]:
                raise DataError(f"{source}, line {line.number}: the word in column {word}, counted from 0, is empty.")
        return block

    kept, num_dropped = parsed(blocks, checked, errors)
    words = without_language([[line.cells[word] for line in block] for block in kept])
    num_texts = sum(" " in unit.strip() for units in words for unit in units)
    if num_texts > sum(map(len, words)) / 2:
        raise DataError(
            f"{source}: column {word}, counted from 0, holds texts of several words; a file of tags has one word a "
            "line."
        )
    tags = [tuple(line.cells[tag].strip() for line in block) for block in kept]
    sentences = [
        _units(units, found, level, _where(source, block))
        for units, found, block in zip(words, tags, kept, strict=True)
    ]
    return sentences, num_dropped


def _where(source: str | Path, block: Block) -> str:
    return f"{source}, line {block[0].number}"


def _units(units: Sequence[str], tags: tuple[str, ...], level: Level, where: str) -> Sentence:
    """One sentence of words, or of characters, which need no blank between them."""
    if level == "characters":
        return Sentence("".join(units), tuple((n, n + 1) for n in range(len(units))), tags, where)
    return _sentence_of(units, tags, where)


def _conllu(blocks: Sequence[Block], column: str | None, source: str, errors: OnError) -> tuple[list[Sentence], int]:
    name = column or "upos"
    if not name.isdigit() and name not in CONLLU:
        raise ConfigError(f"CoNLL-U has no column {name!r}; it has {', '.join(CONLLU)}.{did_you_mean(name, CONLLU)}")
    place = int(name) if name.isdigit() else CONLLU[name]
    if not 0 < place < 10:
        raise ConfigError(f"CoNLL-U has no column {place} of tags; it has 1 to 9.")

    def sentence(block: Block) -> list[Sentence]:
        words, tags, blanks = conllu_words(block, place, source)
        return [_sentence_of(words, tuple(tags), _where(source, block), blanks)] if words else []

    found, num_dropped = parsed(blocks, sentence, errors)
    return [one for some in found for one in some], num_dropped


def _sentence_of(
    words: Sequence[str], tags: tuple[str, ...], where: str, blanks: Sequence[bool] | None = None
) -> Sentence:
    """Words as one text: a blank behind each, or where `blanks` says so."""
    units, end, pieces = [], 0, []
    for number, word in enumerate(words):
        if not word:
            raise DataError(f"{where}: word {number + 1} is empty.")
        units.append((end, end + len(word)))
        blank = " " if number + 1 < len(words) and (blanks is None or blanks[number]) else ""
        pieces.append(word + blank)
        end += len(word) + len(blank)
    return Sentence("".join(pieces), tuple(units), tags, where)


def _from_objects(path: str | Path, purpose: Purpose, errors: OnError) -> TaggedData:
    table = read_table(path, errors=errors)
    held = next((row.values for row in table.rows if {"text", "tokens", "words"} & set(row.values)), {})
    by_character = "text" in held
    sentences, num_dropped = parsed(table.rows, lambda row: _from_object(row, purpose, by_character), errors)
    return TaggedData(
        source=table.source,
        sentences=tuple(sentences),
        level="characters" if by_character else "words",
        kind="entities" if by_character else _kind_of(sentences),
        num_dropped=num_dropped,
    )


def _from_object(row: Row, purpose: Purpose, by_character: bool) -> Sentence:
    values: Mapping[str, object] = row.values
    if by_character is not ("text" in values) and {"text", "tokens", "words"} & set(values):
        forms = ("'text' and 'spans'", "'tokens' and 'tags'")
        here, before = forms if "text" in values else forms[::-1]
        raise DataError(f"{row.where}: holds {here}, and rows before it hold {before}; make files of one form each.")
    if "text" in values:
        text = values["text"]
        if not isinstance(text, str) or not text.strip():
            raise DataError(f"{row.where}: 'text' is {text!r}; a text was expected.")
        units = tuple((n, n + 1) for n in range(len(text)))
        if purpose == "predict":
            return Sentence(text, units, (), row.where)
        return Sentence(text, units, tuple(tags_of(_checked_spans(values, text, row.where), len(text))), row.where)
    words = values.get("tokens", values.get("words"))
    if not isinstance(words, list) or not words or not all(isinstance(word, str) for word in words):
        raise DataError(f"{row.where}: expected 'text' and 'spans', or 'tokens' and 'tags' as lists of texts.")
    tags = next((values[name] for name in ("tags", "ner_tags", "labels") if name in values), None)
    if purpose == "predict" and tags is None:
        return _sentence_of(words, (), row.where)
    if not isinstance(tags, list) or len(tags) != len(words) or not all(isinstance(tag, str) for tag in tags):
        raise DataError(f"{row.where}: {len(words)} tokens need a list 'tags' of as many names, got {str(tags)[:60]}.")
    return _sentence_of(words, tuple(tags), row.where)


def span_values(values: Mapping[str, object], where: str) -> list[tuple[int, int, str]]:
    """Start, end and label of each span of an object. Raises: DataError for what is none."""
    listed = next((values[name] for name in ("spans", "entities") if name in values), None)
    if not isinstance(listed, list):
        raise DataError(f"{where}: a list 'spans' of objects with 'start', 'end' and 'label' is missing.")
    found = []
    for entry in listed:
        parts: list[Any] = []
        if isinstance(entry, Mapping):
            parts = [entry.get(name) for name in ("start", "end", "label")]
        if [type(value) for value in parts] != [int, int, str] or not parts[2].strip():
            raise DataError(f"{where}: a span needs 'start', 'end' and 'label', got {str(entry)[:60]}.")
        found.append((parts[0], parts[1], parts[2]))
    return found


def _checked_spans(values: Mapping[str, object], text: str, where: str) -> list[Span]:
    spans = []
    for start, end, label in span_values(values, where):
        if not 0 <= start < end <= len(text):
            raise DataError(f"{where}: the span {start}:{end} is empty or outside the text of {len(text)} characters.")
        spans.append(Span(start, end, label))
    spans.sort()
    for before, behind in itertools.pairwise(spans):
        if behind.first < before.last:
            raise DataError(
                f"{where}: the spans {before.first}:{before.last} ({before.label}) and {behind.first}:{behind.last} "
                f"({behind.label}) overlap; one tag per place can't tell both. Keep one of them."
            )
    return spans
