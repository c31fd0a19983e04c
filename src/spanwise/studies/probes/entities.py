"""Entities: F1 on WikiANN's English development part after 100 and 1,000 training sentences.

Source: Pan et al. 2017 (WikiANN), in the split of Rahimi et al. 2019.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar

from pydantic import Field

from spanwise.config import part
from spanwise.studies.probes.base import Context, Figure, Figures, Material, ProbeFile
from spanwise.studies.probes.tagged import tagging_figures, tagging_scores


@part("entities_probe")
class Entities:
    """Fine-tune on so many sentences and find the entities of the development part."""

    sizes: tuple[Annotated[int, Field(ge=1)], ...] = (100, 1_000)
    least_steps: Annotated[int, Field(ge=1)] = 150  # small sets are read again until so many steps are done
    num_epochs: Annotated[int, Field(ge=1)] = 5
    learning_rate: Annotated[float, Field(gt=0)] | None = None  # None: by the encoder's width

    name: ClassVar[str] = "entities"
    what: ClassVar[str] = "named entity F1 after few training sentences"
    needs_valid: ClassVar[bool] = False

    @property
    def files(self) -> Mapping[str, ProbeFile]:
        return {
            key: ProbeFile(
                patterns=(f"tagging/wikiann_en/{key}*", f"wikiann_en/{key}*"),
                what=f"the {key} sentences of WikiANN's English part, a word and its tag a line",
                how=f"It is the file {key} of en.tar.gz in the split of the GitHub repository afshinrahimi/mmner.",
            )
            for key in ("train", "dev")
        }

    @property
    def figures(self) -> tuple[Figure, ...]:
        return tagging_figures("entities", self.sizes)

    def measure(self, context: Context) -> Figures:
        return tagging_scores(
            context,
            self.name,
            self.sizes,
            least_steps=self.least_steps,
            num_epochs=self.num_epochs,
            learning_rate=self.learning_rate,
        )

    def baselines(self, material: Material) -> dict[str, Figures]:
        return {}
