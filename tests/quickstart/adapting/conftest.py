"""A start of random weights, the same with a head for questions, and a text of its own: enough to go through it all."""

import dataclasses
from types import SimpleNamespace

import pytest

from spanwise.interop.checkpoint import build_encoder
from spanwise.interop.combined.combine import combine
from spanwise.interop.folder_plan import FolderContent
from spanwise.interop.huggingface import read_folder, write_folder
from spanwise.interop.token_types import with_token_types
from spanwise.pretraining.system import build_model
from spanwise.quickstart.learning import quickstart_recipe
from spanwise.recipes import sizes
from spanwise.tasks.checkpoint import load_task_model, save_task_model
from spanwise.tasks.heads import new_head
from spanwise.tasks.model import TaskModel
from spanwise.tasks.qa.task import QuestionAnswering
from spanwise.text.learn import learn_tokenizer

TOWNS = ["Moss", "Bergen", "Oslo", "Hamar", "Alta", "Molde", "Narvik", "Larvik"]


def town_lines(number):
    town = TOWNS[number % 8]
    return [
        f"The town of {town} built bridge number {number} in {1700 + number}. It crosses the river near {town}.",
        f"In {1701 + number} the people of {town} held a feast by the bridge, and <b>every</b> child sang.\n",
    ]


@pytest.fixture(scope="session")
def towns(tmp_path_factory):
    """The text: 240 documents of two paragraphs."""
    path = tmp_path_factory.mktemp("towns") / "towns.txt"
    path.write_text("\n".join(line for number in range(240) for line in town_lines(number)), encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def toys(tmp_path_factory, towns):
    """Folder `start`, an encoder with the task qa, and `answering`, that task in a folder of its own."""
    folder = tmp_path_factory.mktemp("toys")
    recipe = quickstart_recipe(None)
    shape = {"num_layers": 1, "hidden_size": 32, "num_heads": 2, "intermediate_size": 64, "max_positions": 128}
    recipe = dataclasses.replace(recipe, encoder=dataclasses.replace(sizes.MINI, **shape))  # shaped as what ships
    tokenizer = learn_tokenizer([towns], vocab_size=400, max_length=128, out=folder / "tokenizer")
    model = build_model(recipe, tokenizer.vocab_size)
    write_folder(folder / "base", FolderContent(model.encoder, dict(model.heads.items()), tokenizer))
    checkpoint = read_folder(folder / "base")
    task = QuestionAnswering(max_length=96, doc_stride=32, max_question_tokens=24, shared_words="marked")
    encoder = build_encoder(with_token_types(checkpoint, task.new_token_types(checkpoint)))
    answering = TaskModel(task, encoder, new_head(checkpoint, task, encoder, seed=1))
    save_task_model(folder / "answering", answering, tokenizer, other_heads={}, extra={"finetuned": {"task": "qa"}})
    combine(folder / "base", [folder / "answering"], folder / "start")
    return SimpleNamespace(
        start=folder / "start",
        answering=folder / "answering",
        loaded=lambda: load_task_model(folder / "answering", "qa"),
    )
