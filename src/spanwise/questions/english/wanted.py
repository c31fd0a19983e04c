"""The phrase that an English question asks with: the answer's noun phrase, a question word in the answer's place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from spanwise.questions.english import words
from spanwise.questions.english.tokens import Token
from spanwise.questions.english.verbs import is_participle
from spanwise.questions.parts import Span, word_set

MAX_NOUNS = 2
_PLAIN = {"person": "who", "place": "what place", "name": "what", "recurring": "what"}
_OF_A_PEOPLE = ("ian", "ean", "ese", "ish", "ic", "can", "ist")
_OF_ADJECTIVES = tuple(word_set("ous ive able ible ful less tire ent former old new large great al"))
_BOUNDS = ("more", "less", "fewer", "at", "up")


@dataclass(frozen=True, slots=True)
class Wanted:
    """What stands before and behind the phrase, and the phrase: "which city", "how many teams", "who"."""

    before: tuple[Token, ...]
    phrase: str
    after: tuple[Token, ...]
    is_plain: bool  # it is a question word alone


def wanted_of(before: Sequence[Token], span: Span, after: Sequence[Token]) -> Wanted | None:
    """Return the phrase that asks for a span; None where the words around it fit no rule."""
    if before and _opens_a_clause(after):
        return None
    if span.kind == "number":
        return _number(list(before), span, list(after))
    if span.kind == "date":
        return _date(list(before), span, list(after))
    if _is_listed(before, after):
        return None
    if after and after[0].text in ("'s", "’s"):
        return _possessor(list(before), span, list(after)[1:])
    if span.kind == "recurring":
        bare = _without_article(list(before))
        ends = bare[-1] if bare else None
        if ends is not None and (ends.lower in words.POSSESSIVES | words.QUANTIFIERS or ends.is_noun_like):
            return None
        if _ends_in_modifier(bare):
            return None
        return Wanted(tuple(bare), "what", tuple(after), True)
    return _name(list(before), span, list(after))


def _number(before: list[Token], span: Span, after: list[Token]) -> Wanted | None:
    nouns: list[Token] = []
    while after and len(nouns) < 3 and after[0].is_open:
        nouns.append(after.pop(0))
        if nouns[-1].text == span.unit:
            break
    if not nouns or nouns[-1].text != span.unit or (after and after[0].text == "ago"):
        return None
    before = _without_article(before)
    while before and before[-1].lower in words.APPROXIMATE | {"than", "least", "most", "to"}:
        last = before.pop()
        if last.text in ("than", "least", "most", "to"):
            if not before or before[-1].lower not in _BOUNDS:
                return None
            before.pop()
    if before and (
        before[-1].text[0].isdigit()
        or before[-1].lower in words.POSSESSIVES | {"or", "and", "first", "last", "every", "each", "next"}
    ):
        return None
    phrase = "what percentage" if span.unit == "percent" else "how many " + " ".join(noun.text for noun in nouns)
    return Wanted(tuple(before), phrase, tuple(after), False)


def _date(before: list[Token], span: Span, after: list[Token]) -> Wanted | None:
    before = _without_article(before)
    if (after and (after[0].is_noun_like or after[0].text[0].isupper())) or not before:
        return None
    if before[-1].lower not in words.PREPOSITIONS or (
        after and after[0].text in ("and", "or", "to", "until", "through")
    ):
        return None
    unit = "century" if "century" in span.text else "decade" if span.text.endswith("s") else "year"
    if before[-1].lower == "on" or any(month in span.text for month in words.MONTHS):
        unit = "date"
    return Wanted(tuple(before), f"what {unit}", tuple(after), False)


def _possessor(before: list[Token], span: Span, after: list[Token]) -> Wanted | None:
    if span.kind != "person":
        return None
    nouns: list[str] = []
    while after and len(nouns) < MAX_NOUNS and after[0].is_noun_like:
        nouns.append(after.pop(0).text)
    if not nouns or (after and after[0].is_noun_like):
        return None
    return Wanted(tuple(before), "whose " + " ".join(nouns), tuple(after), False)


def _name(before: list[Token], span: Span, after: list[Token]) -> Wanted | None:
    nouns: list[str] = []
    while after and len(nouns) < MAX_NOUNS and after[0].is_noun_like:
        nouns.append(after.pop(0).text)
    if after and after[0].is_noun_like:
        return None
    if nouns:
        if " " not in span.text and span.text.endswith(_OF_A_PEOPLE):
            return None
        return Wanted(tuple(_without_article(before)), "which " + " ".join(nouns), tuple(after), False)
    first = len(before)
    while first and (before[first - 1].is_noun_like or before[first - 1].text in words.PEOPLES):
        first -= 1
    modifiers = before[first:]
    if not modifiers:
        bare = _without_article(before)
        if bare and (bare[-1].lower in words.POSSESSIVES | words.QUANTIFIERS or bare[-1].text[0].isupper()):
            return None
        if _ends_in_modifier(bare) or (span.kind == "name" and span.text.isalpha() and span.text.istitle()):
            return None  # a name of one word may be anybody's: neither "who" nor "what" is safe
        return Wanted(tuple(bare), _PLAIN[span.kind], tuple(after), span.kind != "place")
    stands_free = first == 0 or before[first - 1].lower in words.PREPOSITIONS
    has_article = first > 0 and before[first - 1].lower in words.DETERMINERS
    is_noun = modifiers[-1].text not in words.PEOPLES and not modifiers[-1].text.endswith(_OF_ADJECTIVES)
    is_noun = is_noun and not is_participle(modifiers[-1].text)
    if not is_noun or not (has_article or (stands_free and modifiers[-1].lower in words.TITLES)):
        return None
    phrase = "which " + " ".join(token.text if token.text in words.PEOPLES else token.lower for token in modifiers)
    return Wanted(tuple(before[: first - has_article]), phrase, tuple(after), False)


def _without_article(before: list[Token]) -> list[Token]:
    return before[:-1] if before and before[-1].lower in words.DETERMINERS else before


def _opens_a_clause(after: Sequence[Token]) -> bool:
    """Return whether a finite verb follows: the answer is the subject of a clause inside the sentence."""
    following = next((token for token in after if token.lower not in words.ADVERBS), None)
    return following is not None and following.is_finite


def _ends_in_modifier(before: Sequence[Token]) -> bool:
    """Return whether an article and a participle stand before the answer: "the renowned"."""
    return len(before) > 1 and before[-1].text.endswith(("ed", "ing")) and before[-2].lower in words.DETERMINERS


def _is_listed(before: Sequence[Token], after: Sequence[Token]) -> bool:
    """Return whether a name is one of several: "Watson and Crick"."""
    goes_on = len(after) > 1 and after[0].text in ("and", "&") and not after[1].is_finite
    goes_on = goes_on or (len(after) > 0 and after[0].text in ("or", "nor"))
    return goes_on or (bool(before) and before[-1].lower in ("and", "or", "&", "nor", ",", "both"))
