#!/usr/bin/env python3
"""Rebuild the text and questions that ship with the package (src/spanwise/quickstart/corpus).

    python scripts/make_quickstart_corpus.py --text wiki.txt.gz --questions squadshifts_new_wiki.json.xz --out DIR

`--text` is plain text with one paragraph a line and a blank line between articles; `--questions` is a SQuAD 1.1 file.
Nothing is random: an article's part is chosen by the SHA-256 of its text or title, so the same sources give the same
bytes. What is done to the sources, in this order:

1. articles that share more than `MAX_SHARED` eight-word runs with any paragraph of the question file are dropped, so
   that pre-training never reads a paragraph on which answers are scored;
2. whole articles go to the held-out part until it reaches `VALID_CHARACTERS`; the rest is the training part;
3. whole articles of questions go to the dev part until it reaches `DEV_QUESTIONS`; the rest is the training part.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import lzma
import re
from pathlib import Path

RUN_WORDS = 8  # a shared run of this many words is copied text, not chance
MAX_SHARED = 20  # a few shared runs are quotations and official names
VALID_CHARACTERS = 200_000
VALID_ARTICLE_CHARACTERS = (2_000, 24_000)  # middle-sized articles, so that the held-out part is many articles
DEV_QUESTIONS = 1_000
XZ_FILTERS = [{"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME, "dict_size": 1 << 23}]


def read_text(path: Path) -> str:
    """Read plain, .gz or .xz text as UTF-8."""
    raw = path.read_bytes()
    if path.suffix == ".gz":
        raw = gzip.decompress(raw)
    elif path.suffix == ".xz":
        raw = lzma.decompress(raw)
    return raw.decode("utf-8")


def write_xz(path: Path, text: str) -> None:
    path.write_bytes(lzma.compress(text.encode("utf-8"), format=lzma.FORMAT_XZ, filters=XZ_FILTERS))


def word_runs(text: str, length: int = RUN_WORDS) -> set[tuple[str, ...]]:
    """All runs of `length` lower-cased words."""
    words = re.findall(r"\w+", text.lower())
    return {tuple(words[i : i + length]) for i in range(len(words) - length + 1)}


def digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def read_articles(text: str) -> list[str]:
    """Articles, each a string of paragraphs, one a line."""
    parts = re.split(r"\n\s*\n", text)
    return ["\n".join(line.strip() for line in part.splitlines() if line.strip()) for part in parts if part.strip()]


def split_articles(articles: list[str]) -> tuple[list[str], list[str]]:
    """Return (training, held-out) articles, both in their first order."""
    low, high = VALID_ARTICLE_CHARACTERS
    held_out: set[str] = set()
    total = 0
    for article in sorted((a for a in articles if low <= len(a) <= high), key=digest):
        if total >= VALID_CHARACTERS:
            break
        held_out.add(article)
        total += len(article)
    return [a for a in articles if a not in held_out], [a for a in articles if a in held_out]


def split_questions(squad: dict) -> tuple[dict, dict]:
    """Return (training, dev) SQuAD files; each article is whole in one of them."""
    dev: set[str] = set()
    total = 0
    for article in sorted(squad["data"], key=lambda a: digest(a["title"])):
        if total >= DEV_QUESTIONS:
            break
        dev.add(article["title"])
        total += sum(len(paragraph["qas"]) for paragraph in article["paragraphs"])
    train = [a for a in squad["data"] if a["title"] not in dev]
    return {"version": "1.1", "data": train}, {
        "version": "1.1",
        "data": [a for a in squad["data"] if a["title"] in dev],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--text", type=Path, required=True, help="one paragraph a line, blank line between articles")
    parser.add_argument("--questions", type=Path, required=True, help="a SQuAD 1.1 file")
    parser.add_argument("--out", type=Path, required=True, help="folder to write the four files to")
    options = parser.parse_args()

    articles = read_articles(read_text(options.text))
    squad = json.loads(read_text(options.questions))
    asked: set[tuple[str, ...]] = set()
    for article in squad["data"]:
        for paragraph in article["paragraphs"]:
            asked |= word_runs(paragraph["context"])
    kept = [article for article in articles if len(word_runs(article) & asked) <= MAX_SHARED]
    for article in articles:
        if article not in kept:
            print("dropped, shares text with a question's paragraph:", article[:70])
    train, valid = split_articles(kept)
    qa_train, qa_dev = split_questions(squad)

    options.out.mkdir(parents=True, exist_ok=True)
    write_xz(options.out / "wiki-train.txt.xz", "\n\n".join(train) + "\n")
    write_xz(options.out / "wiki-valid.txt.xz", "\n\n".join(valid) + "\n")
    write_xz(options.out / "qa-train.json.xz", json.dumps(qa_train, ensure_ascii=False, separators=(",", ":")))
    write_xz(options.out / "qa-dev.json.xz", json.dumps(qa_dev, ensure_ascii=False, separators=(",", ":")))
    for name, count in (("wiki-train", train), ("wiki-valid", valid)):
        print(f"{name}: {len(count)} articles, {sum(map(len, count)):,} characters")
    for name, part in (("qa-train", qa_train), ("qa-dev", qa_dev)):
        questions = sum(len(p["qas"]) for a in part["data"] for p in a["paragraphs"])
        print(f"{name}: {[a['title'] for a in part['data']] if name == 'qa-dev' else len(part['data'])}, {questions:,}")
    print("bytes:", {path.name: path.stat().st_size for path in sorted(options.out.iterdir())})


if __name__ == "__main__":
    main()
