"""How two answers are compared: SQuAD's way, by words, and KorQuAD's, by characters.

| metric | before comparing | F1 counts |
|---|---|---|
| squad | lower case; no ASCII punctuation, English articles or surplus blanks | words |
| korquad | marks around names become blanks; lower case; no ASCII punctuation | characters that are no blanks |

MRQA's script compares as SQuAD 1.1's does.

Source: Rajpurkar et al. 2016 (evaluate-v1.1.py); Lim et al. 2019 (KorQuAD 1.0, evaluate-v1.0.py).
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

MetricName = Literal["squad", "korquad"]
METRIC_NAMES: tuple[MetricName, ...] = get_args(MetricName)
_ARTICLES = re.compile(r"\b(a|an|the)\b", re.UNICODE)
_NO_PUNCTUATION = {ord(character): None for character in string.punctuation}
_KOREAN_BLANKS = {ord(character): " " for character in "'\"《》<>〈〉()‘’"}


def normalize_answer(text: str) -> str:
    """Lower-case, without ASCII punctuation, English articles and surplus white space."""
    bare = text.lower().translate(_NO_PUNCTUATION)
    return " ".join(_ARTICLES.sub(" ", bare).split())


def normalize_korean(text: str) -> str:
    """Lower-case, without ASCII punctuation and surplus white space; marks around names and titles become blanks."""
    return " ".join(text.translate(_KOREAN_BLANKS).lower().translate(_NO_PUNCTUATION).split())


def characters(text: str) -> list[str]:
    """All but the blanks."""
    return list("".join(text.split()))


@dataclass(frozen=True)
class Metric:
    """`normalize` what is compared, `units` what F1 counts."""

    name: MetricName
    title: str  # of its F1
    normalize: Callable[[str], str]
    units: Callable[[str], list[str]]

    def exact(self, gold: str, guess: str) -> int:
        """1 where both read alike; both are normalised."""
        return int(gold == guess)

    def f1(self, gold: str, guess: str, *, empty_may_match: bool) -> float:
        """Return the F1 of two normalised texts. Only the 2.0 script knows an empty answer."""
        return units_f1(self.units(gold), self.units(guess), empty_may_match)


def units_f1(gold: Sequence[str], guess: Sequence[str], empty_may_match: bool) -> float:
    """Harmonic mean of precision and recall over the units that both have."""
    if not gold or not guess:
        return float(empty_may_match and gold == guess)
    num_same = sum((Counter(gold) & Counter(guess)).values())
    if num_same == 0:
        return 0
    precision = 1.0 * num_same / len(guess)
    recall = 1.0 * num_same / len(gold)
    return (2 * precision * recall) / (precision + recall)


METRICS: dict[str, Metric] = {
    "squad": Metric("squad", "F1", normalize_answer, str.split),
    "korquad": Metric("korquad", "F1 of characters", normalize_korean, characters),
}


def metric_for(version: str, name: str | None = None) -> Metric:
    """The metric `name`, or the one of the data set that a file calls itself."""
    return METRICS[name or ("korquad" if version.lower().startswith("korquad") else "squad")]
