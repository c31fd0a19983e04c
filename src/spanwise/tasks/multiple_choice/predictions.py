"""The choice that is made for each question, and how it is written and read."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from spanwise.errors import DataError
from spanwise.tasks.files.tables import answer_files, read_answers
from spanwise.tasks.multiple_choice.reader import ChoiceData, Question


@dataclass(frozen=True, kw_only=True)
class ChoicePredictions:
    """The probability of every choice of each question, and the number of tokens that were not seen."""

    questions: tuple[Question, ...]
    probabilities: tuple[np.ndarray, ...]  # [k] each
    num_dropped: tuple[int, ...]

    @property
    def best(self) -> tuple[int, ...]:
        """The number of the likeliest choice, from 0; of equal ones the first."""
        return tuple(int(shares.argmax()) for shares in self.probabilities)

    def record(self, number: int) -> dict[str, object]:
        """One prediction as plain values."""
        shares, place = self.probabilities[number], self.best[number]
        return {
            "choice": place,
            "answer": self.questions[number].choices[place],
            "score": float(shares[place]),
            "scores": [float(share) for share in shares],
            "num_windows": 1,
            "num_dropped_tokens": self.num_dropped[number],
        }

    def files(self) -> dict[str, object]:
        """`.json`: all that is known of each question, by id; `.tsv`: id and number of the choice."""
        return answer_files({q.id: self.record(number) for number, q in enumerate(self.questions)}, self.best)


def decide(data: ChoiceData, outputs: Sequence[np.ndarray], num_dropped: np.ndarray) -> ChoicePredictions:
    """The softmax over each question's own scores [k]."""
    shares = []
    for scores in outputs:
        weights = np.exp(scores.astype(np.float64) - scores.max())
        shares.append(weights / weights.sum())
    return ChoicePredictions(
        questions=data.questions, probabilities=tuple(shares), num_dropped=tuple(int(n) for n in num_dropped)
    )


def read_predictions(path: Path) -> dict[str, int]:
    """Choices by id, counted from 0, from JSON (number, or a record as `predict` writes it) or a TSV of id and number.

    Raises: DataError naming the place.
    """
    found = read_answers(path, "choice", what="choice")
    for id, value in found.items():
        if isinstance(value, bool) or not str(value).isdecimal():
            raise DataError(f"{path}, question {id!r}: {value!r} came; the number of a choice from 0 was expected.")
    return {id: int(str(value)) for id, value in found.items()}
