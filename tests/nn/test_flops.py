from dataclasses import replace

import pytest
from tests.nn.toy import toy_config

from spanwise.nn.config import EncoderConfig
from spanwise.nn.flops import layer_parameters, training_flops_per_token

BASE = EncoderConfig(vocab_size=28_996, hidden_size=768, num_layers=12, num_heads=12, intermediate_size=3_072)

MLM, SBO = 768 * 768 + 28_996 * 768, 1_736 * 768 + 768 * 768 + 28_996 * 768  # weights that a target meets


def test_layers_of_base_size_have_their_known_size():
    assert layer_parameters(BASE) == 84_934_656


def test_factorised_embeddings_add_their_product():
    narrow = replace(BASE, embedding_size=128, sharing="all")
    assert layer_parameters(narrow) == layer_parameters(BASE) + 128 * 768


def test_sharing_saves_no_operation_and_causal_attention_half_of_its_own():
    both_sides = training_flops_per_token(BASE, 512)
    assert training_flops_per_token(replace(BASE, sharing="all"), 512) == both_sides
    assert both_sides - training_flops_per_token(replace(BASE, causal=True), 512) == 12 * 4 * 256 * 768 * 3


def test_base_at_512_costs_587_megaflops_a_token_and_sbo_adds_four_percent():
    mlm = training_flops_per_token(BASE, 512, [(0.15, MLM)])
    both = training_flops_per_token(BASE, 512, [(0.15, MLM), (0.15, SBO)])
    assert mlm == pytest.approx(587e6, rel=0.01)
    assert both / mlm == pytest.approx(1.038, abs=0.003)


def test_gates_have_a_third_matrix_and_local_layers_attend_to_their_window_alone():
    plain, gated = toy_config(), toy_config(gated=True)
    assert layer_parameters(gated) - layer_parameters(plain) == 3 * 32 * 64
    attention = [
        training_flops_per_token(config, 100.0) - 6 * layer_parameters(config)
        for config in (plain, toy_config(local_window=4), toy_config(local_window=4, global_every=1))
    ]
    assert attention[0] == attention[2] == 3 * 12 * 32 * 100
    assert attention[1] == 12 * 32 * (100 + 9 + 9)
