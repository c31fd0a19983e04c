#!/usr/bin/env python3
"""Rebuild the texts of another domain that the quickstart adapts to (own-*.xz in src/spanwise/quickstart/corpus).

    python scripts/make_quickstart_own.py en --novels books.txt.xz --not-from wiki*.xz coref*.conll --out DIR
    python scripts/make_quickstart_own.py ko --train train.tsv.xz --valid dev.tsv.xz --not-from kowiki*.xz --out DIR

English: the chapters of *The Adventures of Sherlock Holmes* in a file of novels, a chapter between blank lines. Two of
the twelve stories are kept out, the others are learned from. Korean: the HellaSwag part of KoBEST; a passage is a
context and its right ending, and the development file is what is kept out. Questions are those of
`quickstart_own_LANGUAGE.tsv` beside this file, written by hand on what is kept out. `--not-from` are the files that
the weights that ship learned from, text or labels of any task: paragraphs that share eight words in a row with them are
left out, and so are those to learn from that share eight words with what is kept out. Nothing is random.
"""

from __future__ import annotations

import argparse
import csv
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from count_leaks import paragraphs_of
from make_quickstart_corpus import read_text, write_xz

from spanwise.text.word_runs import RUN_WORDS, WordRuns, words

FIRST_CHAPTER = "To Sherlock Holmes she is always THE woman."
NUM_CHAPTERS = 16
KEPT_OUT = (10, 12)  # The Blue Carbuncle, The Engineer's Thumb
PASSAGE_CHARACTERS = 900  # of a passage that is asked about
DOCUMENT_PASSAGES = 3

Documents = list[list[str]]  # paragraphs


def holmes(novels: str) -> tuple[Documents, Documents, Documents]:
    """Return what is learned from, what is kept out, and the passages to ask about."""
    chapters = novels.strip().split("\n\n")
    first = next(n for n, chapter in enumerate(chapters) if chapter.startswith(FIRST_CHAPTER))
    learned: Documents = []
    kept: Documents = []
    asked: Documents = []
    for number, chapter in enumerate(chapters[first : first + NUM_CHAPTERS]):
        passages = list(passages_of(chapter.split("\n")))
        if number in KEPT_OUT:
            asked += passages
        documents = [
            [paragraph for passage in passages[n : n + DOCUMENT_PASSAGES] for paragraph in passage]
            for n in range(0, len(passages), DOCUMENT_PASSAGES)
        ]
        (kept if number in KEPT_OUT else learned).extend(documents)
    return learned, kept, asked


def passages_of(paragraphs: Sequence[str]) -> Iterator[list[str]]:
    """Put neighbouring paragraphs together until they are long enough to ask about."""
    passage: list[str] = []
    for paragraph in paragraphs:
        passage.append(paragraph)
        if sum(map(len, passage)) >= PASSAGE_CHARACTERS:
            yield passage
            passage = []
    if passage:
        yield passage


def everyday(table: str) -> Documents:
    """Return the contexts of a table of KoBEST's HellaSwag with their right endings, each once."""
    found = {}
    for line in table.splitlines()[1:]:
        context, *endings, label = line.split("\t")
        ending = endings[int(label)]
        found.setdefault(plain(context), [f"{plain(context)} {plain(ending)}"])
    return list(found.values())


def plain(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()


def shared_runs(documents: Documents, files: Sequence[Path]) -> WordRuns:
    """Return the runs of eight words that the documents share with files of text or labels; they may be large."""
    runs, shared = WordRuns(paragraph for document in documents for paragraph in document), WordRuns()
    for file in files:
        for paragraph in paragraphs_of(file):
            for run in runs.shared(paragraph):
                shared.add(run)
    return shared


def without(documents: Documents, runs: WordRuns, *, short_ones: bool = False) -> Documents:
    """Return the documents without the paragraphs that have one of the runs.

    With `short_ones` also without those between that are too short to have a run: with their neighbours, they may be
    known.
    """
    kept, left_out = [], False
    for document in documents:
        learned = []
        for paragraph in document:
            if not short_ones or len(words(paragraph)) >= RUN_WORDS:
                left_out = runs.shares(paragraph)
            if not left_out:
                learned.append(paragraph)
        kept.append(learned)
    return [document for document in kept if document]


def squad(table: Path, passages: Sequence[str]) -> dict[str, object]:
    """Return the questions of a table: words that one passage alone has, a question, and answers between bars."""
    asked: dict[str, list[dict[str, object]]] = {}
    with open(table, encoding="utf-8", newline="") as file:
        rows = csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        for number, (known_by, question, answers) in enumerate(rows):
            (context,) = [passage for passage in passages if known_by in passage]
            spans = [{"text": answer, "answer_start": place_of(answer, context)} for answer in answers.split("|")]
            asked.setdefault(context, []).append({"id": f"own-{number:03}", "question": question, "answers": spans})
    paragraphs = [{"context": context, "qas": qas} for context, qas in asked.items()]
    return {"version": "1.1", "data": [{"title": "own", "paragraphs": paragraphs}]}


def place_of(answer: str, context: str) -> int:
    """Return where an answer begins, at the beginning of a word. Raises: ValueError where it is not there."""
    found = re.search(rf"(?<!\w){re.escape(answer)}", context)
    if found is None:
        raise ValueError(f"{answer!r} is not in: {context}")
    return found.start()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("language", choices=("en", "ko"))
    parser.add_argument("--novels", type=Path)
    parser.add_argument("--train", type=Path)
    parser.add_argument("--valid", type=Path)
    parser.add_argument("--not-from", type=Path, nargs="*", default=[])
    parser.add_argument("--out", type=Path, required=True)
    asked = parser.parse_args()
    if asked.language == "en":
        learned, kept, passages = holmes(read_text(asked.novels))
    else:
        learned, kept = everyday(read_text(asked.train)), everyday(read_text(asked.valid))
        passages = kept
    counts = [sum(map(len, part)) for part in (learned, kept)]
    shared = shared_runs([*learned, *kept], asked.not_from)
    kept = without(kept, shared)
    contexts = [" ".join(passage) for passage in without(passages, shared)]
    learned = without(learned, shared, short_ones=True)
    learned = without(learned, WordRuns([*(paragraph for document in kept for paragraph in document), *contexts]))
    questions = squad(Path(__file__).with_name(f"quickstart_own_{asked.language}.tsv"), contexts)
    for name, part in (("train", learned), ("valid", kept)):
        write_xz(asked.out / f"own-{name}.txt.xz", "\n\n".join("\n".join(document) for document in part) + "\n")
    write_xz(asked.out / "own-questions.json.xz", json.dumps(questions, ensure_ascii=False))
    for name, before, part in zip(("learned", "kept out"), counts, (learned, kept), strict=True):
        texts = [paragraph for document in part for paragraph in document]
        size = sum(map(len, texts))
        print(f"{name}: {len(part)} documents, {len(texts)} of {before} paragraphs, {size:,} characters")


if __name__ == "__main__":
    main()
