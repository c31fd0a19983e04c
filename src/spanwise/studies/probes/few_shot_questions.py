"""Few-shot questions: F1 after 16, 128, 1,024 and all questions, drawn anew with each seed, on articles kept aside.

Source: Ram et al. 2021 (Splinter), sections 5.1 and 5.3: few-shot question answering, five draws of the training set of
each size, 200 steps at least. Differs: a draw goes with a seed of pre-training, so that the pairs of a study hold both
kinds of luck; small draws lie inside large ones; all questions come from one file, and those that are scored from
articles that nothing is learned from.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, ClassVar

from pydantic import Field

from spanwise.config import part
from spanwise.config.ranges import Count
from spanwise.studies.probes.base import Material, ProbeFile
from spanwise.studies.probes.cuts import cut_questions, keep_articles_aside
from spanwise.studies.probes.questions import TRAINING_QUESTIONS, QuestionProbe


@part("few_shot_questions_probe")
class FewShotQuestions(QuestionProbe):
    """Fine-tune on so many questions (None: all that are not kept aside), and answer those kept aside.

    A seed draws its own questions, the same for all arms. A model that has learned selection points with [QUESTION],
    the others by a fresh row for start and end; so do the models of `finetune qa`, whose dropout is taken too, and the
    marks of shared words.
    """

    sizes: tuple[Count | None, ...] = (16, 128, 1_024, None)
    least_steps: Count = 200
    num_epochs: Count = 4
    num_kept_aside: Annotated[Count, Field(ge=1)] = 2_000  # questions that score all models

    name: ClassVar[str] = "few-shot-questions"
    what: ClassVar[str] = "question answering F1 after 16 to all questions, each seed with its own, on other articles"
    batch_size: ClassVar[int] = 16
    shared_words: ClassVar[str] = "marked"
    files: ClassVar[Mapping[str, ProbeFile]] = {"train": TRAINING_QUESTIONS}

    def layout(self, max_length: int) -> list[str]:
        return [*super().layout(max_length), "hidden_dropout=auto"]

    def training_file(self, material: Material, size: int | None, seed: int) -> Path:
        open_to_all, _ = self._parts(material)
        return cut_questions(open_to_all, size, material.cuts, draw=seed)

    def scored_file(self, material: Material) -> Path:
        _, aside = self._parts(material)
        return aside

    def _parts(self, material: Material) -> tuple[Path, Path]:
        return keep_articles_aside(material.files["train"], self.num_kept_aside, material.cuts)
