"""The first n examples of a labelled file, in an order that a key decides: small cuts lie inside larger ones.

Every arm of a study is given the same cut, so that differences are those of the models. Every seed is too, but where a
probe draws anew with each.
"""

import itertools
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from spanwise.errors import DataError
from spanwise.runtime.files import write_text_atomic
from spanwise.runtime.seed import derive_key
from spanwise.tasks.files.text import plain_suffix, read_json, read_lines

PURPOSE, DRAW, ASIDE = "study cut", "study draw", "study articles aside"


def chosen(num_examples: int, num_wanted: int, draw: int | None = None) -> list[int]:
    """Return which of the examples are taken, in their own order; fewer wanted are always among more.

    Every `draw` takes others; None is the one order of studies whose seeds share their cuts.
    """
    purpose, seed = (PURPOSE, 0) if draw is None else (DRAW, draw)
    order = sorted(range(num_examples), key=lambda index: derive_key(seed, purpose, index))
    return sorted(order[:num_wanted])


def cut_questions(path: Path, num_wanted: int | None, folder: Path, *, draw: int | None = None) -> Path:
    """Write so many questions of a file of the SQuAD shape; the file itself serves where all are wanted.

    Raises: DataError where the file has not that shape, or fewer questions.
    """
    if num_wanted is None:
        return path
    record, sizes = _articles(path)
    num_questions = sum(sizes)
    if num_wanted == num_questions:
        return path
    _check_enough(path, num_questions, num_wanted, "questions")
    kept, numbers = set(chosen(num_questions, num_wanted, draw)), itertools.count()
    for article in record["data"]:
        for paragraph in article["paragraphs"]:
            paragraph["qas"] = [question for question in paragraph["qas"] if next(numbers) in kept]
        article["paragraphs"] = [paragraph for paragraph in article["paragraphs"] if paragraph["qas"]]
    record["data"] = [article for article in record["data"] if article["paragraphs"]]
    end = f"{num_wanted}" if draw is None else f"{num_wanted}-draw-{draw}"
    return _written(folder, path, end, _json(record))


def keep_articles_aside(path: Path, num_questions: int, folder: Path) -> tuple[Path, Path]:
    """Write a file of the SQuAD shape as two: articles to learn from, and so many questions of articles kept aside.

    Whole articles are kept aside, in an order that a key decides, until they hold as many questions; of these so many
    are taken. No article is in both files.

    Raises: DataError where nothing would be left to learn from.
    """
    record, sizes = _articles(path)
    order = sorted(range(len(sizes)), key=lambda index: derive_key(0, ASIDE, index))
    reached = list(itertools.accumulate(sizes[index] for index in order))
    num_articles = 1 + sum(held < num_questions for held in reached)
    if num_articles >= len(sizes):
        raise DataError(
            f"{path} holds {sum(sizes):,} questions in {len(sizes)} articles; with {num_questions:,} questions kept "
            "aside by article nothing is left to learn from. Give a file of more articles."
        )
    aside = set(order[:num_articles])
    parts = {
        name: _written(folder, path, name, _json({**record, "data": [record["data"][index] for index in indices]}))
        for name, indices in (
            ("to-learn-from", [index for index in range(len(sizes)) if index not in aside]),
            ("aside", sorted(aside)),
        )
    }
    return parts["to-learn-from"], cut_questions(parts["aside"], num_questions, folder)


def count_questions(path: Path) -> int:
    """Return how many questions a file of the SQuAD shape holds. Raises: DataError where it has not that shape."""
    return sum(_articles(path)[1])


def _articles(path: Path) -> tuple[dict[str, Any], list[int]]:
    """Read a file of the SQuAD shape, and how many questions each of its articles has."""
    record = read_json(path)
    try:
        sizes = [sum(len(paragraph["qas"]) for paragraph in article["paragraphs"]) for article in record["data"]]
    except (KeyError, TypeError) as error:
        raise DataError(f"{path} has not the shape of SQuAD (data, paragraphs, qas): {error!r}.") from error
    return record, sizes


def cut_sentences(path: Path, num_wanted: int | None, folder: Path) -> Path:
    """Write so many sentences of a file with one token per line and a blank line between sentences.

    The file itself serves where all are wanted.

    Raises: DataError where there are fewer.
    """
    if num_wanted is None:
        return path
    sentences: list[list[str]] = [[]]
    for line in read_lines(path):
        if line.strip():
            sentences[-1].append(line)
        elif sentences[-1]:
            sentences.append([])
    whole = [lines for lines in sentences if any(not _is_mark(line) for line in lines)]
    if num_wanted == len(whole):
        return path
    _check_enough(path, len(whole), num_wanted, "sentences")
    lines_of = ([line for line in whole[index] if not _is_mark(line)] for index in chosen(len(whole), num_wanted))
    return _written(folder, path, f"{num_wanted}", "\n\n".join(map("\n".join, lines_of)) + "\n")


def _check_enough(path: Path, num_examples: int, num_wanted: int, what: str) -> None:
    """A figure is named by the examples it was learned from, so there must be as many."""
    if num_examples < num_wanted:
        raise DataError(
            f"{path} holds {num_examples:,} {what} and the probe asks for {num_wanted:,}; give the whole file, or "
            "a study whose probe has other sizes."
        )


def _is_mark(line: str) -> bool:
    return line.startswith("-DOCSTART-")


def _json(record: Mapping[str, Any]) -> str:
    return json.dumps(record, ensure_ascii=False) + "\n"


def _written(folder: Path, path: Path, end: str, text: str) -> Path:
    name = path.name.partition(".")[0]
    target = folder / f"{name}-{end}{plain_suffix(path) or '.txt'}"
    write_text_atomic(target, text)
    return target
