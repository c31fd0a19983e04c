"""One small world that the command tests share: a text, QA files, and what the commands make of them."""

import json
import os
from dataclasses import dataclass
from pathlib import Path

import pytest

from spanwise.cli.main import main

SENTENCE = "Denver won the game in February and the team of Carolina lost it by fourteen points before noon"
WORDS = SENTENCE.split()


@dataclass(frozen=True)
class World:
    """Paths below one folder."""

    folder: Path

    def __getattr__(self, name: str) -> Path:
        return self.folder / name


TINY = [
    "--set", "encoder.hidden_size=16", "--set", "encoder.intermediate_size=32", "--set", "encoder.max_positions=64",
    "--set", "format.max_length=64", "--set", "batch.max_tokens=256", "--set", "batch.tokens_per_step=256",
    "--set", "tokenizer.vocab_size=300", "--set", "training.eval_every=null",
]  # fmt: skip


@pytest.fixture(scope="session")
def tiny() -> list[str]:
    """Changes that make `spanbert-tiny` train in a moment; its length is still to be given."""
    return TINY


@pytest.fixture(scope="session")
def run(world) -> Path:
    """A finished pre-training run of 4 steps on the world's store."""
    length = ["--set", "training.max_tokens=null", "--set", "training.max_steps=4", "--set", "training.log_every=2"]
    data = ["--data", at(world, "store"), "--valid", at(world, "store"), "--out", at(world, "run")]
    assert main(["pretrain", "spanbert-tiny", *data, *TINY, *length]) == 0
    return world.folder / "run"


@pytest.fixture(scope="session")
def qa_run(world, run) -> Path:
    """A finished fine-tuning run on top of it."""
    length = ["--set", "training.num_epochs=null", "--set", "training.max_steps=3", "--set", "batch_size=8"]
    data = ["--train", at(world, "train.json"), "--dev", at(world, "dev.json"), "--out", at(world, "qa")]
    assert main(["finetune", "qa", "--model", str(run / "final"), *data, *length]) == 0
    return world.folder / "qa"


@pytest.fixture(scope="session")
def world(tmp_path_factory) -> World:
    """`text.txt`, `train.json`, `dev.json`, and from them `tokenizer/` and `store/`."""
    world = World(tmp_path_factory.mktemp("world"))
    lines = []
    for number in range(240):
        order = sorted(WORDS, key=lambda word: (hash_of(word, number), word))
        lines.append(" ".join(order) + ". " + " ".join(order[::-1]) + "." + ("\n" if number % 4 == 3 else ""))
    (world.folder / "text.txt").write_text("\n".join(lines))
    for name, first in (("train.json", 0), ("dev.json", 20)):
        (world.folder / name).write_text(json.dumps(squad(range(first, first + 12))))
    assert (
        main(
            ["learn-tokenizer", str(world.folder / "text.txt"), "--vocab-size", "300", "--out", at(world, "tokenizer")]
        )
        == 0
    )
    prepared = ["prepare", at(world, "text.txt"), "--tokenizer", at(world, "tokenizer"), "--out", at(world, "store")]
    assert main(prepared) == 0
    return world


def at(world: World, name: str) -> str:
    return os.fspath(world.folder / name)


def hash_of(word: str, number: int) -> int:
    """Mix the lines well, alike in every process (Python's own hash of strings is salted)."""
    return sum((number + 7) ** (place % 3 + 1) * ord(letter) for place, letter in enumerate(word)) % 97


def squad(numbers) -> dict:
    """A SQuAD 2.0 record: a paragraph with one answerable and one unanswerable question a number."""
    paragraphs = []
    for number in numbers:
        order = sorted(WORDS, key=lambda word: (hash_of(word, number), word))
        context = " ".join(order) + "."
        answer = order[number % len(order)]
        start = len(" ".join(order[: number % len(order)])) + (1 if number % len(order) else 0)
        qas = [
            {
                "id": f"a{number}",
                "question": f"Which word is number {number}?",
                "is_impossible": False,
                "answers": [{"text": answer, "answer_start": start}],
            },
            {"id": f"n{number}", "question": "Why?", "is_impossible": True, "answers": []},
        ]
        paragraphs.append({"context": context, "qas": qas})
    return {"version": "v2.0", "data": [{"title": "Games", "paragraphs": paragraphs}]}
