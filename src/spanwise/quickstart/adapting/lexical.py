"""Answers by shared words alone, the baseline of the questions: no model, no training, no labels.

Every run of at most four words of a passage is a candidate, unless it holds a word of the question or begins or ends
with a word of no weight. It is worth the words of the question around it: each counts by how rare it is in the passage
and by how near its nearest occurrence stands.

Source: the sliding window with distances of Richardson, Burges and Renshaw 2013 (MCTest), section 4.1; Rajpurkar et al.
2016 (SQuAD) use it as a baseline, too. Differs: candidates are short runs of words instead of given choices, so window
and distance are one sum.
"""

import math
import re
import unicodedata
from collections import Counter

MOST_WORDS = 4  # of an answer
_WORD = re.compile(r"\w+(?:[.:,'’-]\w+)*")
_CLAUSE = re.compile(r"[.,;:!?\"“”()]|--|—")  # an answer does not reach across
_KOREAN = re.compile("[\uac00-\ud7a3]{2}")
_PARTICLES = re.compile(
    "(?<=[\uac00-\ud7a3A-Za-z0-9])(?:에서는|에서|에게|으로|부터|까지|은|는|이|가|을|를|에|의|로|와|과|도|만)$"
)
LIGHT = set(  # words of no weight: an answer neither begins nor ends with one
    re.findall(
        r"\w+",
        """
        a an the of in on at to for from by with and or but as is are was were be been being it its he she his her him
        they them their we us our i my me you your this that these those there here not no so if then than which who
        whom whose what when where why how had has have having do does did will would could should may might must shall
        can into upon up down out over under again very just only also said
        """,
    )
)


def lexical_answer(question: str, passage: str) -> str:
    """Return the run of words of a passage that stands nearest to the words of the question; "" where there is none."""
    found = list(_WORD.finditer(passage))
    keys = [key_of(word.group()) for word in found]
    counts = Counter(keys)
    asked = {key for word in _WORD.findall(question) if (key := key_of(word)) in counts and key not in LIGHT}
    places = {key: [place for place, other in enumerate(keys) if other == key] for key in asked}
    best, answer = 0.0, ""
    for first in range(len(found)):
        for last in range(first, min(first + MOST_WORDS, len(found))):
            if keys[last] in asked or _CLAUSE.search(passage[found[max(first, last - 1)].end() : found[last].start()]):
                break
            if keys[first] in LIGHT or keys[last] in LIGHT:
                continue
            score = sum(
                math.log1p(1.0 / counts[key]) / min(max(first - place, place - last) for place in where)
                for key, where in places.items()
            )
            if score > best:
                best, answer = score, passage[found[first].start() : found[last].end()]
    return _PARTICLES.sub("", answer)


def key_of(word: str) -> str:
    """Return what two words are compared by: small letters, and in Korean the first two syllables, as particles and
    endings follow them."""
    word = unicodedata.normalize("NFC", word).lower()
    beginning = _KOREAN.match(word)
    return beginning.group() if beginning else word
