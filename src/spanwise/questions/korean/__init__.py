"""Questions of Korean sentences. Morphemes are found by kiwipiepy (extra `ko`)."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

from spanwise.questions.korean.asking import ask
from spanwise.questions.korean.rephrasing import Statement, rephrased
from spanwise.questions.korean.spans import people_in, spans_of
from spanwise.questions.korean.words import COMMON
from spanwise.questions.parts import Form, Sentence, Span
from spanwise.text.morphemes import Morpheme, MorphemeAnalyser
from spanwise.text.sentences import sentence_ranges

_CONTENT = {"NNG", "NNP", "SL", "SN", "VV", "VA", "SH", "XR"}


class KoreanRules:
    """The rules of Korean; see `parts.Rules`."""

    def __init__(self) -> None:
        """Raises: ConfigError where kiwipiepy is not installed."""
        self._analyser = MorphemeAnalyser()
        self._morphemes: dict[str, list[Morpheme]] = {}  # of the document that was read last
        self._statements: dict[str, Statement] = {}
        self._contents: dict[str, frozenset[str]] = {}

    def read(self, passages: Sequence[str]) -> list[Sentence]:
        """Find sentences and spans."""
        places = [
            (number, start, end, text[start:end])
            for number, text in enumerate(passages)
            for start, end in sentence_ranges(text, "ko")
        ]
        texts = list(dict.fromkeys(text for *_, text in places))
        self._morphemes = dict(zip(texts, self._analyser.morphemes(texts), strict=True))
        self._statements = {text: Statement(text, m, self._analyser.joined) for text, m in self._morphemes.items()}
        self._contents = {text: _content(text, found) for text, found in self._morphemes.items()}
        for number, passage in enumerate(passages):
            parts = [self._contents[text] for owner, _, _, text in places if owner == number]
            self._contents[passage] = frozenset().union(*parts)
        people = frozenset(name for text in texts for name in people_in(text, self._morphemes[text]))
        return [
            Sentence(
                number,
                start,
                end,
                text,
                tuple(spans_of(text, self._morphemes[text], people)),
                self._contents[text],
            )
            for number, start, end, text in places
        ]

    def ask(self, sentence: Sentence, span: Span, form: Form) -> str | None:
        """Ask for a span of a sentence of the document that was read last."""
        return ask(sentence.text, self._morphemes[sentence.text], span, cloze=form == "cloze")

    def rephrased(self, sentence: Sentence, span: Span, draw: random.Random) -> str | None:
        """Ask for a span in another order of words; see `rephrasing`."""
        return rephrased(self._statements[sentence.text], span, draw)

    def content(self, text: str) -> frozenset[str]:
        """Return the stems of nouns, verbs and adjectives of a passage or sentence that was read last."""
        return self._contents[text]

    def asked(self, sentence: Sentence, question: str) -> frozenset[str]:
        """Return the words of a sentence that its question still has; the question is not analysed again."""
        return frozenset(word for word in sentence.content if word in question.lower())

    def holds(self, text: str, answer: str) -> bool:
        """Return whether an answer stands in a text anywhere, with or without its blanks: particles follow words."""
        return re.sub(r"\s", "", answer) in re.sub(r"\s", "", text)


def _content(text: str, morphemes: Sequence[Morpheme]) -> frozenset[str]:
    found = (text[m.start : m.end].lower() for m in morphemes if m.tag in _CONTENT)
    return frozenset(word for word in found if word not in COMMON)
