"""Entities: F1 on WikiANN's English development part after 100 and 1,000 training sentences.

Source: Pan et al. 2017 (WikiANN), in the split of Rahimi et al. 2019.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from spanwise.config import part
from spanwise.studies.probes.base import ProbeFile
from spanwise.studies.probes.tagged import TaggedProbe


@part("entities_probe")
class Entities(TaggedProbe):
    """Fine-tune on so many sentences and find the entities of the development part."""

    name: ClassVar[str] = "entities"
    what: ClassVar[str] = "named entity F1 after few training sentences"

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
