"""Every recipe trains three steps at tiny size to losses that are written down: a change that should not alter
numbers does not.

To write them again after a change that should: SPANWISE_WRITE_GOLDEN=1 python -m pytest tests/recipes/test_golden.py
"""

import json
import math
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from spanwise import recipes
from spanwise.config import to_record
from spanwise.data.prepare import prepare
from spanwise.data.token_store import TokenStore
from spanwise.pretraining.system import build_model, check, pack_parts, training_source
from spanwise.text.extend import with_roles
from spanwise.text.tags import BEGINS, GOES_ON
from spanwise.training.optim import build_optimizer
from spanwise.training.step import Updater
from spanwise.training.timing import SectionTimer

FILE = Path(__file__).with_name("golden.json")
GOLDEN = json.loads(FILE.read_text()) if FILE.exists() else {}


def tiny(recipe):
    """The recipe with everything that costs time made small, and nothing else changed."""
    shape = replace(
        recipe.encoder,
        hidden_size=32,
        num_layers=2,
        num_heads=2,
        intermediate_size=64,
        max_positions=64,
        hidden_dropout=0.0,
        embedding_size=None if recipe.encoder.embedding_size is None else 16,
    )
    return replace(
        recipe,
        masking=with_rare_words(recipe.masking),
        encoder=shape,
        format=replace(recipe.format, max_length=64),
        batch=replace(recipe.batch, tokens_per_step=256, max_tokens=128),
        training=replace(recipe.training, learning_rate=1e-2, precision="fp32", threads=1),
    )


def with_rare_words(masking):
    """The masking with no word taken for a stop word: the tiny text has forty in all."""
    if hasattr(masking, "frequent_share"):
        return replace(masking, frequent_share=1.0)
    inner = {
        name: {key: with_rare_words(scheme) for key, scheme in value.items()}
        if isinstance(value, dict)
        else with_rare_words(value)
        for name in getattr(masking, "__dataclass_fields__", ())
        for value in (getattr(masking, name),)
        if isinstance(value, dict) or hasattr(value, "select")
    }
    return replace(masking, **inner) if inner else masking


class EveryFourthWord:
    """A tagger: every fourth word begins a phrase of two words."""

    source = "test"

    def __init__(self, name):
        self.name = name

    def tag(self, texts, encodings):
        tagged = []
        for encoding in encodings:
            word = np.asarray(encoding.word_ids)
            begins = np.diff(word, prepend=-1) != 0
            tagged.append(np.select([(word % 4 == 0) & begins, word % 4 < 2], [BEGINS, GOES_ON], 0).astype(np.uint8))
        return tagged


@pytest.fixture(scope="module")
def store(tiny_text, tiny_store, tmp_path_factory):
    """The tiny text with tags for the recipes that ask for them; others do not see them."""
    folder = tmp_path_factory.mktemp("tagged") / "store"
    taggers = [EveryFourthWord(name) for name in ("entities", "noun-phrases")]
    prepare(tiny_text, tiny_store.tokenizer(), folder, taggers=taggers)
    return TokenStore.open(folder)


@pytest.fixture(scope="module")
def losses_of(store, tiny_tagged_store):
    """Three steps of a recipe; those that are equal at tiny size train once."""
    known = {}

    def find(recipe):
        record = to_record(tiny(recipe))
        lengths = ("warmup_steps", "max_steps", "max_tokens", "num_epochs", "budget", "schedule", "eval_every")
        for name in ("name", "differences", "tokenizer"):
            del record[name]
        for name in lengths:
            del record["training"][name]
        key = json.dumps(record)
        if key not in known:
            text = tiny_tagged_store if recipe.word_unit == "morpheme" else store
            if roles := pack_parts(recipe).roles:
                text = TokenStore.open(text.path, with_roles(text.tokenizer(), roles))
            known[key] = three_losses(recipe, text)
        return known[key]

    return find


def three_losses(recipe, store):
    small = tiny(recipe)
    check(small)
    model, source = build_model(small, store.vocabulary.size), training_source(small, store)
    device = torch.device("cpu")
    updater = Updater(
        model=model,
        optimizer=build_optimizer(model, small.training),
        device=device,
        precision="fp32",
        seed=small.training.seed,
        max_grad_norm=small.training.max_grad_norm,
        timer=SectionTimer(device),
    )
    return [updater.update(step, source.step(step - 1), 1e-2)[0].means() for step in (1, 2, 3)]


@pytest.mark.parametrize("name", recipes.names())
def test_a_recipe_trains_to_its_golden_losses(name, losses_of):
    losses = losses_of(recipes.find(name))
    if os.environ.get("SPANWISE_WRITE_GOLDEN"):
        GOLDEN[name] = [{key: round(value, 6) for key, value in step.items()} for step in losses]
        FILE.write_text(json.dumps(GOLDEN, indent=1) + "\n")
    assert name in GOLDEN, f"a new recipe needs golden losses; these came out: {losses}"
    for found, golden in zip(losses, GOLDEN[name], strict=True):
        assert found == pytest.approx(golden, rel=1e-3)


def test_three_steps_bring_the_loss_down_from_ln_v(tiny_store):
    losses = three_losses(recipes.spanbert_base(), tiny_store)
    for name in ("mlm", "sbo"):
        assert losses[0][name] == pytest.approx(math.log(tiny_store.vocabulary.size), rel=0.02)
        assert losses[2][name] < losses[0][name] - 0.1
