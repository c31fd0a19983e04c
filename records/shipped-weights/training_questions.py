"""Write question files to teach with, as docs/log.md tells of 2026-11-24: training_questions.py DATA OUT

OUT gets answered.json (bundled questions of new Wikipedia articles four times, some 22,000 of QAMR), mixed.json (the
same with more of QAMR, and with questions that their passage does not answer), dev.json (the bundled held-out
questions, a third of them also put to a passage that does not answer it) and dev-stories.json (the same of the
quickstart's questions about stories; with dev.json it chooses the threshold of "no answer").

No paragraph shares eight words in a row with one of SQuAD 1.1 dev. A passage of QAMR is a run of whole sentences of at
most 110 words; a question without answer comes from another passage of its page, the one with which it shares the most
words and which does not hold its answer.
"""

from __future__ import annotations

import copy
import json
import random
import re
import sys
from collections import defaultdict
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from typing import Any

from spanwise.runtime.files import write_text_atomic
from spanwise.tasks.files.text import read_json
from spanwise.tasks.qa.forbidden import paragraph_runs
from spanwise.text.word_runs import WordRuns

Article = dict[str, Any]  # of a SQuAD file
MOST_WORDS = 110  # of a passage of QAMR
NONE_OF_DEV = 1 / 3  # so that a quarter has no answer
_SENTENCE_END = re.compile(r"[.!?][\"')]?\s+(?=[A-Z\"'(])")


def main() -> None:
    data, out = Path(sys.argv[1]), Path(sys.argv[2])
    bundled = Path(str(files("spanwise.quickstart") / "corpus"))
    runs = paragraph_runs([data / "qa/squad/dev-v1.1.json.xz"])
    wiki = clean(articles(bundled / "qa-train.json.xz"), runs)
    simple = clean([in_passages(article) for article in articles(data / "qa/qamr/qamr_wiki.json.xz")], runs)
    held_out = articles(bundled / "qa-dev.json.xz")
    draw = random.Random(11)
    four = [copied(article, f"-{k}") for k in range(4) for article in wiki]
    save(out / "answered.json", [*four, *(copied(article, "", draw, 22_000 / 33_017) for article in simple)])
    draw = random.Random(5)
    unanswered = [*without_answer(wiki, draw, 0.55), *without_answer(simple, draw, 0.1)]
    save(out / "mixed.json", [*four, *(copied(article, "", draw, 0.8) for article in simple), *unanswered])
    for name, found in (("dev", held_out), ("dev-stories", articles(bundled / "own-questions.json.xz"))):
        whole = [copied(article, "") for article in found]
        save(out / f"{name}.json", [*whole, *without_answer(found, draw, NONE_OF_DEV)])


def articles(path: Path) -> list[Article]:
    found: list[Article] = read_json(path)["data"]
    return found


def clean(found: list[Article], runs: WordRuns) -> list[Article]:
    """Return the articles without the paragraphs that share eight words in a row with the test set."""
    kept = [
        {
            "title": article["title"],
            "paragraphs": [one for one in article["paragraphs"] if not runs.shared(one["context"])],
        }
        for article in found
    ]
    return [article for article in kept if article["paragraphs"]]


def in_passages(article: Article) -> Article:
    """Cut the paragraphs of an article at sentences; a question goes to each passage that holds an answer of it."""
    passages = []
    for paragraph in article["paragraphs"]:
        for start, text in passages_of(paragraph["context"]):
            questions = []
            for question in paragraph["qas"]:
                answers = [
                    {"text": answer["text"], "answer_start": answer["answer_start"] - start}
                    for answer in question["answers"]
                    if start <= answer["answer_start"] <= start + len(text) - len(answer["text"])
                ]
                if answers:
                    questions.append({"id": question["id"], "question": question["question"], "answers": answers})
            if questions:
                passages.append({"context": text, "qas": questions})
    return {"title": article["title"], "paragraphs": passages}


def passages_of(text: str) -> list[tuple[int, str]]:
    """Return start and text of runs of whole sentences of at most `MOST_WORDS` words, one sentence at least."""
    borders = [0, *(match.end() for match in _SENTENCE_END.finditer(text)), len(text)]
    starts, words = [], MOST_WORDS
    for start, end in pairwise(borders):
        added = len(text[start:end].split())
        if not starts or words + added > MOST_WORDS:
            starts.append(start)
            words = 0
        words += added
    return [(start, text[start:end].rstrip()) for start, end in zip(starts, [*starts[1:], len(text)], strict=True)]


def copied(article: Article, mark: str, draw: random.Random | None = None, share: float = 1.0) -> Article:
    """Return a copy with `mark` behind every id, and of its questions about `share`."""
    twin = copy.deepcopy(article)
    for paragraph in twin["paragraphs"]:
        asked = [one for one in paragraph["qas"] if draw is None or draw.random() < share]
        paragraph["qas"] = [{**one, "id": one["id"] + mark, "is_impossible": False} for one in asked]
    twin["paragraphs"] = [paragraph for paragraph in twin["paragraphs"] if paragraph["qas"]]
    return twin


def without_answer(found: list[Article], draw: random.Random, share: float) -> list[Article]:
    """Put about `share` of the questions to another passage of their article, one without the answer."""
    made = []
    for article in found:
        paragraphs = article["paragraphs"]
        words = [words_of(paragraph["context"]) for paragraph in paragraphs]
        asked: dict[int, list[dict[str, object]]] = defaultdict(list)
        for paragraph in paragraphs:
            for question in paragraph["qas"]:
                if draw.random() >= share:
                    continue
                answers = {answer["text"].lower() for answer in question["answers"]}
                wanted = words_of(question["question"])
                others = [
                    (len(wanted & words[k]), k)
                    for k, other in enumerate(paragraphs)
                    if other is not paragraph and not any(answer in other["context"].lower() for answer in answers)
                ]
                if others:
                    name = {"id": f"{question['id']}-none", "question": question["question"]}
                    asked[max(others)[1]].append({**name, "answers": [], "is_impossible": True})
        taken = [{"context": paragraphs[k]["context"], "qas": questions} for k, questions in asked.items()]
        made.append({"title": article["title"], "paragraphs": taken})
    return [article for article in made if article["paragraphs"]]


def words_of(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower()))


def save(path: Path, found: list[Article]) -> None:
    questions = [question for article in found for paragraph in article["paragraphs"] for question in paragraph["qas"]]
    write_text_atomic(path, json.dumps({"version": "v2.0", "data": found}, ensure_ascii=False))
    print(f"{path}: {len(questions):,} questions, {sum(one['is_impossible'] for one in questions):,} without answer")


if __name__ == "__main__":
    main()
