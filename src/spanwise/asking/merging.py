"""One list of answers from what a reader found in several passages.

A candidate is ranked by a weighted sum of its own score, of how little the reader holds with "no answer" in its
passage, and of how near its passage is to the question: its BM25 score as a share of the best passage's. A softmax over
all candidates then gives each a share; candidates that read alike are one answer, and their shares add up.

How sure an answer is (the probability that it is right) is a logistic function of its share, of the reader's odds
against "no answer", and of the part of the question's information (sum of the rarities of its terms) that the passage
has. This part can be compared between questions, so that a question whose words are nowhere finds nothing.

All weights are in calibration.json, by language; scripts/calibrate_asking.py fits them on the bundled questions that no
shipped weights learned from, each asked of the bundled texts with and without its passage. The ranking is fitted by the
log likelihood of the right candidates among all, the logistic function by that of right answers, and the threshold by
the mean of F1 with the passage and of finding nothing without it.

Letters: C candidates of a question, F features.
Source: Platt 1999 (probabilities of a margin); Clark and Gardner 2018 (one softmax over all passages).
"""

import functools
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files

import numpy as np

from spanwise.asking.reader import ReadPassage
from spanwise.runtime.json_text import decode_json

WEIGHTS_FILE = "calibration.json"


@dataclass(frozen=True, kw_only=True)
class MergingWeights:
    """The fitted numbers of a language's reader."""

    ranking: tuple[float, float, float]  # of span score, null score, nearness
    certainty: tuple[float, float, float, float]  # a constant; of log share, odds against "no answer", information
    threshold: float  # below this probability nothing was found


@dataclass(frozen=True, slots=True)
class NearPassage:
    """A passage that was found: its BM25 score as a share of the best one's, and the part of the question's information
    that it has, both from 0 to 1."""

    nearness: float
    information: float


@dataclass(frozen=True, slots=True)
class MergedAnswer:
    """An answer: where it stands best (place of its passage among those read, characters), and how sure it is."""

    passage: int
    start: int
    end: int
    probability: float


@functools.cache
def weights_for(language: str) -> MergingWeights:
    """Return the fitted weights of a language's reader."""
    record = decode_json(files("spanwise.asking").joinpath(WEIGHTS_FILE).read_bytes())[language]
    return MergingWeights(
        ranking=tuple(record["ranking"]), certainty=tuple(record["certainty"]), threshold=record["threshold"]
    )


def comparable(text: str) -> str:
    """Return the form in which two answers are one: whatever their case, blanks and marks at their ends."""
    folded = " ".join(unicodedata.normalize("NFC", text).casefold().split())
    return folded.strip(".,;:!?\"'()[]{}“”‘’《》〈〉「」『』·").removeprefix("the ")


@dataclass(frozen=True, kw_only=True)
class Candidates:
    """The spans of all passages of a question: `places` [C, 3] are passage, start and end; `ranked_C3` the features by
    which they are ranked; `odds_C` and `information_C` those that say how sure they are; `answer_C` numbers their
    answers, equal where they read alike."""

    places: list[tuple[int, int, int]]
    ranked_C3: np.ndarray
    odds_C: np.ndarray
    information_C: np.ndarray
    answer_C: np.ndarray

    def __len__(self) -> int:
        return len(self.places)

    def order_and_shares(self, ranking: Sequence[float]) -> tuple[list[int], np.ndarray]:
        """Return the best candidate of each answer, the best answer first, and the shares of these answers."""
        scores_C = self.ranked_C3 @ np.asarray(ranking)
        weights_C = np.exp(scores_C - scores_C.max())
        shares_A = np.bincount(self.answer_C, weights=weights_C) / weights_C.sum()
        best: dict[int, int] = {}
        for number in np.argsort(-scores_C, kind="stable").tolist():
            best.setdefault(int(self.answer_C[number]), number)
        order = sorted(best, key=lambda answer: (-shares_A[answer], best[answer]))
        return [best[answer] for answer in order], shares_A[order]

    def certainty_features(self, chosen: Sequence[int], shares: np.ndarray) -> np.ndarray:
        """Return the features [A, 4] of the probability that each of the chosen candidates is right."""
        logs = np.log(np.maximum(shares, 1e-9))
        return np.stack([np.ones(len(chosen)), logs, self.odds_C[chosen], self.information_C[chosen]], axis=1)


def gather(texts: Sequence[str], near: Sequence[NearPassage], read: Sequence[ReadPassage]) -> Candidates:
    """Return the candidates of all passages."""
    places, ranked, odds, information, answers = [], [], [], [], []
    numbers: dict[str, int] = {}
    for place, (text, by, found) in enumerate(zip(texts, near, read, strict=True)):
        for span in found.spans:
            if not (words := text[span.start : span.end]).strip():
                continue
            places.append((place, span.start, span.end))
            ranked.append((span.score, found.null_score, by.nearness))
            odds.append(span.score - found.null_score)
            information.append(by.information)
            answers.append(numbers.setdefault(comparable(words), len(numbers)))
    return Candidates(
        places=places,
        ranked_C3=np.array(ranked, dtype=np.float64).reshape(-1, 3),
        odds_C=np.array(odds, dtype=np.float64),
        information_C=np.array(information, dtype=np.float64),
        answer_C=np.array(answers, dtype=np.int64),
    )


def merge(candidates: Candidates, weights: MergingWeights, top: int) -> list[MergedAnswer]:
    """Return at most `top` answers, the best first, each with the probability that it is right."""
    if not len(candidates):
        return []
    chosen, shares = candidates.order_and_shares(weights.ranking)
    logits = candidates.certainty_features(chosen, shares) @ np.asarray(weights.certainty)
    probabilities = np.minimum.accumulate(1.0 / (1.0 + np.exp(-np.clip(logits, -50, 50))))  # never above a better one
    return [
        MergedAnswer(*candidates.places[number], probability=float(chance))
        for number, chance in zip(chosen[:top], probabilities, strict=False)
    ]
