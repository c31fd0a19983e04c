"""A small start, a text of its own domain, and general text: enough to see a loss move in seconds."""

import io
from dataclasses import replace

import pytest
import torch

from spanwise.adapt.options import AdaptationOptions, Length
from spanwise.adapt.run import adapt
from spanwise.adapt.texts import SourceText
from spanwise.pretraining.run import pretrain
from spanwise.recipes import spanbert_tiny
from spanwise.runtime.progress import RunLog
from spanwise.text.corpus import CorpusOptions

OWN_TEXT = "the tall mill stood under seven willows while geese slept beside cold water and nobody came home"
OWN_WORDS = OWN_TEXT.split()
SMALL = ["batch.tokens_per_step=512", "batch.max_tokens=512", "training.threads=1", "training.log_every=1"]


def own_sentences(count):
    """Sentences of few words in a fixed turn: nothing like the general text, and soon learned."""
    made = []
    for number in range(count):
        words = [OWN_WORDS[(number + 3 * place) % len(OWN_WORDS)] for place in range(6 + number % 5)]
        made.append(" ".join(words).capitalize() + ".")
    return made


@pytest.fixture(scope="session")
def own_text(tmp_path_factory):
    """Sixty documents of six sentences."""
    lines = own_sentences(360)
    path = tmp_path_factory.mktemp("own") / "own.txt"
    path.write_text("\n\n".join(" ".join(lines[first : first + 6]) for first in range(0, 360, 6)), encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def general(tiny_text):
    return SourceText(name="tiny text", texts=[tiny_text], corpus=CorpusOptions())


def tiny_recipe():
    recipe = spanbert_tiny()
    shape = {"hidden_size": 32, "num_layers": 2, "num_heads": 2, "intermediate_size": 64, "max_positions": 64}
    return replace(
        recipe,
        tokenizer=replace(recipe.tokenizer, vocab_size=300),
        encoder=replace(recipe.encoder, **shape),
        format=replace(recipe.format, max_length=64),
        batch=replace(recipe.batch, tokens_per_step=512, max_tokens=512),
        training=replace(recipe.training, max_tokens=None, max_steps=60, eval_every=None, threads=1),
    )


@pytest.fixture(scope="session")
def start(tiny_store, tmp_path_factory):
    """A model that was pre-trained on the general text, with both heads."""
    out = tmp_path_factory.mktemp("start") / "run"
    return pretrain(tiny_recipe(), data=tiny_store.path, out=out).final


@pytest.fixture(scope="session")
def start_without_heads(start, tmp_path_factory):
    """The same encoder as a folder that brings no head."""
    from spanwise.interop.checkpoint import build_encoder
    from spanwise.interop.folder_plan import FolderContent
    from spanwise.interop.huggingface import read_folder, write_folder
    from spanwise.text.tokenizers import Tokenizer

    folder = tmp_path_factory.mktemp("bare") / "bare"
    write_folder(folder, FolderContent(build_encoder(read_folder(start)), {}, Tokenizer.load(start)))
    return folder


def adapting_in(folder, own_text, general):
    """Return a function that adapts a start in a moment, with what comes of it in `folder`; its `said` is the log."""

    def run(start, *, steps=20, length=None, out="out", texts=None, overrides=(), resume=False, **options):
        torch.set_num_threads(1)
        stream = io.StringIO()
        run.said = stream
        return adapt(
            start,
            texts or [own_text],
            out=folder / out,
            general=options.pop("general", general),
            origins=options.pop("origins", ()),
            proof=options.pop("proof", None),
            unproven=options.pop("unproven", False),
            options=AdaptationOptions(length=length or Length(steps=steps), **options),
            overrides=[*SMALL, *overrides],
            resume=resume,
            log=lambda folder: RunLog(folder, stream=stream, display="plain"),
        )

    return run


@pytest.fixture
def run_adapt(own_text, general, tmp_path):
    return adapting_in(tmp_path, own_text, general)
