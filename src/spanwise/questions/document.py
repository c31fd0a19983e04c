"""The questions of one document: kinds and forms in balance, and few on each passage."""

from __future__ import annotations

import hashlib
import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from spanwise.errors import ConfigError
from spanwise.questions.pairing import Found, Pair, Pairing, Passage, pairs_of
from spanwise.questions.parts import FORMS, KINDS, Form, Kind, Rules

MAX_PER_PASSAGE = 4
MAX_OF_OWN, MAX_OF_OWN_SENTENCE = 8, 4  # where questions are made of the passage's own sentences
MAX_PER_SENTENCE = 2
MAX_PER_ANSWER = 3  # of one document


@dataclass(frozen=True, slots=True)
class Made:
    """A question that rules made; `start` is where its answer begins in the passage, -1 where it has none."""

    id: str
    question: str
    answer: str
    passage: Passage
    start: int
    kind: Kind
    form: Form
    sentence: str  # that the question was made of


@dataclass(kw_only=True)
class Maker:
    """Makes the questions of documents, one after the other; what was made so far decides which kind comes next."""

    rules: Rules
    kinds: Sequence[Kind] = KINDS
    forms: Sequence[Form] = FORMS
    impossible: float = 0.0  # share of questions that get a passage without their answer
    same_sentence: float = 0.0  # share of questions that get the passage of their own sentence, in other words

    def __post_init__(self) -> None:
        for name, given, choices in (("kinds", self.kinds, KINDS), ("forms", self.forms, FORMS)):
            wrong = [value for value in given if value not in choices]
            if wrong or not given:
                raise ConfigError(f"{name}: got {wrong or 'none'}; they are {', '.join(choices)}.")
        if not 0 <= self.impossible < 1:  # NaN too
            raise ConfigError(f"impossible={self.impossible}: a share of at least 0 and below 1 was expected.")
        if not 0 <= self.same_sentence <= 1:
            raise ConfigError(f"same_sentence={self.same_sentence}: a share from 0 to 1 was expected.")
        self._counts: Counter[str] = Counter()
        self._ids: set[int] = set()

    def questions(self, passages: Sequence[str], key: int) -> Iterator[Made]:
        """Give the questions of a document. `key` decides all that is drawn."""
        sentences = self.rules.read(passages)
        draw = random.Random(key)
        waiting: dict[Kind, list[Pair]] = defaultdict(list)
        for pair in pairs_of(sentences, alone=self.same_sentence > 0):
            if pair.span.kind in self.kinds:
                waiting[pair.span.kind].append(pair)
        for pairs in waiting.values():
            draw.shuffle(pairs)
        pairing = Pairing(passages, sentences, self.rules)
        used: Counter[object] = Counter()
        while waiting:
            kind = min(waiting, key=lambda kind: (self._counts[kind], KINDS.index(kind)))
            pair = waiting[kind].pop()
            if not waiting[kind]:
                del waiting[kind]
            yield from self._asked(pair, pairing, used, draw)

    def _asked(self, pair: Pair, pairing: Pairing, used: Counter[object], draw: random.Random) -> Iterator[Made]:
        """Give the questions for an answer: two in other words, about the passage of their sentence, or one."""
        if self.same_sentence and "wh" in self.forms and draw.random() < self.same_sentence:
            first = self._of_same_sentence(pair, pairing, used, draw)
            second = None if first is None else self._of_same_sentence(pair, pairing, used, draw, but=first.question)
            yield from (made for made in (first, second) if made is not None)
            return
        made = self._question(pair, pairing, used, draw)
        if made is not None:
            yield made

    def _question(self, pair: Pair, pairing: Pairing, used: Counter[object], draw: random.Random) -> Made | None:
        sentence, span = pair.sentence, pair.span
        place = (sentence.passage, sentence.start)
        if used[place] >= MAX_PER_SENTENCE or used[span.text] >= MAX_PER_ANSWER:
            return None
        for form in sorted(self.forms, key=lambda form: self._counts[form]):
            if form == "cloze" and "wh" in self.forms and self._counts["cloze"] > self._counts["wh"]:
                continue  # the easier form never takes over
            question = self.rules.ask(sentence, span, form)
            if question is None:
                continue
            found = pairing.passage_for(question, pair)
            if found is None or used["passage", found.passage.number] >= MAX_PER_PASSAGE:
                continue
            asked = self._maybe_impossible(question, pair, found, pairing, draw)
            made = None if asked is None else self._made(question, pair, asked, form, used)
            if made is not None:
                return made
        return None

    def _maybe_impossible(
        self, question: str, pair: Pair, found: Found, pairing: Pairing, draw: random.Random
    ) -> Found | None:
        """Return what was found or, by chance, a passage without the answer; None where there is none."""
        if draw.random() >= self.impossible:
            return found
        other = next(pairing.without_answer(question, pair), None)
        return None if other is None else Found(other, -1)

    def _of_same_sentence(
        self, pair: Pair, pairing: Pairing, used: Counter[object], draw: random.Random, *, but: str = ""
    ) -> Made | None:
        """Return a question about its sentence's passage, in other words than the question `but`."""
        sentence, span = pair.sentence, pair.span
        place = (sentence.passage, sentence.start)
        if used[place] >= MAX_OF_OWN_SENTENCE or used["passage", sentence.passage] >= MAX_OF_OWN:
            return None
        question = None if used[span.text] >= MAX_PER_ANSWER else self.rules.rephrased(sentence, span, draw)
        if question is None or _words(question) == _words(but):
            return None
        own = Found(Passage(sentence.passage, pairing.passages[sentence.passage]), sentence.start + span.start)
        found = self._maybe_impossible(question, pair, own, pairing, draw)
        return None if found is None else self._made(question, pair, found, "wh", used)

    def _made(self, question: str, pair: Pair, found: Found, form: Form, used: Counter[object]) -> Made | None:
        """Count a question; None where the document came before."""
        sentence, span = pair.sentence, pair.span
        id = _identity(question, found.passage.text, found.start)
        if int(id, 16) in self._ids:
            return None
        self._ids.add(int(id, 16))
        for key in ((sentence.passage, sentence.start), span.text, ("passage", found.passage.number)):
            used[key] += 1
        self._counts.update((span.kind, form))
        return Made(id, question, span.text, found.passage, found.start, span.kind, form, sentence.text)


def _words(question: str) -> list[str]:
    return sorted(question.split()[:-1])  # the last one is its verb


def _identity(question: str, text: str, start: int) -> str:
    return hashlib.sha256(f"{question}\n{start}\n{text}".encode()).hexdigest()[:16]
