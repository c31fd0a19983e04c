"""Answers in Korean sentences: names, dates, numbers with what they count, and nouns, all without their particles."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from spanwise.questions.korean import words
from spanwise.questions.parts import Kind, Span, overlaps
from spanwise.text.morphemes import Morpheme

PARTICLES = frozenset({"JKS", "JKC", "JKG", "JKO", "JKB", "JKV", "JKQ", "JX", "JC"})
NOUNS = frozenset({"NNP", "NNG", "SL", "SH", "XPN", "XSN", "NR"})
MAX_CHARACTERS = 24
_DATE = re.compile(
    r"(?<![\d~–-])(?:(?:기원전 ?\d{1,4}|\d{3,4})년(?: ?\d{1,2}월(?: ?\d{1,2}일)?)?(?![대간만]|\s?동안)"
    r"|\d{1,2}월 ?\d{1,2}일|\d{1,2}세기|\d{2,4}년대)"
)
_COUNTED = re.compile(
    r"(?<![\d.,])\d+(?:[.,]\d+)*(?:[만억조천백] ?)?\s?"
    r"(개국|개월|개|명|마리|권|편|곳|대|척|가구|년간|시간|일간|분|초|km|㎞|m|미터|킬로미터|kg|톤|원|달러|%|퍼센트"
    r"|세|살|회|차례|가지|종|층)"
)
_TITLE = re.compile(f"[《〈「『]([^《》〈〉「」『』()]{{2,{MAX_CHARACTERS}}})[》〉」』]")
_NAMES = {"NNP", "SL"}
_TITLED = tuple(f"{title} " for title in words.TITLES)  # 화가 모네


def spans_of(text: str, morphemes: Sequence[Morpheme], people: frozenset[str]) -> list[Span]:
    """Return the spans of a sentence. `people` are names that the document knows as those of persons."""
    tags = {morpheme.start: morpheme.tag for morpheme in morphemes}
    found = [Span(m.start(), m.end(), m[0], "date") for m in _DATE.finditer(text) if _ends_word(text, m.end(), tags)]
    ends = {morpheme.end: morpheme.tag for morpheme in morphemes}
    for match in _COUNTED.finditer(text):
        is_age = match[1] != "세" or text[match.end() :].startswith(("에", "로", "의 나이", " 때", "이", "였"))
        ends_here = _ends_word(text, match.end(), tags) and is_age
        is_ordinal = ends.get(match.start() - 1) == "NNP" or text[: match.start()].endswith(("제", "제 "))
        if ends_here and not is_ordinal and not overlaps(found, match.start(), match.end()):
            found.append(Span(match.start(), match.end(), match[0], "number", match[1]))
    for match in _TITLE.finditer(text):
        if not overlaps(found, match.start(1), match.end(1)):
            found.append(Span(match.start(1), match.end(1), match[1], "name"))
    for run in noun_runs(text, morphemes):
        start, end = run[0].start, run[-1].end
        if not 2 <= end - start <= MAX_CHARACTERS or overlaps(found, start, end):
            continue
        word = text[start:end]
        if any(m.tag in _NAMES for m in run):
            if not word.isascii():
                found.append(Span(start, end, word, kind_of(word, people)))
        elif len(word) >= 3 and all(m.tag == "NNG" for m in run):
            if (
                " " in word[-2:]
                or text[run[0].start : run[0].end] in words.COMMON
                or text[run[-1].start : run[-1].end] in words.COMMON
            ):
                continue
            found.append(Span(start, end, word, "recurring"))
    return sorted(found, key=lambda span: span.start)


def is_title(text: str, span: Span) -> bool:
    """Return whether a span is, with or without them, between the marks of the title of a work."""
    match = _TITLE.match(text, span.start - 1) or _TITLE.match(text, span.start)
    return match is not None and span.end in (match.end(), match.end() - 1)


def noun_runs(text: str, morphemes: Sequence[Morpheme]) -> Iterator[list[Morpheme]]:
    """Give runs of nouns as long as they are; names of several words (찰스 다윈) are one run."""
    run: list[Morpheme] = []
    for morpheme in morphemes:
        if morpheme.tag in NOUNS:
            if run:
                gap = text[run[-1].end : morpheme.start]
                goes_on = gap == "" or (gap == " " and run[-1].tag == morpheme.tag and morpheme.tag in ("NNP", "NNG"))
                if not goes_on:
                    yield run
                    run = []
            run.append(morpheme)
        elif run:
            is_verb = morpheme.tag in ("XSV", "XSA", "SN", "NNB") and morpheme.start == run[-1].end
            if not is_verb:
                yield run
            run = []
    if run:
        yield run


def kind_of(word: str, people: frozenset[str]) -> Kind:
    """Return what a name most likely is."""
    parts = word.split(" ")
    if word in people or parts[-1] in words.TITLES or (len(word) > 2 and word.endswith(("왕", "황제", "대왕"))):
        return "person"
    if all(part in words.PLACES for part in parts) or word == "나치 독일":
        return "place"
    is_short = len(word) == 3 and word[-1] not in "현성주만궁"  # 최익현 is a person
    ends = words.PLACE_ENDS if is_short else tuple(end for end in words.PLACE_ENDS if len(end) > 1)
    is_place = len(word) > 2 and word.endswith(ends) and not word.endswith(words.NOT_PLACE_ENDS)
    return "place" if is_place else "name"


def people_in(text: str, morphemes: Sequence[Morpheme]) -> Iterator[str]:
    """Give names that a title, a life span or a verb of people shows to be those of persons."""
    for run in noun_runs(text, morphemes):
        word = text[run[0].start : run[-1].end]
        if not any(m.tag == "NNP" for m in run) or not 2 <= len(word) <= 14 or word in words.PLACES:
            continue
        first, _, last = word.rpartition(" ")
        behind = text[run[-1].end : run[-1].end + 60]
        if first and last in words.TITLES:
            yield first
        if text[: run[0].start].endswith(_TITLED):
            yield word
        is_titled = behind.startswith(" ") and behind[1:].startswith(words.TITLES)
        lived = re.match(r" ?\([^)]*\d{3,4}년?[^)]*[~–-]", behind)
        acts = re.match(r"[은는이가] ", behind) and any(act in behind for act in words.HUMAN_ACTS)
        fits = " " in word or (len(word) == 3 and word[0] in words.SURNAMES)
        if is_titled or lived or (acts and fits and not word.endswith(words.PLACE_ENDS)):
            yield word


def _ends_word(text: str, end: int, tags: Mapping[int, str]) -> bool:
    """Return whether nothing but a particle or 이다 goes on behind a place."""
    return not text[end : end + 1].isalnum() or tags.get(end) in PARTICLES | {"VCP"}
