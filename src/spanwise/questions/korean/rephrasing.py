"""Questions in other words than their sentence, to be asked about the very passage that holds it.

Most end in what the answer is: 모네는 1883년에 지베르니로 이사했다, 모네가 1883년에 이사한 곳은? The others ask in the
answer's place. In both the parts of the clause change places and some are left out, so copying finds no answer.

Source: the questions people ask about a passage share words with the sentence of the answer, but not their order
(Rajpurkar et al. 2016, section 4.3).
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from spanwise.questions.korean.asking import (
    BRACKETS,
    LINKING,
    asking_word,
    in_brackets,
    is_readable,
    maybe_person,
    topic_of,
)
from spanwise.questions.korean.chunks import Chunk, Clause, borders_of, parts_of
from spanwise.questions.korean.heads import ending, head_of
from spanwise.questions.korean.order import in_order
from spanwise.questions.korean.particles import ends_in_consonant
from spanwise.questions.korean.spans import is_title
from spanwise.questions.korean.synonyms import varied
from spanwise.questions.korean.verbs import Join, asking, modifying
from spanwise.questions.parts import Span
from spanwise.text.morphemes import Morpheme

HEADED = 0.8  # of the questions that can end in a noun do
IN_PLACE = 0.5  # of the others are asked: people ask more often for a noun
_POINTERS = (
    "그 이 그녀 그들 이들 이것 그것 저 나 우리 여기 거기 이후 그후 이때 그때 이곳 그곳 이로써 이어 그해 이외 "
    "이렇게 이처럼 나아가 또한 또 그러나 하지만 한편 특히 즉 따라서 그리고 결국"
)
_POINTER = re.compile(f"(?:{'|'.join(_POINTERS.split())})(?:[은는이가을를의에도로]|에서)*,?")
_POINTS = re.compile(
    r"(?:^|\s)(?:(?:그|이|이런|이러한|그러한|그런|해당|위|본|아래|다음)\s|(?:그|이|그녀|그들|이들|그것|이것)[는은이가의를에])"
    r"|^(?:에|의|은|는|을|를|와|과|로)\s"  # what a text that lost a name begins with
)
_NO_MARKS = str.maketrans("", "", "《》〈〉「」『』")
_WHERE = ("에", "에서", "로", "으로", "에는", "에서는")
_ASKS = {"person": "누구인가", "place": "어디인가", "date": "언제인가"}
_COUNTED = ("명", "개", "마리", "권", "척", "대", "곳")


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence with its morphemes; the parts of its clauses are found once."""

    text: str
    morphemes: Sequence[Morpheme]
    join: Join
    _clauses: dict[int, Clause | None] = field(default_factory=dict)
    _borders: list[int] = field(default_factory=list)

    def clause_of(self, span: Span) -> tuple[int, Clause | None]:
        """Return the ending of a span's clause, a morpheme, and the clause; (0, None) for a span behind them all."""
        if not self._borders:
            self._borders.extend(borders_of(self.text, self.morphemes))
        for number, last in enumerate(self._borders):
            if self.morphemes[last].start >= span.end:
                if last not in self._clauses:
                    self._clauses[last] = self._clause(number)
                return last, self._clauses[last]
        return 0, None

    def _clause(self, number: int) -> Clause | None:
        opened = LINKING.match(self.text)
        begin = first = opened.end() if opened else 0
        last = self._borders[number]
        if number:
            begin = self.morphemes[self._borders[number - 1]].end
            begin += self.text[begin : begin + 1] == ","
        clause = parts_of(self.text, self.morphemes, begin, last)
        topic = topic_of(self.text, self.morphemes, begin, last) if clause and number else None
        if clause is None or topic is None or topic.stem <= first:
            return clause
        return replace(clause, chunks=(replace(topic, start=max(topic.start, first)), *clause.chunks))


@dataclass(frozen=True, slots=True)
class _Asked:
    """A statement with the answer to ask for: its clause, whose ending is morpheme `last`, and the parts of that."""

    said: Statement
    span: Span
    clause: Clause
    last: int
    own: Chunk | None  # the part that holds the answer
    others: tuple[Chunk, ...]


def rephrased(said: Statement, span: Span, draw: random.Random) -> str | None:
    """Return a question whose words stand in another order than the sentence's; None where no rule fits.

    `draw` decides between what is equally right.
    """
    text, answer = said.text, span.text
    if is_title(text, span):  # its marks go with it
        span = replace(span, start=span.start - 1, end=span.end + 1)
    last, clause = said.clause_of(span)
    if clause is None or in_brackets(text, span):
        return None
    own = next((chunk for chunk in clause.chunks if chunk.start <= span.start < chunk.end), None)
    others = (c for c in clause.chunks if c is not own and not _POINTER.fullmatch(text, c.start, c.end))
    asked = _Asked(said, span, clause, last, own, tuple(others))
    question = _headed(asked, own, draw) if own is not None and draw.random() < HEADED else None
    if question is None and draw.random() < IN_PLACE:
        question = _in_place(asked, draw)
    if question is None:
        return None
    question = varied(" ".join(BRACKETS.sub("", question).translate(_NO_MARKS).split()), draw)
    least_words = 4 if "무엇" in question else 3
    if _POINTS.search(question) or not is_readable(question, least_words) or answer in question:
        return None
    return question + "?"


