"""Chunks and entities: F1 of spans after 100 and 1,000 training sentences.

Source: Tjong Kim Sang and Buchholz 2000 (CoNLL-2000); Pan et al. 2017 (WikiANN), in the split of Rahimi et al. 2019.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from spanwise.config import part
from spanwise.config.ranges import Count
from spanwise.studies.probes.base import ProbeFile
from spanwise.studies.probes.cuts import cut_sentences
from spanwise.studies.probes.few_examples import FewExamples
from spanwise.tasks.tagging.reader import read_tagged


@dataclass(frozen=True, kw_only=True)
class TaggedProbe(FewExamples):
    """Fine-tune on so many tagged sentences, and score the spans of others."""

    sizes: tuple[Count, ...] = (100, 1_000)

    task: ClassVar[str] = "tagging"
    examples: ClassVar[str] = "sentences"
    batch_size: ClassVar[int] = 16
    scores: ClassVar[Mapping[str, str]] = {"f1": "F1"}

    def layout(self, max_length: int) -> list[str]:
        return [f"task.max_length={max_length}"]

    def read(self, path: Path, *, is_trained_on: bool) -> object:
        return read_tagged(path, purpose="train" if is_trained_on else "score")

    def count(self, path: Path) -> int:
        return len(read_tagged(path, purpose="score").sentences)

    def cut(self, path: Path, size: int | None, folder: Path) -> Path:
        return cut_sentences(path, size, folder)


@part("chunks_probe")
class Chunks(TaggedProbe):
    """Find the chunks of CoNLL-2000's test part."""

    name: ClassVar[str] = "chunks"
    subject: ClassVar[str] = name
    what: ClassVar[str] = "chunking F1 after few training sentences"
    files: ClassVar[Mapping[str, ProbeFile]] = {
        key: ProbeFile(
            patterns=(f"tagging/conll2000/{part_name}*", f"conll2000/{part_name}*"),
            what=f"CoNLL-2000's {part_name} sentences, a word, its class and its chunk tag per line",
            how=f"It is {part_name}.txt of the CoNLL-2000 shared task on chunking, as its site has it.",
        )
        for key, part_name in (("train", "train"), ("dev", "test"))
    }


@part("entities_probe")
class Entities(TaggedProbe):
    """Find the entities of WikiANN's English development part."""

    name: ClassVar[str] = "entities"
    subject: ClassVar[str] = name
    what: ClassVar[str] = "named entity F1 after few training sentences"
    files: ClassVar[Mapping[str, ProbeFile]] = {
        key: ProbeFile(
            patterns=(f"tagging/wikiann_en/{key}*", f"wikiann_en/{key}*"),
            what=f"the {key} sentences of WikiANN's English part, a word and its tag per line",
            how=f"It is the file {key} of en.tar.gz in the split of the GitHub repository afshinrahimi/mmner.",
        )
        for key in ("train", "dev")
    }
