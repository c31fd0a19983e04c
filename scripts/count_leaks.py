#!/usr/bin/env python3
"""Count the paragraphs of training files that share eight words in a row with those of a test set.

    python scripts/count_leaks.py --test dev-v1.1.json train.json wiki.txt.xz ...

Training files are those of questions, of tags and of coreference that `spanwise finetune` reads, whose paragraphs are
contexts, texts and sentences, and text that `spanwise pretrain` reads, where a line is a paragraph. Of a test file its
paragraphs count. Prints a line per training file, and ends with status 1 where any paragraph is shared; `--show 3`
prints the first shared runs too. Eight words also find official names and stock phrases; of `--words 13`, the length of
Brown et al. 2020 (GPT-3, appendix C), copied text remains.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from spanwise.tasks.coref.documents import Document, TextDocument
from spanwise.tasks.coref.reader import read_coreference
from spanwise.tasks.files.guess import looks_like
from spanwise.tasks.qa.forbidden import paragraph_runs
from spanwise.tasks.qa.reader import read_questions
from spanwise.tasks.tagging.reader import read_tagged
from spanwise.text.corpus import CorpusOptions, read_documents
from spanwise.text.word_runs import RUN_WORDS, WordRuns


@dataclass(frozen=True)
class Leaks:
    """How many paragraphs of a file share a run with the test set, of how many, and the first run of each."""

    path: Path
    length: int  # words of a run
    num_paragraphs: int
    shared: tuple[str, ...]

    def __str__(self) -> str:
        counts = f"{len(self.shared):,} of {self.num_paragraphs:,} paragraphs"
        return f"{self.path}: {counts} share {self.length} words in a row"


def leaks_of(path: str | Path, runs: WordRuns) -> Leaks:
    """Compare a training file with the runs of a test set. Raises: DataError for a file that can't be read."""
    found, number = [], 0
    for paragraph in paragraphs_of(path):
        number += 1
        found += runs.shared(paragraph)[:1]
    return Leaks(Path(path), runs.length, number, tuple(found))


def paragraphs_of(path: str | Path) -> Iterator[str]:
    """The contexts of questions, the texts that are tagged, the sentences of documents, or the lines of a text file."""
    kind = looks_like(path)
    if kind == "qa":
        yield from read_questions(path, purpose="predict").contexts
        return
    if kind == "tagging":
        yield from (sentence.text for sentence in read_tagged(path, purpose="predict").sentences)
        return
    if kind == "coref":
        for found in read_coreference(path, purpose="predict").documents:
            yield from sentences_of(found)
        return
    for document in read_documents(path, CorpusOptions(lines="sentences")):
        yield from document.sentences


def sentences_of(document: Document) -> Iterator[str]:
    """The sentences of a document in words, or the whole of one in text."""
    if isinstance(document, TextDocument):
        yield document.text
    else:
        yield from (" ".join(document.words[a:b]) for a, b in pairwise(document.sentence_borders))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path, help="training files: questions or text")
    parser.add_argument("--test", nargs="+", type=Path, required=True, help="question files of the test set")
    parser.add_argument("--words", type=int, default=RUN_WORDS, help=f"length of a run (default: {RUN_WORDS})")
    parser.add_argument("--show", type=int, default=0, help="shared runs to print per file")
    asked = parser.parse_args(arguments)
    runs = paragraph_runs(asked.test, length=asked.words)
    found = [leaks_of(path, runs) for path in asked.files]
    for leaks in found:
        print(leaks)
        for run in leaks.shared[: asked.show]:
            print(f"    {run}")
    return int(any(leaks.shared for leaks in found))


if __name__ == "__main__":
    sys.exit(main())
