"""The first n examples of a labelled file, in an order that a key decides: small cuts lie inside larger ones.

Every arm and every seed of a study is given the same cut, so that differences are those of the models.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from spanwise.errors import DataError
from spanwise.runtime.files import write_text_atomic
from spanwise.runtime.seed import derive_key
from spanwise.tasks.text_files import plain_suffix, read_json, read_lines

PURPOSE = "study cut"


def chosen(num_examples: int, num_wanted: int) -> list[int]:
    """Which of the examples are taken, in their own order; fewer wanted are always among more."""
    order = sorted(range(num_examples), key=lambda index: derive_key(0, PURPOSE, index))
    return sorted(order[:num_wanted])


def cut_questions(path: Path, num_wanted: int | None, folder: Path) -> Path:
    """So many questions of a file of the SQuAD shape; the file itself where all are wanted.

    Raises: DataError where the file has not that shape, or fewer questions.
    """
    if num_wanted is None:
        return path
    record = read_json(path)
    try:
        places = [
            (a, p, q)
            for a, article in enumerate(record["data"])
            for p, paragraph in enumerate(article["paragraphs"])
            for q in range(len(paragraph["qas"]))
        ]
        if num_wanted == len(places):
            return path
        _check_enough(path, len(places), num_wanted, "questions")
        kept = {places[index] for index in chosen(len(places), num_wanted)}
        articles = []
        for a, article in enumerate(record["data"]):
            paragraphs = []
            for p, paragraph in enumerate(article["paragraphs"]):
                asked = [question for q, question in enumerate(paragraph["qas"]) if (a, p, q) in kept]
                if asked:
                    paragraphs.append({**paragraph, "qas": asked})
            if paragraphs:
                articles.append({**article, "paragraphs": paragraphs})
    except (KeyError, TypeError) as error:
        raise DataError(f"{path} has not the shape of SQuAD (data, paragraphs, qas): {error!r}.") from error
    text = json.dumps({**record, "data": articles}, ensure_ascii=False) + "\n"
    return _written(folder, path, num_wanted, text)


def cut_sentences(path: Path, num_wanted: int | None, folder: Path) -> Path:
    """So many sentences of a file with a token a line and a blank line between them; the file where all are wanted.

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
    return _written(folder, path, num_wanted, _joined([whole[index] for index in chosen(len(whole), num_wanted)]))


def _check_enough(path: Path, num_examples: int, num_wanted: int, what: str) -> None:
    """A figure is named by the examples it was learned from, so there must be as many."""
    if num_examples < num_wanted:
        raise DataError(
            f"{path} holds {num_examples:,} {what} and the probe asks for {num_wanted:,}; give the whole file, or "
            "a study whose probe has other sizes."
        )


def _is_mark(line: str) -> bool:
    return line.startswith("-DOCSTART-")


def _joined(sentences: Sequence[Sequence[str]]) -> str:
    return "\n\n".join("\n".join(line for line in lines if not _is_mark(line)) for lines in sentences) + "\n"


def _written(folder: Path, path: Path, num_wanted: int, text: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    name = path.name.partition(".")[0]
    target = folder / f"{name}-{num_wanted}{plain_suffix(path) or '.txt'}"
    write_text_atomic(target, text)
    return target
