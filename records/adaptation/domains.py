"""The domains that table.py measures: where their labels and their text come from, and how both are cut."""

from __future__ import annotations

import itertools
import json
import lzma
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from spanwise.runtime.files import write_text_atomic

DEV_QUESTIONS = 1_000
LABELLED_REVIEWS = 4_000  # drawn from the file; the others are text


@dataclass(frozen=True, kw_only=True)
class Domain:
    """One kind of text, with labels of one task."""

    language: str
    task: str  # of `spanwise finetune`
    prepare: Callable[..., None]  # cuts the texts of `files` into parts, in a folder
    files: tuple[str, ...]  # of DATA
    suffix: str  # of the files with labels


def open_text(data: Path, name: str) -> str:
    """Return the text of a file of DATA, compressed or plain."""
    plain = data / name
    if plain.exists():
        return plain.read_text(encoding="utf-8")
    packed = plain.with_name(plain.name + ".xz")
    if not packed.exists():
        raise SystemExit(f"{plain} is missing (or {packed.name} beside it); see the README.md of this record.")
    return lzma.decompress(packed.read_bytes()).decode("utf-8")


def prepare(data: Path, out: Path, tasks: Sequence[str]) -> None:
    """Cut the domains of tasks into train, dev and test, and write the text to adapt to, which is in neither."""
    folder = out / "data"
    folder.mkdir(parents=True, exist_ok=True)
    for task in tasks:
        if not (folder / f"ready-{task}").exists():
            DOMAINS[task].prepare(*(open_text(data, name) for name in DOMAINS[task].files), folder)
            write_text_atomic(folder / f"ready-{task}", "")


def prepare_questions(reviews: str, folder: Path) -> None:
    articles = json.loads(reviews)["data"]
    parts = {"test": articles[0::3], "dev": articles[1::3], "train": articles[2::3]}
    counts = itertools.accumulate(sum(len(p["qas"]) for p in article["paragraphs"]) for article in parts["dev"])
    parts["dev"] = [article for article, count in zip(parts["dev"], counts, strict=True) if count <= DEV_QUESTIONS]
    for name, part in parts.items():
        write_questions(folder / f"questions-{name}.json", part)
    texts = ["\n".join(p["context"] for p in article["paragraphs"]) for article in parts["train"]]
    write_text_atomic(folder / "questions.txt", "\n\n".join(texts) + "\n")


def prepare_tagging(tweets: str, comments: str, folder: Path) -> None:
    train, dev = sentences_of(tweets), sentences_of(comments)
    for name, part in (("train", train), ("dev", dev[0::2]), ("test", dev[1::2])):
        write_sentences(folder / f"tagging-{name}.conll", part)
    texts = [" ".join(line.split("\t")[0] for line in sentence) for sentence in train]
    write_text_atomic(folder / "tagging.txt", "\n\n".join(texts) + "\n")


def prepare_web_names(labelled: str, treebank: str, folder: Path) -> None:
    """Cut labelled documents into halves and quarters; the text is that of other documents of the same treebank."""
    documents = labelled.split("# newdoc id")[1:]
    for name, part in (("train", documents[0::2]), ("dev", documents[1::4]), ("test", documents[3::4])):
        rows = [[line.split("\t") for line in sentence] for text in part for sentence in sentences_of(text)]
        tagged = [[f"{row[1]}\t{row[2]}" for row in sentence if row[0].isdigit()] for sentence in rows]
        write_sentences(folder / f"web-names-{name}.conll", [sentence for sentence in tagged if sentence])
    texts = [
        "\n".join(line.removeprefix("# text = ") for line in document.splitlines() if line.startswith("# text = "))
        for document in treebank.split("# newdoc id")[1:]
    ]
    write_text_atomic(folder / "web-names.txt", "\n\n".join(texts) + "\n")


