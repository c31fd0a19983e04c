import math

import numpy as np
import pytest
import torch
from scipy import stats
from tests.nn.toy import toy_config

from spanwise.nn.encoder import Encoder
from spanwise.nn.heads.lm import MaskedLMHead
from spanwise.nn.heads.span_boundary import SpanBoundaryHead
from spanwise.nn.init import initialize, inverse_normal, normal
from spanwise.nn.sequences import Sequences
from spanwise.nn.vocabulary_loss import vocabulary_loss


def test_values_are_frozen_for_ever():
    expected = [
        "0x1.ef5f460000000p-6",
        "0x1.7e415c0000000p-6",
        "0x1.0921840000000p-6",
        "-0x1.3bb1620000000p-7",
        "-0x1.7851e20000000p-5",
    ]
    assert [value.hex() for value in normal(0, "layers.0.attention.qkv.weight", 5, 0.02).tolist()] == expected


def test_values_depend_on_seed_name_and_index_alone():
    assert np.array_equal(normal(1, "a", 300_000, 1.0)[:1000], normal(1, "a", 1000, 1.0))
    assert not np.array_equal(normal(1, "a", 100, 1.0), normal(2, "a", 100, 1.0))
    assert not np.array_equal(normal(1, "a", 100, 1.0), normal(1, "b", 100, 1.0))
    assert np.array_equal(normal(-1, "a", 10, 1.0), normal(2**64 - 1, "a", 10, 1.0))


def test_values_are_normal():
    values = normal(7, "x", 400_000, 1.0).astype(np.float64)
    assert stats.kstest(values, "norm").pvalue > 0.001
    assert abs(np.corrcoef(values[:-1], values[1:])[0, 1]) < 0.006


def test_the_inverse_normal_is_exact_to_float32():
    uniform = np.concatenate([np.linspace(1e-9, 1 - 1e-9, 20_001), [2.0**-54, 1e-15, 0.02425, 0.97575]])
    np.testing.assert_allclose(inverse_normal(uniform), stats.norm.ppf(uniform), rtol=1e-7, atol=1e-9)


def test_matrices_are_drawn_norms_are_one_and_biases_and_padded_rows_zero():
    encoder = Encoder(toy_config(hidden_size=64, initializer_range=0.05))
    initialize(encoder, encoder.config, seed=1)
    for name, parameter in encoder.named_parameters():
        if "norm" in name:
            assert torch.all(parameter == (1.0 if name.endswith("weight") else 0.0)), name
        elif name.endswith("bias"):
            assert torch.all(parameter == 0.0), name
        elif "token_type" not in name:
            assert abs(parameter[:99].std().item() - 0.05) < 0.004, name
    assert torch.all(encoder.embeddings.word.weight[99:] == 0)


def test_a_prefix_starts_two_modules_of_one_class_apart():
    first, second, again = (Encoder(toy_config()) for _ in range(3))
    initialize(first, first.config, 0)
    initialize(second, second.config, 0, prefix="generator")
    initialize(again, again.config, 0)
    assert not torch.equal(first.word_embedding, second.word_embedding)
    assert torch.equal(first.word_embedding, again.word_embedding)


@pytest.mark.parametrize("vocab_size", [1_000, 4_000])
def test_initial_losses_are_about_the_logarithm_of_the_vocabulary(vocab_size):
    config = toy_config(vocab_size=vocab_size, hidden_size=64)
    encoder = Encoder(config)
    mlm, sbo = MaskedLMHead(config, encoder.word_embedding), SpanBoundaryHead(config, encoder.word_embedding)
    for name, module in {"encoder": encoder, "mlm": mlm, "sbo": sbo}.items():
        initialize(module, config, seed=0, prefix=name)
    generator = torch.Generator().manual_seed(0)
    ids = torch.randint(0, vocab_size, (200,), generator=generator)
    hidden = encoder.eval()(ids, torch.zeros_like(ids), Sequences.from_lengths([40] * 5))
    targets = torch.randint(0, vocab_size, (200,), generator=generator)
    rows = {"mlm": mlm.transform(hidden), "sbo": sbo.transform(hidden, hidden.flip(0), torch.arange(200) % 15)}
    for name, head in {"mlm": mlm, "sbo": sbo}.items():
        mean = vocabulary_loss(rows[name], head.weight, head.bias, targets, vocab_size).sum.item() / 200
        assert abs(mean - math.log(vocab_size)) < 0.1, name
