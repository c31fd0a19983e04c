"""The domains that table.py measures: where their labels and their text come from, and how both are cut."""

from __future__ import annotations

import itertools
import json
import lzma
from collections.abc import Iterator, Sequence
from pathlib import Path

from spanwise.runtime.files import write_text_atomic

FILES = {
    "questions": ("qa/squadshifts/amazon_reviews_v1.0.json",),
    "tagging": ("tagging/wnut17/wnut17train.conll", "tagging/wnut17/emerging.dev.conll"),
    "web-names": ("tagging/uner_en_ewt/dev.iob2", "tagging/ud_en_ewt/train.conllu"),
}
SUFFIXES = {"questions": ".json", "tagging": ".conll", "web-names": ".conll"}
DEV_QUESTIONS = 1_000


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
            PREPARE[task](*(open_text(data, name) for name in FILES[task]), folder)
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


PREPARE = {"questions": prepare_questions, "tagging": prepare_tagging, "web-names": prepare_web_names}


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