def prepare_reviews(reviews: str, others: str, folder: Path) -> None:
    """Korean reviews of films, each good or bad; those of the text have no label and stand in no other part."""
    rows, scored = ([row[1:] for row in rows_of(table)] for table in (reviews, others))
    random.Random("reviews").shuffle(rows)  # the file ends with thousands of negative ones
    parts = {"train": rows[:LABELLED_REVIEWS], "dev": scored[0::2], "test": scored[1::2]}
    for name, part in parts.items():
        lines = ["document\tlabel", *(f"{text}\t{label}" for text, label in part)]
        write_text_atomic(folder / f"reviews-{name}.tsv", "\n".join(lines) + "\n")
    labelled = {text for part in parts.values() for text, _ in part}
    texts = [text for text, _ in rows[LABELLED_REVIEWS:] if text not in labelled]
    write_text_atomic(folder / "reviews.txt", "\n\n".join(texts) + "\n")


def prepare_review_names(train: str, dev: str, reviews: str, folder: Path) -> None:
    """Names in Korean reviews of films, tagged by characters; the text is other reviews, none with such a sentence."""
    found = [sentence for sentence in sentences_of(train + "\n\n" + dev) if "-nsmc\t" in sentence[0]]
    places = {"train": range(6), "dev": range(6, 8), "test": range(8, 10)}  # of every ten
    tagged = [sentence[1:] for sentence in found]
    for name, part in places.items():
        chosen = [sentence for place, sentence in enumerate(tagged) if place % 10 in part]
        write_sentences(folder / f"review-names-{name}.conll", chosen)
    seen = ["".join(line.split("\t")[0] for line in sentence) for sentence in tagged]
    texts = [text for _, text, _ in rows_of(reviews) if not any(sentence in text for sentence in seen)]
    write_text_atomic(folder / "review-names.txt", "\n\n".join(texts) + "\n")


DOMAINS = {
    "questions": Domain(
        language="en",
        task="qa",
        prepare=prepare_questions,
        files=("qa/squadshifts/amazon_reviews_v1.0.json",),
        suffix=".json",
    ),
    "tagging": Domain(
        language="en",
        task="tagging",
        prepare=prepare_tagging,
        files=("tagging/wnut17/wnut17train.conll", "tagging/wnut17/emerging.dev.conll"),
        suffix=".conll",
    ),
    "web-names": Domain(
        language="en",
        task="tagging",
        prepare=prepare_web_names,
        files=("tagging/uner_en_ewt/dev.iob2", "tagging/ud_en_ewt/train.conllu"),
        suffix=".conll",
    ),
    "reviews": Domain(
        language="ko",
        task="classification",
        prepare=prepare_reviews,
        files=("ko/nsmc/train.tsv", "ko/nsmc/dev.tsv"),
        suffix=".tsv",
    ),
    "review-names": Domain(
        language="ko",
        task="tagging",
        prepare=prepare_review_names,
        files=("ko/klue_ner/part_train.tsv", "ko/klue_ner/part_dev.tsv", "ko/nsmc/train.tsv"),
        suffix=".conll",
    ),
}


def rows_of(table: str) -> list[list[str]]:
    """Return the cells of each row below the head of a table, those whose text is blank left out."""
    rows = [line.split("\t") for line in table.split("\n")[1:] if line]
    return [row for row in rows if row[-2].strip()]


def write_questions(path: Path, articles: Sequence[dict]) -> None:
    write_text_atomic(path, json.dumps({"version": "1.1", "data": list(articles)}))


def sentences_of(text: str) -> list[list[str]]:
    """Return the sentences of a file with a word and its tag per line."""
    found: list[list[str]] = [[]]
    for line in text.splitlines():
        if line.strip():
            found[-1].append(line.rstrip())
        elif found[-1]:
            found.append([])
    return [sentence for sentence in found if sentence]


def write_sentences(path: Path, sentences: Sequence[Sequence[str]]) -> None:
    write_text_atomic(path, "".join("\n".join(sentence) + "\n\n" for sentence in sentences))


def questions_of(articles: Sequence[dict]) -> Iterator[tuple[dict, str]]:
    """Give every question with its passage."""
    for article in articles:
        for paragraph in article["paragraphs"]:
            for question in paragraph["qas"]:
                yield question, paragraph["context"]
