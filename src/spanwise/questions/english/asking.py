"""English questions from statements: the subject asked for in its place, everything else with its verb turned round.

"Darwin wrote it in 1859": "Who wrote it in 1859?", "When did Darwin write it?". What these rules do not reach with some
certainty is not asked; a cloze of the same clause is always possible.

Source: Heilman and Smith 2010 name the steps (answer phrase, subject-auxiliary inversion, wh-movement); here they work
on lists of words and endings instead of a parser's tree.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence

from spanwise.questions.english import words
from spanwise.questions.english.clauses import Clause, clause_of
from spanwise.questions.english.tokens import Token, tokens_of, written
from spanwise.questions.english.verbs import base_of, is_participle
from spanwise.questions.english.wanted import Wanted, wanted_of
from spanwise.questions.parts import BLANK, Kind, Span

MAX_SUBJECT = 8  # words
MIN_WORDS = 4  # of a question
_ISLANDS = words.SUBORDINATORS - {"that", "since", "until"}
_HARMLESS = {"who", "which", "what", "whom", "one", "other", "another", "others"}
_FRONTED = {"in", "on", "at", "during", "since", "until", "by", "from", "before", "after", "for", "with", "within"}


def ask(text: str, span: Span, ordinary: frozenset[str], *, cloze: bool) -> str | None:
    """Return a question of a sentence; None where no rule fits. `ordinary`: words that are written small elsewhere."""
    clause = clause_of(tokens_of(text), span.start, span.end)
    if clause is None or _points_elsewhere(clause):
        return None
    question = _cloze(clause) if cloze else _wh(clause, span, ordinary)
    if question is None or holds(question, span.text):
        return None
    return question


def holds(text: str, answer: str) -> bool:
    """Return whether an answer stands in a text as words of its own, whatever its case."""
    return re.search(rf"(?<!\w){re.escape(answer)}(?!\w)", text, re.IGNORECASE) is not None


def _points_elsewhere(clause: Clause) -> bool:
    """Return whether a clause has a pronoun that stands for something outside of it."""
    subject = clause.tokens[0]
    answered = not clause.front and clause.first == 0
    if not answered and (subject.lower in words.PRONOUNS | words.POSSESSIVES or subject.lower in ("such", "so")):
        return True
    tokens = [*clause.front, *clause.tokens]
    return any(token.lower in words.PRONOUNS - _HARMLESS for token in tokens)


def _cloze(clause: Clause) -> str:
    parts = clause.front or clause.tokens
    before, after = written(parts[: clause.first]), written(parts[clause.end :])
    glued = clause.end < len(parts) and parts[clause.end].start == parts[clause.end - 1].end
    shown = f"{before} {BLANK}{'' if glued else ' '}{after}".strip()
    if clause.front:
        shown = f"{shown}, {written(clause.tokens)}"
    return shown[0].upper() + shown[1:] + "."


def _wh(clause: Clause, span: Span, ordinary: frozenset[str]) -> str | None:
    if clause.front:
        found = wanted_of(clause.front[: clause.first], span, clause.front[clause.end :])
        if found is None or len(found.before) != 1 or found.after or span.kind == "person":
            return None
        if found.before[0].lower not in _FRONTED:
            return None
        return _turned(clause.tokens, (found.before[0],), (), found, span, ordinary)
    found = wanted_of(clause.tokens[: clause.first], span, clause.tokens[clause.end :])
    if found is None:
        return None
    if not found.before:
        return _subject(found, span)
    verb = _main_verb(found.before)
    if verb is None:
        return None
    return _turned(found.before[: verb + 1], found.before[verb + 1 :], found.after, found, span, ordinary)


def _subject(found: Wanted, span: Span) -> str | None:
    """Return the question for the subject: the sentence, with a question word for its beginning."""
    verb = next((k for k, token in enumerate(found.after) if token.lower not in words.ADVERBS), None)
    if verb is None or verb > 2 or not found.after[verb].is_finite or span.kind == "date":
        return None
    after = list(found.after)
    if is_participle(after[verb].text) and after[verb].text.endswith("ed"):
        if any(token.text in words.AUXILIARIES for token in after[verb + 1 : verb + 8]) or after[verb + 1 :][:1] == []:
            return None
        if after[verb + 1].text in ("by", "as"):
            return None  # a participle: the castle built by ...
    return _finished(found.phrase, [written(after)], words_left=len(after))


def _main_verb(before: Sequence[Token]) -> int | None:
    """Return the place of the finite verb of a clause that begins with its subject."""
    places = [place for place, token in enumerate(before) if token.is_finite]
    if not places or places[0] == 0:
        return None
    first = places[0]
    if before[first].text not in words.AUXILIARIES:  # the theory proposed by Darwin was ...
        later = [k for k in places if k > first and before[k].text in words.AUXILIARIES]
        links = {token.lower for token in before[first : later[0]]} if later else set()
        if later and not links & (words.SUBORDINATORS | {"and", "but", "or"}):
            first = later[0]
    return first


def _turned(
    head: Sequence[Token],
    middle: Sequence[Token],
    after: Sequence[Token],
    found: Wanted,
    span: Span,
    ordinary: frozenset[str],
) -> str | None:
    """Return the question for anything but the subject. `head`: subject and verb, or, where a preposition alone is
    `middle`, the whole clause behind an adverbial that held the answer."""
    is_front = len(middle) == 1 and middle[0].start < head[0].start
    if is_front:
        verb = _main_verb(head)
        if verb is None:
            return None
        tail, head = list(head[verb + 1 :]), head[: verb + 1]
        after, rest = _before_next_clause(tail), []
    else:
        rest = list(middle)
    subject, verb_token = list(head[:-1]), head[-1].text
    coordinated = _next_verb(rest)
    if coordinated is not None:
        verb_token, rest = rest[coordinated].text, rest[coordinated + 1 :]
    if not is_front:
        after = _before_next_clause(after)
    if not _is_subject(subject, span.kind) or _is_closed_to_asking(rest):
        return None
    following = [*rest, *after]
    turned = _auxiliary(verb_token, following)
    if turned is None:
        return None
    auxiliary, base = turned
    asked = _asked(middle if is_front else rest, found, span)
    if asked is None:
        return None
    phrase, dropped = asked
    kept = rest if is_front else rest[: len(rest) - dropped]
    shown = written(subject)
    if subject[0].lower in ordinary or subject[0].lower in words.DETERMINERS | words.QUANTIFIERS:
        shown = shown[0].lower() + shown[1:]
    parts = [auxiliary, shown, base, written(kept), written(after)]
    return _finished(phrase, parts, words_left=len(subject) + len(kept) + len(after))


def _is_closed_to_asking(rest: Sequence[Token]) -> bool:
    """Return whether no question word can be drawn out of words: a clause of its own, or a list that goes on."""
    if any(token.lower in _ISLANDS | {"that"} for token in rest):
        return True
    pairs = itertools.pairwise(rest)
    return any(first.text in ("and", "or", "but") and second.text in words.ADVERBS for first, second in pairs)


def _asked(before: Sequence[Token], found: Wanted, span: Span) -> tuple[str, int] | None:
    """Return the phrase in front of a question, and how many of the words before the answer went into it."""
    ends = before[-1].lower if before else ""
    if ends in words.PREPOSITIONS and any(token.text in ("and", "or", "but") for token in before[-3:-1]):
        return None
    if span.kind == "date":
        if ends in ("in", "on", "during", "at"):
            return ("when" if ends != "during" else f"during {found.phrase}"), 1
        return (f"{ends} {found.phrase}", 1) if ends in _FRONTED else None
    if span.kind == "place" and ends in ("in", "at", "on"):
        return ("where", 1) if found.phrase == "what place" else (f"{ends} {found.phrase}", 1)
    if ends in _FRONTED and not (span.kind == "person" or (found.is_plain and ends in ("by", "for", "with", "from"))):
        return f"{ends} {found.phrase}", 1
    if span.kind == "number" and ends in words.PREPOSITIONS:
        return (f"{ends} {found.phrase}", 1) if ends not in ("of", "than", "as", "between") else None
    if ends in ("as", "like", "than", "per", "between", "among") or ends in words.CONJUNCTIONS:
        return None
    return found.phrase, 0


def _is_subject(tokens: Sequence[Token], kind: Kind) -> bool:
    while tokens and tokens[-1].lower in words.ADVERBS:
        tokens = tokens[:-1]
    if not 1 <= len(tokens) <= MAX_SUBJECT or tokens[0].lower in words.PREPOSITIONS | words.CONJUNCTIONS:
        return False
    if tokens[0].lower in words.SUBORDINATORS or any(t.lower in words.SUBORDINATORS for t in tokens):
        return False
    if tokens[0].lower == "there":
        return len(tokens) == 1 and kind == "number"
    last = tokens[-1]
    return last.is_noun_like or last.text[0].isupper() or last.text[0].isdigit() or last.text.endswith("ing")


def _next_verb(rest: Sequence[Token]) -> int | None:
    """Return the place of the last verb that shares the subject: "was born in Rome and died in ..."."""
    for place in range(len(rest) - 1, 0, -1):
        linked = rest[place - 1].text in ("and", "but") or (
            place > 1 and rest[place - 2].text in ("and", "but") and rest[place - 1].text in words.ADVERBS
        )
        if linked and rest[place].is_finite:
            return place
    return None


def _before_next_clause(after: Sequence[Token]) -> list[Token]:
    for place, token in enumerate(after):
        behind = after[place + 1 : place + 3]
        if token.lower in _ISLANDS | {"that"} or (token.text in ("and", "but") and any(t.is_finite for t in behind)):
            return list(after[:place])
    return list(after)


def _auxiliary(verb: str, following: Sequence[Token]) -> tuple[str, str] | None:
    """Return the auxiliary that opens a question, and the form of the verb that stands behind the subject."""
    if verb in words.HAVE:
        has_participle = any(is_participle(token.text) or token.text == "had" for token in following[:3])
        return (verb, "") if has_participle else (words.HAVE[verb], "have")
    if verb in ("do", "does", "did"):
        return (verb, "") if following and following[0].text == "not" else (verb, "do")
    if verb in words.AUXILIARIES:
        return verb, ""
    return base_of(verb)


def _finished(phrase: str, parts: Sequence[str], *, words_left: int) -> str | None:
    question = " ".join(part for part in [phrase, *parts] if part).rstrip(" ,;:-")
    is_doubled = any(first == second for first, second in itertools.pairwise(question.split()))
    if words_left < 1 or len(question.split()) < MIN_WORDS or is_doubled:
        return None
    return question[0].upper() + question[1:] + "?"
