"""Next sentence prediction reads the labels of random and following partners, and no others."""

from __future__ import annotations

import numpy as np
import pytest

from spanwise.errors import ConfigError
from spanwise.pretraining.formats import OrderedPair, SentencePair, SingleSegment
from spanwise.pretraining.needs import check_needs
from spanwise.pretraining.objectives import NextSentence


def test_every_sequence_is_a_target_with_its_label(store):
    part = SentencePair(max_length=40)
    table = part.blocks(store, 0, 0)
    pack = part.assemble(store, table, np.arange(10))

    targets = NextSentence().targets(pack)

    assert targets.labels.tolist() == table.pair_labels[:10].tolist()
    assert targets.positions.tolist() == pack.borders[:-1].tolist()
    assert NextSentence().targets_per_token(40) == 1 / 40


def test_single_segments_and_swapped_pairs_are_refused():
    check_needs(SentencePair(), {"nsp": NextSentence()})
    for other in (SingleSegment(), OrderedPair()):
        with pytest.raises(ConfigError, match=f"'nsp'.*{type(other).__name__}.*Try SentencePair or SegmentPair"):
            check_needs(other, {"nsp": NextSentence()})


def test_a_negative_weight_is_refused():
    with pytest.raises(ConfigError, match=r"objectives\.nsp\.weight"):
        NextSentence(weight=-1.0)
