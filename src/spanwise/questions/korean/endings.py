"""From the end of a Korean statement to that of a question: 했다 to 했는가, 이다 to 인가, 크다 to 큰가."""

from __future__ import annotations

from collections.abc import Sequence

from spanwise.text.morphemes import Morpheme

_N = 4  # ㄴ among the final consonants of Unicode's syllables
_B = 17  # ㅂ


def as_question(text: str, morphemes: Sequence[Morpheme], last: int) -> str | None:
    """Return a clause as a question, where morpheme `last` is its ending (EF, or EC that links it to the next clause).

    None for a clause whose verb fits no rule.
    """
    ending = morphemes[last]
    place = last - 1
    if place < 0:
        return None
    before = morphemes[place]
    stem = text[: ending.start]
    if before.tag == "EP":
        return text[: before.end] + "는가" if before.end <= ending.end else None
    if before.tag == "VCP":
        return text[: before.start] + "인가" if before.start < ending.start or text[before.start] == "이" else None
    if before.tag == "VCN":
        return text[: before.end] + "가" if text[before.end - 1] != "니" else _closed(text[: before.end], _N) + "가"
    if before.tag in ("VA", "XSA"):
        return _adjective(_stem(text, before, stem))
    if before.tag in ("VV", "VX", "XSV"):
        return _stem(text, before, stem) + "는가"
    return None


def _stem(text: str, verb: Morpheme, stem: str) -> str:
    """Return the text up to a verb's stem, without the ㄴ of 한다 that belongs to the ending."""
    found = text[: verb.end] if verb.end >= len(stem) else stem
    code = ord(found[-1]) - 0xAC00
    grown_together = text[verb.end : verb.end + 1] == "다" and 0 <= code < 11172 and code % 28 == _N
    return _closed(found, 0) if grown_together else found


def _adjective(stem: str) -> str | None:
    code = ord(stem[-1]) - 0xAC00
    if not 0 <= code < 11172:
        return None
    if stem.endswith(("있", "없")):
        return stem + "는가"
    if code % 28 == 0:
        return _closed(stem, _N) + "가"
    if code % 28 == _B and not stem.endswith(("좁", "넓", "굽")):
        return _closed(stem, 0) + "운가"
    return stem + "은가"


def _closed(word: str, final: int) -> str:
    """Return a word whose last syllable has another final consonant."""
    code = ord(word[-1]) - 0xAC00
    return word[:-1] + chr(0xAC00 + code - code % 28 + final)
