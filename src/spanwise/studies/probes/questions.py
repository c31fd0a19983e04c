"""Questions: F1 on SQuAD 1.1 dev after fine-tuning on 128, 1,024 and all questions of SQuADShifts' new-wiki part.

Source: Rajpurkar et al. 2016 (SQuAD); Miller et al. 2020 (SQuADShifts: Wikipedia text, questions made the same way);
Ram et al. 2021 (few-shot sizes: 128 and 1,024).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from spanwise.config import part
from spanwise.config.ranges import Count
from spanwise.studies.probes.base import ProbeFile
from spanwise.studies.probes.cuts import count_questions, cut_questions
from spanwise.studies.probes.few_examples import FewExamples
from spanwise.tasks.qa.reader import read_questions

LONGEST = 384  # tokens of a window


TRAINING_QUESTIONS = ProbeFile(
    patterns=("qa/squadshifts/new_wiki*.json*", "new_wiki*.json*", "qa/train*.json*"),
    what="training questions in the shape of SQuAD 1.1 (SQuADShifts' new-wiki part)",
    how="It is new_wiki_v1.0.json of the GitHub repository modestyachts/squadshifts-website (datasets); "
    "SQuAD's own train-v1.1.json serves too, as qa/train-v1.1.json.",
)


@dataclass(frozen=True, kw_only=True)
class QuestionProbe(FewExamples):
    """Fine-tune on so many questions of a file of the SQuAD shape, and answer others."""

    task: ClassVar[str] = "qa"
    subject: ClassVar[str] = "answers"
    examples: ClassVar[str] = "questions"
    scores: ClassVar[Mapping[str, str]] = {"f1": "F1", "exact": "exact"}
    shared_words: ClassVar[str] = "unmarked"  # alike for all: "auto" would leave random weights without

    def layout(self, max_length: int) -> list[str]:
        length = min(max_length, LONGEST)
        windows = [f"task.max_length={length}", f"task.doc_stride={max(1, length // 2)}"]
        return [*windows, f"task.shared_words={self.shared_words}"]

    def read(self, path: Path, *, is_trained_on: bool) -> object:
        return read_questions(path, purpose="train" if is_trained_on else "score")

    def count(self, path: Path) -> int:
        return count_questions(path)

    def cut(self, path: Path, size: int | None, folder: Path) -> Path:
        return cut_questions(path, size, folder)


@part("questions_probe")
class Questions(QuestionProbe):
    """Fine-tune on so many questions (None: all) and answer the development set."""

    sizes: tuple[Count | None, ...] = (128, 1_024, None)
    least_steps: Count = 120
    num_epochs: Count = 3
    max_dev_questions: Count | None = None  # a cut of the development set; None: all of it

    name: ClassVar[str] = "questions"
    what: ClassVar[str] = "question answering F1 after few, more and all training questions"
    batch_size: ClassVar[int] = 32
    files: ClassVar[Mapping[str, ProbeFile]] = {
        "train": TRAINING_QUESTIONS,
        "dev": ProbeFile(
            patterns=("qa/squad/dev-v1.1.json*", "dev-v1.1.json*", "qa/dev*.json*"),
            what="the development questions of SQuAD 1.1",
            how="It is dev-v1.1.json of the SQuAD site (the GitHub repository rajpurkar/SQuAD-explorer, dataset).",
        ),
    }

    @property
    def dev_size(self) -> int | None:
        return self.max_dev_questions
