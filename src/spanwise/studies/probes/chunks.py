"""Chunks: F1 on CoNLL-2000's test part after 100 and 1,000 training sentences.

Source: Tjong Kim Sang and Buchholz 2000.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar

from pydantic import Field

from spanwise.config import part
from spanwise.studies.probes.base import Context, Figure, Figures, Material, ProbeFile
from spanwise.studies.probes.tagged import tagging_figures, tagging_scores


@part("chunks_probe")
class Chunks:
    """Fine-tune on so many sentences and find the chunks of the test part."""

    sizes: tuple[Annotated[int, Field(ge=1)], ...] = (100, 1_000)
    least_steps: Annotated[int, Field(ge=1)] = 150  # small sets are read again until so many steps are done
    num_epochs: Annotated[int, Field(ge=1)] = 5
    learning_rate: Annotated[float, Field(gt=0)] | None = None  # None: by the encoder's width

    name: ClassVar[str] = "chunks"
    what: ClassVar[str] = "chunking F1 after few training sentences"
    needs_valid: ClassVar[bool] = False

    @property
    def files(self) -> Mapping[str, ProbeFile]:
        return {
            key: ProbeFile(
                patterns=(f"tagging/conll2000/{part_name}*", f"conll2000/{part_name}*"),
                what=f"CoNLL-2000's {part_name} sentences, a word, its class and its chunk tag a line",
                how=f"It is {part_name}.txt of the CoNLL-2000 shared task on chunking, as its site has it.",
            )
            for key, part_name in (("train", "train"), ("dev", "test"))
        }

    @property
    def figures(self) -> tuple[Figure, ...]:
        return tagging_figures("chunks", self.sizes)

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
