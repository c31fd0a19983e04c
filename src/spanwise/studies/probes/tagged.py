"""What the probes of tagged sentences have in common: fine-tune on so many sentences, and score spans."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from pydantic import Field

from spanwise.studies.probes.base import Context, Figure, Figures, Material
from spanwise.studies.probes.cuts import cut_sentences
from spanwise.studies.probes.finetuned import finetuned_scores
from spanwise.tasks.tagging.reader import Purpose, read_tagged

BATCH = 16
PURPOSES: dict[str, Purpose] = {"train": "train", "dev": "score"}


@dataclass(frozen=True, kw_only=True)
class TaggedProbe:
    """Fine-tune on so many sentences of "train", find the spans of "dev"; a probe says which files those are."""

    sizes: tuple[Annotated[int, Field(ge=1)], ...] = (100, 1_000)
    least_steps: Annotated[int, Field(ge=1)] = 150  # small sets are read again until so many steps are done
    num_epochs: Annotated[int, Field(ge=1)] = 5
    learning_rate: Annotated[float, Field(gt=0)] | None = None  # None: by the encoder's width

    name: ClassVar[str]
    needs_valid: ClassVar[bool] = False

    @property
    def figures(self) -> tuple[Figure, ...]:
        return tuple(
            Figure(key=f"f1_at_{size}", label=f"{self.name}, {size:,} sentences: F1", unit="%", better="higher")
            for size in self.sizes
        )

    def measure(self, context: Context) -> Figures:
        """F1 of spans on the development file after fine-tuning on each size of the training file."""
        files, cuts = context.material.files, context.material.cuts
        found: Figures = {}
        for size in self.sizes:
            epochs = max(self.num_epochs, round(self.least_steps * BATCH / size))
            scores = finetuned_scores(
                context,
                f"{self.name}-{size}",
                "tagging",
                train=cut_sentences(files["train"], size, cuts),
                dev=files["dev"],
                learning_rate=self.learning_rate,
                overrides=[
                    f"task.max_length={context.material.max_length}",
                    f"training.num_epochs={epochs}",
                    f"batch_size={BATCH}",
                ],
            )
            found[f"f1_at_{size}"] = scores["f1"]
        return found

    def baselines(self, material: Material) -> dict[str, Figures]:
        for key, purpose in PURPOSES.items():
            read_tagged(material.files[key], purpose=purpose)
        for size in self.sizes:
            cut_sentences(material.files["train"], size, material.cuts)
        return {}
