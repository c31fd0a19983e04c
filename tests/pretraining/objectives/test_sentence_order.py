"""Sentence order prediction reads the labels of swapped pairs, and no others."""

from __future__ import annotations

import numpy as np
import pytest

from spanwise.errors import ConfigError
from spanwise.pretraining.formats import OrderedPair, SentencePair, SplitSegments
from spanwise.pretraining.needs import check_needs
from spanwise.pretraining.objectives import SentenceOrder


def test_pairs_are_targets_and_single_sentences_are_not(store):
    part = OrderedPair(max_length=40)
    table = part.blocks(store, 0, 0)
    pack = part.assemble(store, table, np.arange(table.num_blocks))

    targets = SentenceOrder().targets(pack)

    labels = table.pair_labels
    assert 0 < targets.count < len(labels)
    assert targets.labels.tolist() == labels[labels >= 0].tolist()
    assert targets.positions.tolist() == pack.borders[:-1][labels >= 0].tolist()
    assert SentenceOrder().targets_per_token(40) == 1 / 40


def test_formats_that_swap_nothing_are_refused():
    check_needs(OrderedPair(), {"sop": SentenceOrder()})
    for other in (SplitSegments(), SentencePair()):
        with pytest.raises(ConfigError, match=f"'sop'.*{type(other).__name__}.*Try OrderedPair"):
            check_needs(other, {"sop": SentenceOrder()})


def test_a_negative_weight_is_refused():
    with pytest.raises(ConfigError, match=r"objectives\.sop\.weight"):
        SentenceOrder(weight=-1.0)
