"""Every recipe trains three steps at tiny size to losses that are written down: a change that should not alter
numbers does not.

To write them again after a change that should: SPANWISE_WRITE_GOLDEN=1 python -m pytest tests/recipes/test_golden.py
"""

import json
import math
import os
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from spanwise import recipes
from spanwise.pretraining.side_arrays import side_arrays_of
from spanwise.pretraining.system import build_model, check, training_source
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
    )
    return replace(
        recipe,
        encoder=shape,
        format=replace(recipe.format, max_length=64),
        batch=replace(recipe.batch, tokens_per_step=256, max_tokens=128),
        training=replace(recipe.training, learning_rate=1e-2, precision="fp32", threads=1),
    )


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
def test_a_recipe_trains_to_its_golden_losses(name, tiny_store, tiny_tagged_store):
    recipe = recipes.find(name)
    tagged = side_arrays_of(recipe.masking, recipe.word_unit)
    losses = three_losses(recipe, tiny_tagged_store if tagged else tiny_store)
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
