"""Questions of English sentences."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Sequence

from spanwise.questions.english.asking import ask, holds
from spanwise.questions.english.spans import Names, dates_in, names_in, nouns_that_return, numbers_in
from spanwise.questions.english.tokens import Token, is_closed, tokens_of
from spanwise.questions.parts import Form, Sentence, Span, overlaps
from spanwise.text.sentences import sentence_ranges

_WORD = re.compile(r"[^\W_]+")
_ENDING = re.compile("(?:ing|ed|es|s)$")


class EnglishRules:
    """The rules of English; see `parts.Rules`."""

    def __init__(self) -> None:
        self._ordinary: frozenset[str] = frozenset()  # of the document that was read last

    def read(self, passages: Sequence[str]) -> list[Sentence]:
        """Find sentences and spans. A name is of one kind all over a document."""
        found = [
            (number, start, end, text[start:end], tokens_of(text[start:end]))
            for number, text in enumerate(passages)
            for start, end in sentence_ranges(text, "en")
        ]
        small = Counter(token.text for *_, tokens in found for token in tokens if token.text[0].islower())
        self._ordinary = frozenset(small)
        names = Names()
        runs = [list(names_in(tokens, self._ordinary)) for *_, tokens in found]
        for (*_, tokens), ranges in zip(found, runs, strict=True):
            for first, last in ranges:
                names.see(tokens, first, last)
        return [
            Sentence(number, start, end, text, _spans(text, tokens, ranges, names), self.content(text))
            for (number, start, end, text, tokens), ranges in zip(found, runs, strict=True)
        ]

    def ask(self, sentence: Sentence, span: Span, form: Form) -> str | None:
        """Ask for a span of a sentence of the document that was read last."""
        return ask(sentence.text, span, self._ordinary, cloze=form == "cloze")

    def rephrased(self, sentence: Sentence, span: Span, draw: random.Random) -> str | None:
        """Ask as `ask` does: the question word in front is another order already."""
        return self.ask(sentence, span, "wh")

    def content(self, text: str) -> frozenset[str]:
        """Return words without the commonest endings."""
        found = (word.lower() for word in _WORD.findall(text))
        return frozenset(_ENDING.sub("", word) if len(word) > 4 else word for word in found if not is_closed(word))

    def asked(self, sentence: Sentence, question: str) -> frozenset[str]:
        """Return the words of a sentence that its question still has."""
        return sentence.content & self.content(question)

    def holds(self, text: str, answer: str) -> bool:
        """Return whether an answer stands in a text as words of its own."""
        return holds(text, answer)


def _spans(text: str, tokens: Sequence[Token], ranges: Sequence[tuple[int, int]], names: Names) -> tuple[Span, ...]:
    found = dates_in(text)
    for first, end in ranges:
        start, stop = tokens[first].start, tokens[end - 1].end
        if not overlaps(found, start, stop):
            found.append(Span(start, stop, text[start:stop], names.kind(tokens, first, end)))
    found += numbers_in(text, tokens, found)
    for first, end in nouns_that_return(tokens):
        start, stop = tokens[first].start, tokens[end - 1].end
        if not overlaps(found, start, stop):
            found.append(Span(start, stop, text[start:stop], "recurring"))
    return tuple(sorted(found, key=lambda span: span.start))
