"""Korean questions from statements: a question word in the answer's place, which is where Korean asks, and the end of
the clause turned into a question: 세종은 1443년에 한글을 만들었다, 세종은 언제 한글을 만들었는가?

The clause that holds the answer is taken with the topic (…은/는) that opens the sentence; what follows is left out.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence

from spanwise.questions.korean import words
from spanwise.questions.korean.chunks import Chunk
from spanwise.questions.korean.endings import as_question
from spanwise.questions.korean.particles import with_particle
from spanwise.questions.korean.spans import NOUNS, PARTICLES, is_title
from spanwise.questions.parts import BLANK, Span
from spanwise.text.morphemes import Morpheme

MAX_CHARACTERS, MIN_WORDS, MAX_WORDS = 90, 4, 18
BRACKETS = re.compile(r"\s?[(\[（《][^()\[\]（）]*[)\]）]")
_POINTING = re.compile(
    r"^(?:그|이|그녀|그들|이들|이것|그것|저|나|우리|이후|그후|이때|그때|당시|여기|거기|예)[은는이가을를의에도로]*[\s,]"
    r"|^(?:그러한|이러한|이런|그런|해당|위|본|이어|그중|이중|이곳|그곳)\S*\s"
)
LINKING = re.compile(
    r"^(?:또한|또|그러나|하지만|따라서|그리고|그래서|즉|한편|특히|다만|그런데|그러므로|결국|먼저|마지막으로|그리하여|이처럼),?\s+"
)
_LEADING = re.compile(r"(?:다음|아래)[와과] 같|(?:^|\s)(?:그|그녀|그들|이들|그것|이것)[는은가의를]\s")
_NOT_WHEN = ("이후", "이전", "경", "초", "말", "후반", "초반", "중반", "전", "후", "당시", "무렵", "쯤", "기준")
_MARKS = frozenset("()[]\"“”'‘’《》〈〉「」『』;:=*?…")
_WORDS = {"person": "누구", "place": "어디", "name": "무엇", "recurring": "무엇"}
_THINGS = ("교", "당", "강", "산", "회", "사", "군", "법", "호", "책", "상", "팀", "리그", "학", "족")
_AT_PLACES = ("에", "에서", "에는", "에서는", "으로", "로", "까지", "부터", "의", "에서의")
_TOPICS, _SUBJECTS = ("은", "는"), ("은", "는", "이", "가", "에서는")


def ask(text: str, morphemes: Sequence[Morpheme], span: Span, *, cloze: bool) -> str | None:
    """Return a question of a sentence; None where no rule fits."""
    opened = LINKING.match(text)
    if _POINTING.match(text[opened.end() :] if opened else text) or in_brackets(text, span):
        return None
    found = clause_of(text, morphemes, span)
    if found is None:
        return None
    begin, last = found
    topic = _topic(text, morphemes, begin, last)
    ends_sentence = morphemes[last].tag == "EF"
    if topic is None or (cloze and not ends_sentence):
        return None
    body = text[: morphemes[last].end] if cloze else as_question(text, morphemes, last)
    word, after = (BLANK, span.end) if cloze else asking_word(text, morphemes, span)
    if body is None or word is None:
        return None
    question = f"{topic}{body[begin : span.start]}{word}{body[after:]}"
    question = LINKING.sub("", " ".join(BRACKETS.sub("", question).split()))
    if not is_readable(question) or span.text in question:
        return None
    return question + ("." if cloze else "?")


def clause_of(text: str, morphemes: Sequence[Morpheme], span: Span) -> tuple[int, int] | None:
    """Return where the clause of a span begins, and which morpheme is its ending; None where it has none.

    A clause ends in a final ending (EF), or in one that links (EC) with a comma behind it.
    """
    begin = 0
    for place, morpheme in enumerate(morphemes):
        written = text[morpheme.start : morpheme.end]
        links = morpheme.tag == "EC" and text[morpheme.end : morpheme.end + 1] == "," and written in words.CONNECTIVES
        if links and morpheme.end <= span.start:
            begin = morpheme.end + 1
        elif (links or morpheme.tag == "EF") and morpheme.start >= span.end:
            return begin, place
    return None


def is_readable(question: str, least_words: int = MIN_WORDS) -> bool:
    """Return whether a question is of a fit length and free of marks."""
    num_words = len(question.split())
    if not least_words <= num_words <= MAX_WORDS or len(question) > MAX_CHARACTERS or _LEADING.search(question):
        return False
    return not _MARKS & set(question)


def _topic(text: str, morphemes: Sequence[Morpheme], begin: int, last: int) -> str | None:
    """Return the topic to put before a clause: empty where it has a subject, None where none can be found."""
    subjects = _subjects_of(text, morphemes, last)
    if any(subject.start >= begin for subject in subjects):
        return ""
    found = topic_of(text, morphemes, begin, last)
    return None if found is None else text[: found.end] + " "


def topic_of(text: str, morphemes: Sequence[Morpheme], begin: int, last: int) -> Chunk | None:
    """Return the topic that opens a sentence, for a clause from `begin` that has no subject of its own."""
    subjects = _subjects_of(text, morphemes, last)
    if any(subject.start >= begin for subject in subjects):
        return None
    for subject in subjects:
        if text[subject.start : subject.end] in _TOPICS:
            topic = text[: subject.end]
            is_short = len(topic.split()) <= 4 and "," not in topic
            return Chunk(0, subject.end, "topic", subject.start) if is_short else None
    return None


def _subjects_of(text: str, morphemes: Sequence[Morpheme], last: int) -> list[Morpheme]:
    return [
        second
        for first, second in itertools.pairwise(morphemes[: last + 1])
        if second.tag in ("JX", "JKS")
        and text[second.start : second.end] in _SUBJECTS
        and (first.tag in NOUNS or first.tag in ("NP", "NNB", "SN", "SSC", "SW", "SSO"))
    ]


def asking_word(text: str, morphemes: Sequence[Morpheme], span: Span) -> tuple[str | None, int]:
    """Return the question word with the particle that stood behind the answer, and where what it replaces ends."""
    behind = [morpheme for morpheme in morphemes if morpheme.start >= span.end]
    end = span.end
    for morpheme in behind:
        if morpheme.start != end or morpheme.tag not in PARTICLES:
            break
        end = morpheme.end
    particle = text[span.end : end]
    is_said_to_be = end == span.end and bool(behind) and behind[0].tag == "VCP"
    if end == span.end and text[end : end + 1] not in (" ", ",") and not is_said_to_be:
        return None, end
    if span.kind == "date":
        following = text[end:].lstrip(" ,")
        is_verb = next((m.tag[0] == "V" for m in behind if m.start >= end and m.tag != "SP"), False)
        if following.startswith(_NOT_WHEN) or (is_verb and not particle and not is_said_to_be):
            return None, end
        return _date(span, particle, end, text)
    if span.kind == "number":
        return f"몇 {span.unit}{particle}", end
    before = next((m for m in reversed(morphemes) if m.end <= span.start), None)
    if before is not None and (before.tag in NOUNS or before.tag in ("SN", "NNB", "SP", "SW")):
        return None, end  # the noun before it belongs to it: 아버지 서광효
    if maybe_person(text, morphemes, span):
        return None, end
    if is_said_to_be:
        if _WORDS[span.kind] == "무엇" and text[end : end + 1] == "였":
            return "무엇이었", end + 1  # 학교였다: 무엇이었는가
        return _WORDS[span.kind], end
    if not particle or particle in ("과", "와", "이나", "나", "이라는", "라는"):
        return None, end
    if span.kind == "place" and particle not in _AT_PLACES:
        return with_particle("어느 곳", particle), end
    return with_particle(_WORDS[span.kind], particle), end


def maybe_person(text: str, morphemes: Sequence[Morpheme], span: Span) -> bool:
    """Return whether a name may be that of a person, Korean or foreign, or of a thing."""
    if span.kind != "name" or is_title(text, span):
        return False
    inside = {morpheme.tag for morpheme in morphemes if span.start <= morpheme.start < span.end}
    is_korean = len(span.text) == 3 and span.text[0] in words.SURNAMES
    return is_korean or (inside == {"NNP"} and not span.text.endswith(_THINGS))


def _date(span: Span, particle: str, end: int, text: str) -> tuple[str | None, int]:
    following = text[end : end + 2].strip(" ,")
    if following[:1].isdigit() or text[: span.start].rstrip().endswith(("부터", "에서", "~")):
        return None, end  # one end of a range
    if particle in ("에", "에는") or (not particle and text[end : end + 1] in (" ", ",")):
        return "언제", end + (text[end : end + 1] == ",")
    if particle in ("부터", "까지"):
        return "언제" + particle, end
    if span.text.endswith(("세기", "년대")):
        return f"몇 {span.text[-2:]}{particle}", end
    return with_particle("어느 해" if span.text.endswith("년") else "어느 날", particle), end


def in_brackets(text: str, span: Span) -> bool:
    """Return whether a span stands in a bracket."""
    before = text[: span.start]
    return sum(map(before.count, "([（《")) > sum(map(before.count, ")]）》"))