def _headed(asked: _Asked, own: Chunk, draw: random.Random) -> str | None:
    """Return a question that ends in a noun for the answer, behind a clause that says which one it is."""
    text, span = asked.said.text, asked.span
    particle = text[span.end : own.end].strip(" ,")
    is_date = span.kind == "date" and particle in ("", "에", "에는")
    is_place = span.kind == "place" and particle in _WHERE
    if (own.stem != span.end and particle) or (own.role == "adverbial" and not is_date and not is_place):
        return None  # the part is not about the answer, or a relative clause cannot leave out its particle
    head = _named(asked, own, draw)
    verb = modifying(asked.said.morphemes, asked.last, asked.said.join)
    if head is None or verb is None or (head.endswith("것") and maybe_person(text, asked.said.morphemes, span)):
        return None
    kept = in_order(text, asked.others, draw, keep_topic=False)
    if _says_what(asked):
        return _of_noun(asked, own, kept, draw)
    if not kept:
        return None
    clause = f"{kept} {text[asked.clause.tail : verb[0]]}{verb[1]}"
    if span.kind != "number":
        return f"{clause} {head}{ending(head.split()[-1], span, draw)}"
    if span.unit in _COUNTED and draw.random() < 0.4:
        return f"{clause} {head}의 수는"
    return f"{clause} {_as_topic(head)} 몇 {span.unit}인가"


def _of_noun(asked: _Asked, own: Chunk, kept: str, draw: random.Random) -> str | None:
    """Return a question of a clause that says what the answer is: 서울은 한국의 수도이다, 한국의 수도는 어디인가?"""
    text, morphemes = asked.said.text, asked.said.morphemes
    verb = next(m for m in reversed(morphemes[: asked.last]) if m.tag == "VCP")
    noun = text[asked.clause.tail : verb.start].strip()
    is_bare = own.start == asked.span.start and own.role in ("topic", "subject")
    if not is_bare or not noun or noun[-1] in "년월일명)]" or not (kept or " " in noun):
        return None
    asks = _ASKS.get(asked.span.kind, "무엇인가")
    return f"{kept} {_as_topic(noun)}" + (f" {asks}" if draw.random() < 0.6 else "")


def _says_what(asked: _Asked) -> bool:
    return "VCP" in [morpheme.tag for morpheme in asked.said.morphemes[max(asked.last - 2, 0) : asked.last]]


def _named(asked: _Asked, own: Chunk, draw: random.Random) -> str | None:
    """Return the noun that stands for the answer, with what the sentence says about it in front."""
    text, span, morphemes = asked.said.text, asked.span, asked.said.morphemes
    before = text[own.start : span.start].strip()
    is_number = span.kind == "number"
    if not before:
        return None if is_number else head_of(text, morphemes, span, draw)
    near = next((m for m in reversed(morphemes) if m.end <= span.start), None)
    if near is None or len(before) > 30:
        return None
    if near.tag in ("NNG", "XSN") and span.kind in ("person", "name", "number") and text[near.end : span.start] == " ":
        return before  # the painter Monet: the painter
    if near.tag not in ("ETM", "JKG") or is_number:
        return None
    head = head_of(text, morphemes, span, draw)
    return None if near.tag == "JKG" and head in ("것", "때") else f"{before} {head}"


def _in_place(asked: _Asked, draw: random.Random) -> str | None:
    """Return a question with a question word where the answer stood, and the other parts in another order."""
    said, span, clause, own = asked.said, asked.span, asked.clause, asked.own
    question = asking(said.text, said.morphemes, asked.last, said.join)
    word, end = asking_word(said.text, said.morphemes, span)
    if question is None or word is None or not asked.others:
        return None
    if question.endswith("는가") and draw.random() < 0.4:
        question = question[:-2] + "나"
    if own is None:
        rest = f"{question[clause.tail : span.start]}{word}{question[end:]}"
        kept = in_order(said.text, asked.others, draw, keep_topic=True)
        return f"{kept} {rest}" if span.start >= clause.tail else None
    part = f"{said.text[own.start : span.start]}{word}{said.text[end : own.end]}"
    objects = [chunk for chunk in asked.others if chunk.role == "object" and own.role != "object"]
    free = [chunk for chunk in asked.others if chunk not in objects]
    kept = in_order(said.text, free, draw, keep_topic=True)
    pieces = [part, kept] if own.role == "topic" else [kept, part]
    pieces += [said.text[chunk.start : chunk.end] for chunk in objects]
    return " ".join((*pieces, question[clause.tail :]))


def _as_topic(noun: str) -> str:
    return noun + ("은" if ends_in_consonant(noun) else "는")
