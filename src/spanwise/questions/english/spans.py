"""Answers in English sentences: runs of capitalised words, dates, numbers of something, and nouns that come back."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from spanwise.questions.english import words
from spanwise.questions.english.tokens import Token, is_closed
from spanwise.questions.parts import Kind, Span, overlaps

_MONTH = f"(?:{'|'.join(sorted(words.MONTHS))})"
_DATE = re.compile(
    rf"\b(?:\d{{1,2}} {_MONTH},? \d{{3,4}}|{_MONTH} \d{{1,2}}, \d{{3,4}}|{_MONTH},? \d{{4}}|\d{{1,2}} {_MONTH}"
    rf"|{_MONTH} \d{{1,2}}|(?:early |mid-|late )?\d{{1,2}}(?:st|nd|rd|th) century(?: (?:BC|BCE|AD|CE)\b)?"
    rf"|\d{{1,4}} (?:BC|BCE|AD|CE)\b|1[0-9]{{3}}s?|20[0-2][0-9]s?)\b(?![-–:/.,]\d|[-–]| [%$])"
)
_JOINING = {"of", "the", "de", "van", "von", "der", "la", "del", "di", "al", "ibn", "du"}
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_DIGIT_UNITS = {"percent", "people", "men", "women", "children", "species", "degrees"}
MAX_WORDS = 5


def dates_in(text: str) -> list[Span]:
    """Return dates, years, decades and centuries."""
    return [
        Span(found.start(), found.end(), found[0], "date")
        for found in _DATE.finditer(text)
        if not text[: found.start()].endswith(("-", "–", "$", "£", "No. ", "/"))
    ]


def numbers_in(sentence: str, tokens: Sequence[Token], taken: Sequence[Span]) -> Iterator[Span]:
    """Give numbers that count something in a sentence; `unit` is the word that says what."""
    for place, token in enumerate(tokens[:-1]):
        is_number = _NUMBER.fullmatch(token.text) or token.text in words.NUMBER_WORDS
        if not is_number or overlaps(taken, token.start, token.end):
            continue
        before = tokens[place - 1] if place else None
        if before is not None and (before.end == token.start or before.text.istitle() or before.text in words.SCALES):
            continue
        if _is_shortened(tokens, place, ("No", "Nos")):
            continue
        last = place + (tokens[place + 1].text in words.SCALES)
        nouns = [after for after in tokens[last + 1 : last + 3] if after.is_open]
        if not nouns or tokens[last + 1] is not nouns[0] or tokens[last].end == nouns[0].start:
            continue
        unit = next((n.text for n in nouns if n.text in _DIGIT_UNITS or n.text.endswith("s")), "")
        if unit and not unit.endswith(("ss", "ous", "is")):
            end = tokens[last].end
            yield Span(token.start, end, sentence[token.start : end], "number", unit)


def names_in(tokens: Sequence[Token], ordinary: frozenset[str]) -> Iterator[tuple[int, int]]:
    """Give runs of capitalised words as ranges of tokens. `ordinary` are words the document writes small as well."""
    place = 0
    while place < len(tokens):
        if not _is_capital(tokens[place]):
            place += 1
            continue
        end = place + 1
        while end < len(tokens):
            if _is_capital(tokens[end]):
                end += 1
                continue
            ahead = end
            while ahead < len(tokens) and tokens[ahead].text in _JOINING and ahead - end < 2:
                ahead += 1
            if ahead == end or ahead >= len(tokens) or not _is_capital(tokens[ahead]):
                break
            end = ahead + 1
        first = place
        opens = first == 0 or tokens[first - 1].text in '.:"“'
        while first < end and (
            (opens and (tokens[first].lower in ordinary or is_closed(tokens[first].lower)))
            or (tokens[first].text in words.NOT_NAMES and not (end - first > 1 and tokens[first].text in words.MONTHS))
            or tokens[first].text in _JOINING
        ):
            first += 1
        if first < end and _is_name(tokens, first, end):
            yield first, end
        place = end


def _is_capital(token: Token) -> bool:
    return token.text[0].isupper()


def _is_shortened(tokens: Sequence[Token], place: int, words_before: tuple[str, ...]) -> bool:
    """Return whether one of some words stands before a token, maybe with a point: "St. Peter", "No. 7"."""
    before = [token.text for token in tokens[max(0, place - 2) : place]]
    return before[-1:] != [] and (before[-1] in words_before or (before[-1] == "." and before[0] in words_before))


def _is_name(tokens: Sequence[Token], first: int, end: int) -> bool:
    run = tokens[first:end]
    if len(run) > MAX_WORDS or run[-1].text in words.NOT_NAMES or run[-1].text.lower() in words.TITLES:
        return False
    if len(run) == 1 and (run[0].text in words.PEOPLES or len(run[0].text) < 3):
        return False
    if _is_shortened(tokens, first, ("St", "Saint", "Mr", "Mrs", "Ms")):
        return False
    if end < len(tokens) and tokens[end].start == run[-1].end and tokens[end].text[0].isalnum():
        return False  # IPv6
    if first and (tokens[first - 1].end == run[0].start and tokens[first - 1].text not in '"“('):
        return False
    return not (end < len(tokens) and tokens[end].start == run[-1].end and tokens[end].text in "-–—/&_")


def nouns_that_return(tokens: Sequence[Token]) -> Iterator[tuple[int, int]]:
    """Give runs of two or three open words between words with a grammatical task, as ranges of tokens."""
    place = 0
    while place < len(tokens):
        end = place
        while end < len(tokens) and tokens[end].is_noun_like and not tokens[end].text.endswith("ed"):
            end += 1
        fits = 2 <= end - place <= 3 and place > 0 and tokens[place - 1].text.lower() in words.DETERMINERS | {
            "of", "in", "by", "for", "with", "from", "as", "is", "are", "called",
        }  # fmt: skip
        if fits and (end == len(tokens) or not tokens[end].is_open):
            yield place, end
        place = max(end, place + 1)


class Names:
    """Whether a name is that of a person or a place, by what stands beside it anywhere in the document."""

    def __init__(self) -> None:
        self._clues: dict[str, Counter[Kind]] = {}

    def see(self, tokens: Sequence[Token], first: int, end: int) -> None:
        """Count the clues of one occurrence."""
        clues = self._clues.setdefault(_key(tokens, first, end), Counter())
        before = tokens[first - 1].lower if first else ""
        after = tokens[end].text if end < len(tokens) else ""
        has_title = before.rstrip(".") in words.TITLES and before not in ("general", "minister", "king")
        is_born = [token.text for token in tokens[end : end + 2]] == ["was", "born"]
        if has_title or is_born or after in words.ACTS:
            clues["person"] += 2
        elif before in ("in", "near", "at"):
            clues["place"] += 1
        if end - first > 1 and tokens[first].text in words.FIRST_NAMES:
            self._clues.setdefault(tokens[end - 1].text, Counter())["person"] += 2  # the surname alone
        if after == "(" and end + 1 < len(tokens) and re.fullmatch(r"1\d{3}|born|c", tokens[end + 1].text):
            clues["person"] += 1

    def kind(self, tokens: Sequence[Token], first: int, end: int) -> Kind:
        """Return what a name most likely is."""
        run = [token.text for token in tokens[first:end]]
        if run[-1] in words.NAME_TAILS or run[0] in words.NAME_TAILS:
            return "name"
        if run[-1] in words.PLACE_TAILS or run[0] in ("Lake", "Mount", "Cape", "Fort", "Port"):
            return "place"
        if run[-1] in words.PLACES and len(run) <= 2:
            return "place"
        if run[0] in words.FIRST_NAMES and "of" not in run:
            return "person"
        if len(run) > 1 and run[0].lower() in words.TITLES and run[1] not in _JOINING:
            return "person"
        clues = self._clues.get(_key(tokens, first, end), Counter())
        if clues["person"] > clues["place"] and not run[-1].isupper():
            return "person"
        return "place" if clues["place"] >= 3 and not clues["person"] and not run[-1].isupper() else "name"


def _key(tokens: Sequence[Token], first: int, end: int) -> str:
    return " ".join(token.text for token in tokens[first:end])
