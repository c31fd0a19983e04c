"""Chunks: F1 on CoNLL-2000's test part after 100 and 1,000 training sentences.

Source: Tjong Kim Sang and Buchholz 2000.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from spanwise.config import part
from spanwise.studies.probes.base import ProbeFile
from spanwise.studies.probes.tagged import TaggedProbe


@part("chunks_probe")
class Chunks(TaggedProbe):
    """Fine-tune on so many sentences and find the chunks of the test part."""

    name: ClassVar[str] = "chunks"
    what: ClassVar[str] = "chunking F1 after few training sentences"

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
