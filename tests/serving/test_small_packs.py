"""A smaller pack is taken where it changes no bit, and nowhere else."""

import numpy as np
import pytest
import torch

from spanwise.serving import small_packs
from spanwise.serving.models import open_models
from spanwise.serving.small_packs import allow_small_packs, small_size
from spanwise.tasks.batches import SPARE_TOKENS, Packing


def test_a_small_pack_is_a_third_of_a_pack_and_of_use():
    assert (small_size(1056), small_size(544), small_size(150)) == (352, 176, 0)


def test_what_fits_into_a_small_pack_is_filled_to_it_and_more_to_a_whole_one(mini):
    from spanwise.data.batch import Batch
    from spanwise.nn.sequences import Sequences

    packing = Packing(544, is_fixed=True, small=176)
    for size, filled in ((20, 176), (176 - SPARE_TOKENS, 176), (177 - SPARE_TOKENS, 544), (600, 1088)):
        ids = torch.ones(size, dtype=torch.int64)
        batch = Batch(input_ids=ids, token_type_ids=ids, sequences=Sequences.from_lengths([size]))
        assert len(packing.filled(batch).input_ids) == filled


@pytest.mark.slow
def test_a_machine_that_rounds_by_the_size_of_a_pack_gets_no_small_ones(monkeypatch):
    pipeline = open_models(["spanwise-mini"], "fp32", pack_tokens=544)["spanwise-mini"].pipelines[
        "token-classification"
    ]
    assert pipeline.packing.small == 176
    pipeline.packing = Packing(544, is_fixed=True)
    encoder = pipeline.model.encoder
    forward = type(encoder).forward

    def other(self, ids, types, sequences, rows=None):
        return forward(self, ids, types, sequences, rows) * np.float32(1 + 1e-7 * (len(ids) == 176))

    with monkeypatch.context() as patched:
        patched.setattr(type(encoder), "forward", other)
        assert allow_small_packs([("token-classification", pipeline)]) == 0
        patched.setattr(small_packs, "_is_alike", lambda *given: True)  # and where answers alone would differ
        assert allow_small_packs([("token-classification", pipeline)]) == 0
    assert pipeline.packing.small == 0
    assert allow_small_packs([("token-classification", pipeline)]) == 1 and pipeline.packing.small == 176


@pytest.mark.parametrize("packing", [Packing(544), Packing(100, is_fixed=True)])
def test_packs_that_are_not_fixed_or_are_small_already_stay(mini, packing):
    pipeline = mini["spanwise-mini"].pipelines["token-classification"]
    before, pipeline.packing = pipeline.packing, packing
    try:
        assert allow_small_packs([("token-classification", pipeline)]) == 0 and pipeline.packing == packing
    finally:
        pipeline.packing = before
