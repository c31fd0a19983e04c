"""What studies are tested on: the tiny store of the whole suite, labelled files in its words, a model of a moment."""

import itertools
import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from toy_studies import toy_recipe

from spanwise.interop.folder_plan import FolderContent
from spanwise.interop.huggingface import write_folder
from spanwise.pretraining.system import build_model
from spanwise.runtime.progress import RunLog
from spanwise.studies.probes import Context, Material, find_files

NOUNS = ("river", "bridge", "town", "bread", "fish", "cloth", "church", "market")


@pytest.fixture(scope="session")
def probe_data(tmp_path_factory) -> Path:
    """A folder of probe data: files of every probe, a few rows each."""
    folder = tmp_path_factory.mktemp("probe-data")
    pairs = [
        {"sentence_good": f"{word} was old .", "sentence_bad": f"{word} was was old .", "UID": f"u{number % 2}"}
        for number, word in enumerate(NOUNS)
    ]
    (folder / "blimp.jsonl").write_text("".join(json.dumps(row) + "\n" for row in pairs))
    for name in ("qa/squadshifts/new_wiki.json", "qa/squad/dev-v1.1.json"):
        write(folder / name, json.dumps(questions(6)))
    for name in ("coref/ontogum/train.conll", "coref/ontogum/dev.conll"):
        write(folder / name, "".join(coreference(number) for number in range(3)))
    for name in ("conll2000/train.txt", "conll2000/test.txt", "wikiann_en/train.txt", "wikiann_en/dev.txt"):
        write(folder / "tagging" / name, tagged(12))
    return folder


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def questions(num_paragraphs: int) -> dict:
    paragraphs = []
    for number in range(num_paragraphs):
        a, b = NOUNS[number % 8], NOUNS[(number + 3) % 8]
        context = f"The {a} ran past the {b} in winter."
        qas = [
            {"id": f"{number}-{i}", "question": f"What {i}?", "answers": [{"text": w, "answer_start": context.find(w)}]}
            for i, w in enumerate((a, b))
        ]
        paragraphs.append({"context": context, "qas": qas})
    return {"version": "1.1", "data": [{"title": "T", "paragraphs": paragraphs}]}


def coreference(number: int) -> str:
    """A document in which a river and a town are named by turns."""
    rows = [f"#begin document (d{number}); part 000"]
    for sentence in range(4):
        words = [("The", "-"), ("old", "-"), ("river", "(1)"), ("past", "-"), ("town", "(2)"), ("ran", "-")]
        for place, (word, mention) in enumerate(words if sentence % 2 else words[::-1]):
            rows.append("\t".join([f"d{number}", "0", str(place), word, *["-"] * 7, mention]))
        rows.append("")
    return "\n".join([*rows, "#end document", ""])


def tagged(num_sentences: int) -> str:
    sentences = []
    for noun, _ in zip(itertools.cycle(NOUNS), range(num_sentences), strict=False):
        sentences.append(f"the DT B-NP\n{noun} NN I-NP\nran VB B-VP\npast IN O\n{noun} NN B-NP\n")
    return "\n".join(sentences)


@pytest.fixture(scope="session")
def toy_model(tiny_store, tmp_path_factory) -> Path:
    """The toy recipe's first weights as a folder, heads included."""
    recipe = toy_recipe()
    model = build_model(replace(recipe, training=replace(recipe.training, seed=1)), tiny_store.vocabulary.size)
    folder = tmp_path_factory.mktemp("toy-model") / "model"
    folder.mkdir()
    write_folder(folder, FolderContent(model.encoder, dict(model.heads.items()), tiny_store.tokenizer()))
    return folder


@pytest.fixture
def context_of(tiny_store, toy_model, probe_data, tmp_path):
    """A function: what a probe is given for the toy model."""

    def make(probe) -> Context:
        material = Material(
            store=tiny_store,
            valid=tiny_store,
            files=find_files(probe, probe_data),
            cuts=tmp_path / "cuts",
            max_length=32,
        )
        return Context(
            material=material,
            model=toy_model,
            recipe=toy_recipe(),
            seed=1,
            out=tmp_path / "runs",
            log=RunLog(None),
        )

    return make
