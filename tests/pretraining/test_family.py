"""Formats and objectives of the whole family train together: a tiny model learns one step's packs by heart."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from test_system import small

from spanwise.pretraining.formats import ContiguousText, FullSentences, OrderedPair, SentencePair, SplitSegments
from spanwise.pretraining.masking import NoMasking, NoReplacement
from spanwise.pretraining.objectives import CausalLM, MaskedLM, NextSentence, SentenceOrder, SpanBoundary
from spanwise.pretraining.system import build_model, check, training_source
from spanwise.training.optim import build_optimizer
from spanwise.training.step import Updater
from spanwise.training.timing import SectionTimer

READS_ALL = dict(masking=NoMasking(), replacement=NoReplacement())
SYSTEMS = {
    "bert": (dict(pooler=True), dict(format=SentencePair(max_length=64)), [MaskedLM(), NextSentence()]),
    "albert": (
        dict(pooler=True, sharing="all", embedding_size=16),
        dict(format=OrderedPair(max_length=64)),
        [MaskedLM(), SentenceOrder()],
    ),
    "electra's text": ({}, dict(format=SplitSegments(max_length=64)), [MaskedLM(), SpanBoundary()]),
    "gpt1": (dict(causal=True), dict(format=ContiguousText(max_length=64), **READS_ALL), [CausalLM()]),
    "roberta": (dict(num_token_types=1), dict(format=FullSentences(max_length=64)), [MaskedLM()]),
}


def system(name: str):
    """The toy recipe with other parts."""
    shape, parts, objectives = SYSTEMS[name]
    recipe = small()
    encoder = replace(recipe.encoder, hidden_dropout=0.0, **shape)
    return replace(recipe, encoder=encoder, objectives={part.name: part for part in objectives}, **parts)


def learned(recipe, store, num_steps: int = 50):
    """Mean losses before and after learning the packs of one step again and again."""
    check(recipe)
    model, device = build_model(recipe, store.vocabulary.size), torch.device("cpu")
    updater = Updater(
        model=model,
        optimizer=build_optimizer(model, recipe.training),
        device=device,
        precision="fp32",
        seed=0,
        max_grad_norm=1.0,
        timer=SectionTimer(device),
    )
    packs = training_source(recipe, store).step(0)
    means = [updater.update(step, packs, 1e-2)[0].means() for step in range(1, num_steps + 1)]
    return means[0], means[-1]


@pytest.mark.parametrize("name", SYSTEMS)
def test_every_objective_learns(name, tiny_store):
    recipe = system(name)

    first, last = learned(recipe, tiny_store)

    assert first.keys() == recipe.objectives.keys()
    for objective in recipe.objectives:
        assert last[objective] < 0.2 * first[objective]
