"""Sentences of a paragraph, without losing a character, and in time linear in its length.

Source: the rules and abbreviation lists are those of `sentencex` (Wikimedia).
"""

import re

import sentencex

from spanwise.errors import ConfigError

MAX_SENTENCE_CHARACTERS = 10_000
"""Longest sentence handed on, and longest text given to the splitter at once.

The splitter looks back at all it has found so far, so one text of a million characters takes minutes where the same
text in windows takes seconds. No real sentence comes near this length; what does is cut at white space.
"""


_CODE = re.compile(r"[a-z]{2,3}(-[A-Za-z0-9]+)*")


def check_language(language: str) -> None:
    """Raises: ConfigError where it has not the form of a code; of those, unknown ones are split by common rules."""
    if not _CODE.fullmatch(language):
        raise ConfigError(f"language={language!r}: expected a code of ISO 639-1, such as en, ko or de.")


def split_sentences(paragraph: str, language: str = "en") -> list[str]:
    """Cut one paragraph into sentences, each stripped of outer white space; empty ones are left out.

    The sentences joined hold every character of the paragraph that is not white space, in order. A paragraph longer
    than `MAX_SENTENCE_CHARACTERS` is read through a window: the last, maybe unfinished, sentence of a window is
    carried into the next one.
    """
    return [sentence for piece in _pieces(paragraph, language) if (sentence := piece.strip())]


def sentence_ranges(text: str, language: str = "en") -> list[tuple[int, int]]:
    """The sentences of a text of any number of paragraphs, as half-open ranges of its characters.

    A line break ends a sentence. The ranges are in order, do not overlap, begin and end without white space, and hold
    every character that is not white space.
    """
    found = []
    begin = 0
    for line in text.splitlines(keepends=True):
        for piece in _pieces(line, language):
            end = begin + len(piece)
            if piece.strip():
                found.append((end - len(piece.lstrip()), begin + len(piece.rstrip())))
            begin = end
    return found


def _pieces(paragraph: str, language: str) -> list[str]:
    """Sentences of one paragraph with the white space around them: joined they are the paragraph."""
    if len(paragraph) <= MAX_SENTENCE_CHARACTERS:
        return _segment(paragraph, language)
    pieces: list[str] = []
    start = 0
    while len(paragraph) - start > MAX_SENTENCE_CHARACTERS:
        window = cut_at_white_space(paragraph[start : start + MAX_SENTENCE_CHARACTERS])
        found = _segment(window, language)
        if len(found) > 1:
            found.pop()
        start += sum(map(len, found))
        pieces += found
    return pieces + _segment(paragraph[start:], language)


def cut_long(text: str) -> list[str]:
    """Give `text` whole where it is short enough for a sentence, else in pieces cut at white space."""
    pieces = []
    start = 0
    while len(text) - start > MAX_SENTENCE_CHARACTERS:
        piece = cut_at_white_space(text[start : start + MAX_SENTENCE_CHARACTERS])
        start += len(piece)
        pieces.append(piece)
    pieces.append(text[start:])
    return [sentence for piece in pieces if (sentence := piece.strip())]


def cut_at_white_space(text: str) -> str:
    """The longest beginning of `text` that ends after white space; all of it where there is none in its second half."""
    for end in range(len(text), len(text) // 2, -1):
        if text[end - 1].isspace():
            return text[:end]
    return text


def _segment(text: str, language: str) -> list[str]:
    """The splitter's pieces; the text whole where they do not add up to it, as no character may be lost."""
    pieces = sentencex.segment(language, text)
    return pieces if sum(map(len, pieces)) == len(text) else [text]
