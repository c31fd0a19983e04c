"""Guesses of both heads are those of their formulas, whatever else is asked in the same call."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from tests.nn.int8.byte_machine import refused_here

from spanwise.errors import CheckpointError
from spanwise.interop.huggingface import read_folder
from spanwise.pipelines.mask_model import MaskModel, Question
from spanwise.tasks.batches import Packing


def question(n: int, run: tuple[int, int], seed: int = 0) -> Question:
    ids = np.random.default_rng(seed).integers(5, 60, n)
    return Question(ids=ids, blanks=np.arange(*run), run=run)


@pytest.mark.parametrize("head", ["mlm", "both"])
def test_guesses_in_int8_are_near_those_in_float32(spanbert_folder, head):
    if refused_here():
        return
    checkpoint, asked = read_folder(spanbert_folder), [question(12, (4, 8))]
    (plain,) = MaskModel(checkpoint, head).log_probs(asked)
    (found,) = MaskModel(checkpoint, head, precision="int8").log_probs(asked, precision="int8")
    assert 0 < float((found - plain).abs().mean()) < 0.05


def test_the_boundary_head_sees_the_two_tokens_around_the_run(spanbert_folder):
    checkpoint = read_folder(spanbert_folder)
    model = MaskModel(checkpoint, "sbo").eval()
    asked = question(12, (4, 8))

    (found,) = model.log_probs([asked])

    import spanwise

    hidden = spanwise.load(spanbert_folder)(torch.from_numpy(asked.ids)[None])[0]
    sbo, rows = checkpoint.heads["sbo"], []
    for index in range(4):
        position = sbo["positions.weight"][min(index, 2)]  # three rows in this folder
        inner = torch.cat([hidden[3], hidden[8], position])
        for layer, norm in (("linear1", "norm1"), ("linear2", "norm2")):
            inner = F.gelu(F.linear(inner, sbo[f"{layer}.weight"], sbo[f"{layer}.bias"]))
            inner = F.layer_norm(inner, inner.shape, sbo[f"{norm}.weight"], sbo[f"{norm}.bias"], 1e-12)
        rows.append(checkpoint.tensors["embeddings.word.weight"] @ inner + sbo["bias"])
    torch.testing.assert_close(found, torch.stack(rows).log_softmax(-1), atol=1e-5, rtol=0)


def test_both_heads_together_are_their_normalised_mean(spanbert_folder):
    checkpoint, asked = read_folder(spanbert_folder), [question(9, (2, 4)), question(15, (7, 8), 1)]
    mlm, sbo, both = (list(MaskModel(checkpoint, name).eval().log_probs(asked)) for name in ("mlm", "sbo", "both"))

    for one, other, mean in zip(mlm, sbo, both, strict=True):
        torch.testing.assert_close(mean, ((one + other) / 2).log_softmax(-1), atol=1e-5, rtol=0)
        torch.testing.assert_close(mean.exp().sum(-1), torch.ones(len(mean)))


def test_answers_do_not_depend_on_what_is_asked_beside_them(spanbert_folder):
    model = MaskModel(read_folder(spanbert_folder), "both").eval()
    asked = [question(5 + 3 * i, (2, 4), i) for i in range(6)]
    together = list(model.log_probs(asked))
    apart = list(model.log_probs(asked, packing=Packing(20)))

    assert len(together) == len(apart) == 6
    for one, other in zip(together, apart, strict=True):
        torch.testing.assert_close(one, other, atol=1e-5, rtol=0)


def test_in_packs_of_a_fixed_shape_answers_are_the_same_bits(spanbert_folder):
    model = MaskModel(read_folder(spanbert_folder), "both").eval()
    asked = [question(5 + 3 * i, (2, 4), i) for i in range(6)]
    packing = Packing(64, is_fixed=True)
    together = list(model.log_probs(asked, packing=packing))
    alone = [next(iter(model.log_probs([one], packing=packing))) for one in asked]
    assert all(torch.equal(one, other) for one, other in zip(together, alone, strict=True))


@pytest.mark.parametrize(
    "head, message",
    [
        ("sbo", r"\(BertForMaskedLM\) has no span-boundary head.*noise.*spanwise pretrain.*head='mlm' asks that"),
        ("both", "has no span-boundary head"),
    ],
)
def test_a_fresh_head_is_never_asked(masked_lm_folder, head, message):
    with pytest.raises(CheckpointError, match=message):
        MaskModel(read_folder(masked_lm_folder), head)
