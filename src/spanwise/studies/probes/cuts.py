"""The first n examples of a labelled file, in an order that a key decides: small cuts lie inside larger ones.

Every arm and every seed of a study is given the same cut, so that differences are those of the models.
"""

import itertools
import json
from pathlib import Path

from spanwise.errors import DataError
from spanwise.runtime.files import write_text_atomic
from spanwise.runtime.seed import derive_key
from spanwise.tasks.files.text import plain_suffix, read_json, read_lines

PURPOSE = "study cut"


def chosen(num_examples: int, num_wanted: int) -> list[int]:
    """Return which of the examples are taken, in their own order; fewer wanted are always among more."""
    order = sorted(range(num_examples), key=lambda index: derive_key(0, PURPOSE, index))
    return sorted(order[:num_wanted])


def cut_questions(path: Path, num_wanted: int | None, folder: Path) -> Path:
    """Write so many questions of a file of the SQuAD shape; the file itself serves where all are wanted.

    Raises: DataError where the file has not that shape, or fewer questions.
    """
    if num_wanted is None:
        return path
    record = read_json(path)
    try:
        articles = record["data"]
        paragraphs = [paragraph for article in articles for paragraph in article["paragraphs"]]
        num_questions = sum(len(paragraph["qas"]) for paragraph in paragraphs)
    except (KeyError, TypeError) as error:
        raise DataError(f"{path} has not the shape of SQuAD (data, paragraphs, qas): {error!r}.") from error
    if num_wanted == num_questions:
        return path
    _check_enough(path, num_questions, num_wanted, "questions")
    kept, numbers = set(chosen(num_questions, num_wanted)), itertools.count()
    for paragraph in paragraphs:
        paragraph["qas"] = [question for question in paragraph["qas"] if next(numbers) in kept]
    for article in articles:
        article["paragraphs"] = [paragraph for paragraph in article["paragraphs"] if paragraph["qas"]]
    record["data"] = [article for article in articles if article["paragraphs"]]
    return _written(folder, path, num_wanted, json.dumps(record, ensure_ascii=False) + "\n")


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
    return _written(folder, path, num_wanted, "\n\n".join(map("\n".join, lines_of)) + "\n")


def _check_enough(path: Path, num_examples: int, num_wanted: int, what: str) -> None:
    """A figure is named by the examples it was learned from, so there must be as many."""
    if num_examples < num_wanted:
        raise DataError(
            f"{path} holds {num_examples:,} {what} and the probe asks for {num_wanted:,}; give the whole file, or "
            "a study whose probe has other sizes."
        )


def _is_mark(line: str) -> bool:
    return line.startswith("-DOCSTART-")


def _written(folder: Path, path: Path, num_wanted: int, text: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    name = path.name.partition(".")[0]
    target = folder / f"{name}-{num_wanted}{plain_suffix(path) or '.txt'}"
    write_text_atomic(target, text)
    return target
