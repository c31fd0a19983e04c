"""Which passage a question is asked about: one that holds the answer and speaks of the same, in other words.

The question comes from one sentence, and the passage is another one of the document that holds the same answer; where
there is none, it is the question's own passage without the question's sentence, if the answer stands there again. Of
several passages the one that shares the rarest words is taken. Passages that share no word, or nearly all, are refused:
the first gives a question that nothing answers, the second one that is answered by copying.

Source: Fabbri et al. 2020, "Template-Based Question Generation from Retrieved Sentences for Improved Unsupervised
Question Answering" (section 3.1), who retrieve the passage for a sentence by its other words.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from spanwise.questions.parts import Rules, Sentence, Span

MOST_PLACES = 256  # of a span, where a question about it may be answered
MOST_SHARED = 0.8  # of the words of a question
_LOOSE = ("number", "date")  # the same year or number is often a chance: these need more in common


@dataclass(frozen=True, slots=True)
class Passage:
    """A context: passage `number` of a document, or what is left of it without its sentence `without`."""

    number: int
    text: str
    without: int | None = None  # where the sentence began


@dataclass(frozen=True, slots=True)
class Pair:
    """An answer in a sentence, and the places where other sentences hold it: (sentence, span) each."""

    sentence: Sentence
    span: Span
    others: tuple[tuple[Sentence, Span], ...]


@dataclass(frozen=True, slots=True)
class Found:
    """A passage and the place of the answer in it."""

    passage: Passage
    start: int


def pairs_of(sentences: Sequence[Sentence], *, alone: bool = False) -> list[Pair]:
    """Return every span that another sentence holds too, in the order of the document; if `alone`, also those that
    none does. Of the places of a span, the `MOST_PLACES` around it count, so that time grows with the text alone."""
    places: dict[tuple[str, str], list[tuple[Sentence, Span]]] = defaultdict(list)
    for sentence in sentences:
        for span in sentence.spans:
            places[span.text, span.unit].append((sentence, span))
    found = []
    passed: Counter[tuple[str, str]] = Counter()
    for sentence in sentences:
        for span in sentence.spans:
            key = span.text, span.unit
            first = max(0, min(passed[key] - MOST_PLACES // 2, len(places[key]) - MOST_PLACES))
            passed[key] += 1
            near = places[key][first : first + MOST_PLACES]
            others = tuple(place for place in near if place[0] is not sentence)
            if others or alone:
                found.append(Pair(sentence, span, others))
    return found


class Pairing:
    """Finds passages for the questions of one document."""

    def __init__(self, passages: Sequence[str], sentences: Sequence[Sentence], rules: Rules) -> None:
        self.passages, self.rules = passages, rules
        self.contents = [rules.content(text) for text in passages]
        self._sentences: dict[int, list[Sentence]] = defaultdict(list)
        for sentence in sentences:
            self._sentences[sentence.passage].append(sentence)
        frequency = Counter(word for content in self.contents for word in content)
        self._rarity = {word: math.log(1 + len(passages) / count) for word, count in frequency.items()}

    def passage_for(self, question: str, pair: Pair) -> Found | None:
        """Return the passage that suits a question best, with the place of its answer; None where none suits."""
        asked = self.rules.asked(pair.sentence, question)
        best: tuple[float, Found] | None = None
        for sentence, span in pair.others:
            own = sentence.passage == pair.sentence.passage
            if best is not None and own and best[1].passage.without is None:
                continue
            content = self.contents[sentence.passage]
            shared = asked & (self._without(pair.sentence)[1] if own else content)
            near = asked & sentence.content
            if not _is_fitting(asked, shared, near, pair.span):
                continue
            weight = self._weight(shared) + self._weight(near) - 1000.0 * own
            if best is None or weight > best[0]:
                found = self._found(pair, sentence, span)
                best = best if found is None else (weight, found)
        return None if best is None else best[1]

    def _weight(self, words: frozenset[str]) -> float:
        return math.fsum(self._rarity.get(word, 0.0) for word in words)  # the same in whatever order sets give words

    def _found(self, pair: Pair, sentence: Sentence, span: Span) -> Found | None:
        text = self.passages[sentence.passage]
        start = sentence.start + span.start
        if sentence.passage != pair.sentence.passage:
            found = Found(Passage(sentence.passage, text), start)
        else:
            left, _ = self._without(pair.sentence)
            start -= len(text) - len(left) if sentence.start > pair.sentence.start else 0
            found = Found(Passage(sentence.passage, left, pair.sentence.start), start)
        is_whole = found.passage.text.startswith(span.text, found.start)
        return found if is_whole and pair.sentence.text not in found.passage.text else None

    def _without(self, sentence: Sentence) -> tuple[str, frozenset[str]]:
        """Return a sentence's passage without it, and the words of what is left."""
        text = self.passages[sentence.passage]
        before, after = text[: sentence.start], text[sentence.end :].lstrip()
        left = before + after if after else before.rstrip()
        words = [other.content for other in self._sentences[sentence.passage] if other is not sentence]
        return left, frozenset().union(*words)

    def without_answer(self, question: str, pair: Pair) -> Iterator[Passage]:
        """Give passages of the document that do not hold the answer, those that share the rarest words first."""
        asked = self.rules.asked(pair.sentence, question)
        ranked = []
        for number, text in enumerate(self.passages):
            shared = asked & self.contents[number]
            if number == pair.sentence.passage or not shared or self.rules.holds(text, pair.span.text):
                continue
            if pair.sentence.text not in text:
                ranked.append((-self._weight(shared), number))
        for _, number in sorted(ranked):
            yield Passage(number, self.passages[number])


def _is_fitting(asked: frozenset[str], shared: frozenset[str], near: frozenset[str], span: Span) -> bool:
    if not asked or len(shared) > MOST_SHARED * len(asked):
        return len(asked) > 0 and len(shared) == len(asked) <= 2 and bool(near) and len(near) < len(asked)
    if span.kind in _LOOSE:
        return len(shared) >= 2 and bool(near)
    return len(shared) >= 3 or bool(near)
