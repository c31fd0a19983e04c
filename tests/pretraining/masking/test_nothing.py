"""Nothing is hidden and nothing replaced, whatever the tokenizer has."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from toy_packs import packs_of

from spanwise.pretraining.masking import NoMasking, NoReplacement
from spanwise.runtime.seed import keys_for


def test_no_token_is_chosen_and_none_changes(vocabulary):
    pack = packs_of(3, 20)
    keys = keys_for(0, "masking", 0, pack.block_ids)
    bare = replace(vocabulary, mask_id=-1, unigram_counts=np.zeros(200, dtype=np.int64))

    spans = NoMasking().select(pack, keys, capacity=0)
    replaced = NoReplacement().apply(pack, spans, keys, bare, NoReplacement().random_ids(bare))

    assert len(spans.start) == len(spans.end) == len(spans.sequence) == NoMasking().ratio == 0
    np.testing.assert_array_equal(replaced, pack.input_ids)
    assert replaced is not pack.input_ids
