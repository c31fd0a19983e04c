"""`spanwise ask` measured: is the right passage found, what does that cost in F1, how long do index and question take?

    python benchmarks/ask.py --data-folder DIR [--questions 1000] [--megabytes 100] [--only squad|korquad|speed]

DIR holds qa/squad/dev-v1.1.json.xz, qa/korquad/KorQuAD_v1.0_dev.json.xz and text/en/wiki-*.txt.xz.

- squad, korquad: all paragraphs of the dev set are written as one folder, one file an article, and every question is
  asked of all of them at once. Recall (of all questions): a passage with a right answer of the right paragraph is among
  the 20 that are read. F1 (of `--questions`, spread over the file; always an answer, no threshold) beside the F1 of the
  same reader and the same questions from the right paragraph alone.
- speed: so many megabytes of Wikipedia text in files of at most 1 MB are indexed, opened again, and asked; seconds of
  the clock and of the processor, the latter for a busy machine.
"""

from __future__ import annotations

import argparse
import json
import lzma
import tempfile
import time
from pathlib import Path

import numpy as np

from spanwise.asking.ask import PASSAGES, AskOptions, TextFolder
from spanwise.tasks.qa.data import Question, SquadData
from spanwise.tasks.qa.reader import read_questions
from spanwise.tasks.qa.score import Metric, metric_for

SETS = {"squad": "qa/squad/dev-v1.1.json.xz", "korquad": "qa/korquad/KorQuAD_v1.0_dev.json.xz"}
LANGUAGE = {"squad": "en", "korquad": "ko"}
TIMED = ("Who built the bridge over the river?", "When was the first university of Estonia founded?")
FILE_CHARACTERS = 1_000_000
GOALS = {"recall": 90.0, "share": 80.0, "index_seconds": 60.0, "question_seconds": 1.0}


def best_f1(metric: Metric, text: str, question: Question) -> float:
    """Return the best F1 of a text over the right answers, 0 to 100."""
    guess = metric.normalize(text)
    golds = (metric.normalize(answer.text) for answer in question.answers)
    return 100 * max(metric.f1(gold, guess, empty_may_match=False) for gold in golds)


def write_paragraphs(data: SquadData, folder: Path) -> None:
    """Write a file an article, a paragraph a line."""
    articles: dict[str, list[str]] = {}
    for context, title in zip(data.contexts, data.titles, strict=True):
        articles.setdefault(title, []).append(" ".join(context.split("\n")))
    for number, paragraphs in enumerate(articles.values()):
        (folder / f"{number:03}.txt").write_text("\n\n".join(paragraphs) + "\n", encoding="utf-8")


def is_right(passage: str, question: Question, context: str) -> bool:
    """Return whether a passage is a piece of the right paragraph, or holds it, with a right answer in it."""
    shared = " ".join(context.split())
    lines = [" ".join(line.split()) for line in passage.split("\n") if line.strip()]
    answers = [" ".join(answer.text.split()) for answer in question.answers]
    return any(line in shared and any(answer in line for answer in answers) for line in lines)


def measure_set(name: str, data_folder: Path, num_questions: int) -> dict[str, float]:
    """Return recall and both F1 of a set."""
    data = read_questions(data_folder / SETS[name])
    metric = metric_for(data.version)
    with tempfile.TemporaryDirectory() as folder:
        write_paragraphs(data, Path(folder))
        text = TextFolder(folder)
        found = 0
        for question in data.questions:
            hits = text.index.weights.search(question.text, PASSAGES)
            context = data.context_of(question)
            found += any(is_right(text.index.passage(hit.number).text, question, context) for hit in hits)
        chosen = np.unique(np.linspace(0, len(data.questions) - 1, num_questions).astype(int)).tolist()
        asked, alone = [], []
        began = time.process_time()
        for place in chosen:
            question = data.questions[place]
            answers = text.ask(question.text, AskOptions(threshold=0.0)).answers
            asked.append(best_f1(metric, answers[0].answer, question) if answers else 0.0)
        seconds = (time.process_time() - began) / len(chosen)
        for place in chosen:
            question, context = data.questions[place], data.context_of(data.questions[place])
            spans = text.reader(LANGUAGE[name]).read(question.text, [context])[0].spans
            alone.append(best_f1(metric, context[spans[0].start : spans[0].end], question) if spans else 0.0)
    return {
        "passages": len(text.index),
        "recall": 100 * found / len(data.questions),
        "questions_read": len(chosen),
        "f1": float(np.mean(asked)),
        "f1_right_paragraph": float(np.mean(alone)),
        "share": 100 * float(np.sum(asked) / np.sum(alone)),
        "processor_seconds_per_question": seconds,
    }


def write_megabytes(data_folder: Path, folder: Path, megabytes: float) -> float:
    """Write so much text, the files of the data over and over; return how many megabytes there are."""
    left, number = megabytes * 1e6, 0
    while left > 0:
        for path in sorted((data_folder / "text" / "en").glob("wiki-base-*.txt.xz")):
            with lzma.open(path, "rt", encoding="utf-8") as file:
                text = file.read()
            for start in range(0, len(text), FILE_CHARACTERS):
                content = text[start : start + FILE_CHARACTERS].encode()
                if left > 0:
                    (folder / f"{number:04}.txt").write_bytes(content)
                    left, number = left - len(content), number + 1
    return megabytes - left / 1e6


def measure_speed(data_folder: Path, megabytes: float) -> dict[str, float]:
    """Return the times of indexing, opening and asking."""
    with tempfile.TemporaryDirectory() as folder:
        size = write_megabytes(data_folder, Path(folder), megabytes)
        marks = [(time.perf_counter(), time.process_time())]
        text = TextFolder(folder)
        marks.append((time.perf_counter(), time.process_time()))
        text = TextFolder(folder)
        marks.append((time.perf_counter(), time.process_time()))
        text.ask("Is this the first question?")  # reads the model
        took = []
        for question in TIMED * 5:
            began = (time.perf_counter(), time.process_time())
            text.ask(question)
            took.append((time.perf_counter() - began[0], time.process_time() - began[1]))
        num_passages = len(text.index)
    steps = np.diff(np.array(marks), axis=0)
    question = np.median(np.array(took), axis=0)
    return {
        "megabytes": size,
        "passages": num_passages,
        "index_seconds": float(steps[0, 0]),
        "index_processor_seconds": float(steps[0, 1]),
        "open_seconds": float(steps[1, 0]),
        "open_processor_seconds": float(steps[1, 1]),
        "question_seconds": float(question[0]),
        "question_processor_seconds": float(question[1]),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-folder", type=Path, required=True)
    parser.add_argument("--questions", type=int, default=1000, help="of each set that the reader is asked")
    parser.add_argument("--megabytes", type=float, default=100.0)
    parser.add_argument("--only", choices=[*SETS, "speed"])
    options = parser.parse_args()
    for name in [options.only] if options.only else [*SETS, "speed"]:
        if name == "speed":
            measured = measure_speed(options.data_folder, options.megabytes)
        else:
            measured = measure_set(name, options.data_folder, options.questions)
        goals = {key: GOALS[key] for key in measured if key in GOALS}
        print(json.dumps({"name": name, **{k: round(v, 2) for k, v in measured.items()}, "goals": goals}), flush=True)


if __name__ == "__main__":
    main()
