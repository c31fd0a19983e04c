"""Questions: F1 on SQuAD 1.1 dev after fine-tuning on 128, 1,024 and all questions of SQuADShifts' new-wiki part.

Source: Rajpurkar et al. 2016 (SQuAD); Miller et al. 2020 (SQuADShifts: Wikipedia text, questions made the same way);
Ram et al. 2021 (few-shot sizes: 128 and 1,024).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar

from pydantic import Field

from spanwise.config import part
from spanwise.studies.probes.base import Context, Figure, Figures, Material, ProbeFile
from spanwise.studies.probes.cuts import cut_questions
from spanwise.studies.probes.finetuned import finetuned_scores
from spanwise.tasks.qa.reader import read_squad

LONGEST = 384  # tokens of a window
BATCH = 32


@part("questions_probe")
class Questions:
    """Fine-tune on so many questions (None: all) and answer the development set."""

    sizes: tuple[Annotated[int, Field(ge=1)] | None, ...] = (128, 1_024, None)
    least_steps: Annotated[int, Field(ge=1)] = 120  # small sets are read again until so many steps are done
    num_epochs: Annotated[int, Field(ge=1)] = 3  # and large ones so many times
    max_dev_questions: Annotated[int, Field(ge=1)] | None = None  # a cut of the development set; None: all of it
    learning_rate: Annotated[float, Field(gt=0)] | None = None  # None: by the encoder's width

    name: ClassVar[str] = "questions"
    what: ClassVar[str] = "question answering F1 after few, more and all training questions"
    needs_valid: ClassVar[bool] = False

    @property
    def files(self) -> Mapping[str, ProbeFile]:
        return {
            "train": ProbeFile(
                patterns=("qa/squadshifts/new_wiki*.json*", "new_wiki*.json*", "qa/train*.json*"),
                what="training questions in the shape of SQuAD 1.1 (SQuADShifts' new-wiki part)",
                how="It is new_wiki_v1.0.json of the GitHub repository modestyachts/squadshifts-website (datasets); "
                "SQuAD's own train-v1.1.json serves too, as qa/train-v1.1.json.",
            ),
            "dev": ProbeFile(
                patterns=("qa/squad/dev-v1.1.json*", "dev-v1.1.json*", "qa/dev*.json*"),
                what="the development questions of SQuAD 1.1",
                how="It is dev-v1.1.json of the SQuAD site (the GitHub repository rajpurkar/SQuAD-explorer, dataset).",
            ),
        }

    @property
    def figures(self) -> tuple[Figure, ...]:
        return tuple(
            Figure(
                key=f"{score}_at_{size or 'all'}",
                label=f"answers, {f'{size:,}' if size else 'all'} questions: {words}",
                unit="%",
                better="higher",
                main=score == "f1",
            )
            for size in self.sizes
            for score, words in (("f1", "F1"), ("exact", "exact"))
        )

    def measure(self, context: Context) -> Figures:
        files, cuts = context.material.files, context.material.cuts
        length = min(context.material.max_length, LONGEST)
        layout = [f"task.max_length={length}", f"task.doc_stride={max(1, length // 2)}", f"batch_size={BATCH}"]
        dev = cut_questions(files["dev"], self.max_dev_questions, cuts)
        found: Figures = {}
        for size in self.sizes:
            train = cut_questions(files["train"], size, cuts)
            scores = finetuned_scores(
                context,
                f"questions-{size or 'all'}",
                "qa",
                train=train,
                dev=dev,
                learning_rate=self.learning_rate,
                overrides=[*layout, f"training.num_epochs={self.epochs_of(size)}"],
            )
            found |= {f"{score}_at_{size or 'all'}": scores[score] for score in ("f1", "exact")}
        return found

    def epochs_of(self, size: int | None) -> int:
        """How often a set is read: `num_epochs` times, or until `least_steps` are done."""
        if size is None:
            return self.num_epochs
        return max(self.num_epochs, round(self.least_steps * BATCH / size))

    def baselines(self, material: Material) -> dict[str, Figures]:
        read_squad(material.files["train"])
        read_squad(material.files["dev"], purpose="score")
        for size in self.sizes:
            cut_questions(material.files["train"], size, material.cuts)
        return {}
