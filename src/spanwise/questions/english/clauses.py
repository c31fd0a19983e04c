"""The clause of an English sentence that holds the answer: what stands around it is left out, as a reader would."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from spanwise.questions.english import words
from spanwise.questions.english.tokens import Token

MIN_TOKENS, MAX_TOKENS = 5, 24
_OPENING, _CLOSING = "([{", ")]}"
_BREAKS = {";", ":", "—", "–", "--", "-", "/", "*", "|", "="}
_UNFINISHED = words.PREPOSITIONS | words.DETERMINERS | words.CONJUNCTIONS | words.SUBORDINATORS | words.POSSESSIVES
_QUOTES = set('"“”„«»')


@dataclass(frozen=True, slots=True)
class Clause:
    """Tokens of a sentence; the answer is `tokens[first:end]`. `front`: an adverbial that stood before the subject."""

    tokens: tuple[Token, ...]
    first: int
    end: int
    front: tuple[Token, ...] = ()  # holds the answer where it is given, and `first` counts in it


def clause_of(tokens: Sequence[Token], start: int, end: int) -> Clause | None:
    """Return the clause around the characters `start` to `end`; None where no plain one is found."""
    kept = _without_brackets(tokens, start, end)
    kept = _between_breaks(kept, start) if kept else []
    while kept and (kept[-1].text in '.!?,…"”' or (kept[-1].text in _QUOTES)):
        kept = kept[:-1]
    if any(token.text in _QUOTES for token in kept) or any(t.text in "?!…_[]()" for t in kept):
        return None
    found = _main(_segments(kept, start, end), start, end)
    if found is None or not MIN_TOKENS <= len(found.tokens) <= MAX_TOKENS or not _is_whole(found):
        return None
    return found


def _is_whole(clause: Clause) -> bool:
    """Return whether a clause begins with a subject and ends with what its last words need."""
    first, last = clause.tokens[0], clause.tokens[-1]
    inside = range(clause.first, clause.end) if not clause.front else range(0)
    if 0 not in inside:
        behind = clause.tokens[1].lower
        is_gerund = first.lower.endswith("ing") and behind in _UNFINISHED
        if first.is_finite or is_gerund or first.lower in ("as", "if", "no", "that", "to"):
            return False
    if len(clause.tokens) - 1 not in inside and last.lower in _UNFINISHED:
        return False
    if any(token.lower in ("if", "unless") for token in clause.tokens):
        return False
    before = [token.lower for token in clause.tokens[max(0, clause.first - 2) : clause.first]]
    return clause.front != () or before[:1] != ["and"] or before[-1] not in words.PREPOSITIONS


def _holds(tokens: Sequence[Token], start: int, end: int) -> bool:
    return any(token.start < end and start < token.end for token in tokens)


def _without_brackets(tokens: Sequence[Token], start: int, end: int) -> list[Token]:
    kept: list[Token] = []
    depth = 0
    for token in tokens:
        if token.text in _OPENING:
            depth += 1
        elif token.text in _CLOSING:
            depth -= 1
            if depth < 0:
                return []
        elif depth == 0:
            kept.append(token)
        elif token.start < end and start < token.end:
            return []  # the answer stands in brackets
    return kept


def _between_breaks(tokens: list[Token], start: int) -> list[Token]:
    first, last = 0, len(tokens)
    for place, token in enumerate(tokens):
        if token.text in _BREAKS:
            if token.end <= start:
                first = place + 1
            else:
                last = place
                break
    return tokens[first:last]


def _segments(tokens: Sequence[Token], start: int, end: int) -> list[list[Token]]:
    """Return what stands between commas; a comma inside the answer, or before a year, parts nothing."""
    found: list[list[Token]] = [[]]
    for place, token in enumerate(tokens):
        inside = start <= token.start < end
        in_date = (
            place + 1 < len(tokens)
            and tokens[place - 1].text.isdigit()
            and len(tokens[place + 1].text) == 4
            and tokens[place + 1].text.isdigit()
        )
        if token.text == "," and not inside and not in_date:
            found.append([])
        else:
            found[-1].append(token)
    return [segment for segment in found if segment]


def _main(segments: list[list[Token]], start: int, end: int) -> Clause | None:
    place = next((k for k, segment in enumerate(segments) if _holds(segment, start, end)), None)
    if place is None:
        return None
    if place == 0 and len(segments) > 1 and not _has_verb(segments[0]) and segments[0][0].lower in words.PREPOSITIONS:
        rest = _plain(segments[1:])
        return None if rest is None else _front(segments[0], rest, start, end)
    while place > 0 and _is_opener(segments[0]):
        segments, place = segments[1:], place - 1
    if segments[place][0].lower in ("and", "but", "while", "whereas") and place > 0:
        rest = segments[place][1:]
        if not rest or not _has_verb(rest) or rest[0].is_finite:
            return None
        return _clause(rest, start, end)
    head = segments[0]
    while len(head) > 1 and head[0].lower in words.SUBORDINATORS | words.ADVERBS and head[0].start < start:
        head = head[1:]  # "when Palamedes reached the bottom" tells that he did
    if place == 0:
        if not _has_verb(head):
            verb = next((s for s in segments[1:3] if s[0].is_finite or s[0].lower in words.ADVERBS), None)
            if verb is None:
                return None
            head = head + verb
        return _clause(head, start, end)
    if not _has_verb(head):
        if not segments[place][0].is_finite:
            return None
        return _clause(head + segments[place], start, end)
    if segments[place][0].lower in words.PREPOSITIONS and not _has_verb(segments[place]):
        return _clause(head + segments[place], start, end)
    return None


def _plain(segments: list[list[Token]]) -> list[Token] | None:
    """Return the main clause that segments begin with, without an apposition to its subject."""
    if _has_verb(segments[0]):
        return segments[0]
    verb = next((s for s in segments[1:3] if s[0].is_finite), None)
    return None if verb is None else segments[0] + verb


def _is_opener(segment: Sequence[Token]) -> bool:
    word = segment[0].lower
    return word in words.OPENERS or word.endswith(("ly", "ing", "ed"))


def _has_verb(segment: Sequence[Token]) -> bool:
    return any(token.is_finite for token in segment)


def _clause(tokens: Sequence[Token], start: int, end: int) -> Clause | None:
    found = [place for place, token in enumerate(tokens) if start <= token.start and token.end <= end]
    if not found:
        return None
    return Clause(tuple(tokens), found[0], found[-1] + 1)


def _front(front: Sequence[Token], rest: Sequence[Token], start: int, end: int) -> Clause | None:
    found = _clause(front, start, end)
    return None if found is None else Clause(tuple(rest), found.first, found.end, tuple(front))
