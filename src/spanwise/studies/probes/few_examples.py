"""The shape of probes of few examples: fine-tune on cuts of one file, and score another.

A cut holds the first n examples in an order that a key decides, so small cuts lie inside larger ones, and every arm of
a study is given the same; so is every seed, where a probe does not say otherwise.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from spanwise.config.ranges import Count, Rate
from spanwise.studies.probes.base import Context, Figure, Figures, Material
from spanwise.studies.probes.finetuned import finetuned_scores


@dataclass(frozen=True, kw_only=True)
class FewExamples(ABC):
    """Fine-tune on so many examples of "train" (None: all), score "dev"; a probe says which files and task."""

    sizes: tuple[Count | None, ...] = ()
    least_steps: Count = 150  # small sets are read again until so many steps are done
    num_epochs: Count = 5  # and large ones so many times
    learning_rate: Rate | None = None  # None: by the encoder's width

    name: ClassVar[str]
    task: ClassVar[str]
    subject: ClassVar[str]  # what is found, in the labels of figures
    examples: ClassVar[str]  # what the files hold, in the labels of figures
    batch_size: ClassVar[int]
    scores: ClassVar[Mapping[str, str]]  # label of each score by its name, the main one first
    needs_valid: ClassVar[bool] = False

    @property
    def figures(self) -> tuple[Figure, ...]:
        """Every score at every size."""
        return tuple(
            Figure(
                key=f"{score}_at_{size or 'all'}",
                label=f"{self.subject}, {f'{size:,}' if size else 'all'} {self.examples}: {label}",
                unit="%",
                better="higher",
                main=place == 0,
            )
            for size in self.sizes
            for place, (score, label) in enumerate(self.scores.items())
        )

    def measure(self, context: Context) -> Figures:
        """Return the scores on the development file after fine-tuning on each size of the training file."""
        dev = self.scored_file(context.material)
        found: Figures = {}
        for size in self.sizes:
            epochs, batch = f"training.num_epochs={self.epochs_of(size)}", f"batch_size={self.batch_size}"
            scores = finetuned_scores(
                context,
                f"{self.name}-{size or 'all'}",
                self.task,
                train=self.training_file(context.material, size, context.seed),
                dev=dev,
                learning_rate=self.learning_rate,
                overrides=[*self.layout(context.material.max_length), epochs, batch],
            )
            found |= {f"{score}_at_{size or 'all'}": scores[score] for score in self.scores}
        return found

    def epochs_of(self, size: int | None) -> int:
        """Return how often a set is read: `num_epochs` times, or until `least_steps` are done."""
        enough = 0 if size is None else round(self.least_steps * self.batch_size / size)
        return max(self.num_epochs, enough)

    def baselines(self, material: Material) -> dict[str, Figures]:
        """Read both files and make the cuts, so that a damaged or small file is refused before training."""
        for key, path in material.files.items():
            self.read(path, is_trained_on=key == "train")
        for size in self.sizes:
            self.training_file(material, size, 0)
        self.scored_file(material)
        return {}

    def examples_of(self, material: Material) -> dict[str, int]:
        """Return how many examples each figure of the main score was learned from, by its key."""
        score, *_ = self.scores
        return {
            f"{score}_at_{size or 'all'}": size or self.count(self.training_file(material, None, 0))
            for size in self.sizes
        }

    def training_file(self, material: Material, size: int | None, seed: int) -> Path:
        """Return the file that a model of a seed learns so many examples from (None: all)."""
        return self.cut(material.files["train"], size, material.cuts)

    def scored_file(self, material: Material) -> Path:
        """Return the file that all models are scored on."""
        return self.cut(material.files["dev"], self.dev_size, material.cuts)

    @property
    def dev_size(self) -> int | None:
        """The number of examples of the development file that are scored; None for all."""
        return None

    @abstractmethod
    def layout(self, max_length: int) -> list[str]:
        """Return changes of the task's recipe for sequences of at most so many tokens."""

    @abstractmethod
    def read(self, path: Path, *, is_trained_on: bool) -> object:
        """Read a whole file as the task does. Raises: DataError for a damaged one."""

    @abstractmethod
    def count(self, path: Path) -> int:
        """Return how many examples a file holds."""

    @abstractmethod
    def cut(self, path: Path, size: int | None, folder: Path) -> Path:
        """Write so many examples of a file. Raises: DataError where it has fewer."""
