"""Masked tokens: every model is asked for the same tokens, and what a model has no head for is left out."""

from dataclasses import replace

import numpy as np
import pytest
from toy_studies import toy_recipe

from spanwise.pretraining.objectives import MaskedLM
from spanwise.studies.probes import MaskedTokens

PROBE = MaskedTokens(max_tokens=900)


def test_means_by_distance_add_up_to_the_mean_of_all(context_of):
    context = context_of(PROBE)
    found = PROBE.measure(context)
    assert set(found) <= {figure.key for figure in PROBE.figures}
    from spanwise.pretraining.measure import facts_of

    facts = facts_of(PROBE._packs(context.material)["span"])
    counts = np.bincount(facts.depth, minlength=6)[1:]
    by_distance = [found.get(f"span_mlm_loss_at_{depth}", 0.0) for depth in range(1, 6)]
    assert np.average(by_distance, weights=counts) == pytest.approx(found["span_mlm_loss"])
    assert found["span_sbo_loss"] == pytest.approx(np.log(context.material.store.vocabulary.size), abs=0.5)


def test_the_masks_do_not_depend_on_the_arm(context_of):
    context = context_of(PROBE)
    other = replace(context, recipe=toy_recipe(num_maskings=3, objectives={"mlm": MaskedLM()}), seed=9)
    ours, theirs = PROBE.measure(context), PROBE.measure(other)
    assert theirs["span_mlm_loss"] == ours["span_mlm_loss"] and theirs["piece_mlm_right"] == ours["piece_mlm_right"]
    assert "span_sbo_loss" not in theirs  # that arm has no such objective


def test_baselines_are_counted_in_the_training_text(context_of):
    columns = PROBE.baselines(context_of(PROBE).material)
    assert set(columns) == {"unigram", "bigram"}
    assert columns["bigram"]["piece_mlm_loss"] < columns["unigram"]["piece_mlm_loss"]
    assert "piece_sbo_loss" not in columns["unigram"]


def test_about_as_much_text_is_read_as_asked(context_of):
    material = context_of(PROBE).material
    few, all_of_it = (
        sum(len(pack.input_ids) for pack in MaskedTokens(max_tokens=n)._packs(material)["span"]) for n in (1, 10**9)
    )
    assert 0 < few < all_of_it and all_of_it > material.valid.num_tokens
