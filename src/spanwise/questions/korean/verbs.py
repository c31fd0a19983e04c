"""The verb of a clause in other forms: before a noun (만들었다, 만든) and as a question (만들고, 만들었는가)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from spanwise.questions.korean.endings import as_question
from spanwise.text.morphemes import Morpheme

Join = Callable[..., str]
"""Makes a word of (form, tag) morphemes."""
_VERBS = frozenset({"VV", "XSV", "VX"})
_QUALITIES = frozenset({"VA", "XSA", "VCP", "VCN"})
_PAST, _ASKS = ("었", "EP"), ("는가", "EF")


def modifying(morphemes: Sequence[Morpheme], last: int, join: Join) -> tuple[int, str] | None:
    """Return where a clause's verb begins and its form before a noun; None for a verb that fits no rule.

    Morpheme `last` is the ending of the clause.
    """
    is_past, place = is_past_at(morphemes, last), last - 1
    if morphemes[place].tag == "EP":
        if morphemes[place].form not in ("었", "았", "였"):
            return None
        place -= 1
    verb = morphemes[place]
    if place < 0 or verb.tag not in _VERBS | _QUALITIES:
        return None
    exists = verb.form in ("있", "없")
    if is_past and (exists or verb.tag in _QUALITIES):
        return verb.start, join(_stem(verb), _PAST, ("던", "ETM"))
    if exists or (not is_past and verb.tag in _VERBS):
        return verb.start, join(_stem(verb), ("는", "ETM"))
    return verb.start, join(_stem(verb), ("ᆫ", "ETM"))


def asking(text: str, morphemes: Sequence[Morpheme], last: int, join: Join) -> str | None:
    """Return a sentence up to the end of a clause as a question, like `as_question`, in the sentence's time."""
    verb, is_past = morphemes[last - 1], is_past_at(morphemes, last)
    if verb.tag not in _VERBS or morphemes[last].tag == "EF":
        return as_question(text, morphemes, last)
    return text[: verb.start] + (join(_stem(verb), _PAST, _ASKS) if is_past else join(_stem(verb), _ASKS))


def is_past_at(morphemes: Sequence[Morpheme], last: int) -> bool:
    """Return whether a clause is of the past; one that links (만들고) has the time of the sentence's end."""
    if morphemes[last - 1].tag == "EP" or morphemes[last].tag == "EF":
        return morphemes[last - 1].tag == "EP"
    final = next((place for place in range(last, len(morphemes)) if morphemes[place].tag == "EF"), 0)
    return final > 0 and morphemes[final - 1].tag == "EP"


def _stem(verb: Morpheme) -> tuple[str, str]:
    return verb.form, verb.tag + "-I" * verb.is_irregular
