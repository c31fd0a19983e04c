"""Reading token by token says what reading at once says, whatever the lengths, the order and the type."""

import numpy as np
import pytest
import torch
from tests.nn.toy import MODERN, toy_encoder

from spanwise.errors import ConfigError
from spanwise.nn.decoding import reader as decoding
from spanwise.nn.decoding.reader import CausalReader, few_rows, slot_bytes
from spanwise.nn.sequences import Sequences

TEXTS = [np.arange(5, 5 + length) for length in (1, 7, 3, 12)]


def causal_encoder(**changes):
    return toy_encoder(**({"causal": True, "num_token_types": 0, "embedding_norm": False} | changes)).eval()


def at_once(encoder, text):
    ids = torch.from_numpy(np.asarray(text))
    with torch.no_grad():
        return encoder(ids, torch.zeros_like(ids), Sequences.from_lengths([len(text)]))[-1]


CHANGES = [{}, {"sharing": "all"}, {"embedding_size": 16, "position_offset": 2}, MODERN | {"embedding_norm": True}]


@pytest.mark.parametrize("changes", CHANGES)
@torch.inference_mode()
def test_rows_of_any_length_are_read_on_as_if_at_once(changes):
    encoder = causal_encoder(**changes)
    reader = CausalReader(encoder, len(TEXTS), 20)
    texts = [list(text) for text in TEXTS]
    found = reader.fill(range(4), TEXTS)
    for step in range(4):
        expected = torch.stack([at_once(encoder, text) for text in texts])
        torch.testing.assert_close(found, expected, atol=2e-5, rtol=1e-5)
        new = np.array([20 + step, 30, 31 + step, 9])
        for text, token in zip(texts, new, strict=True):
            text.append(int(token))
        found = reader.step(new)
    assert reader.lengths_B.tolist() == [5, 11, 7, 16]


@torch.inference_mode()
def test_rows_are_kept_in_a_new_order_and_filled_again():
    encoder = causal_encoder()
    reader = CausalReader(encoder, 4, 20)
    reader.fill(range(4), TEXTS)
    reader.keep(np.array([3, 1]))
    again = reader.fill([1], [np.array([40, 41])])
    torch.testing.assert_close(again[0], at_once(encoder, [40, 41]), atol=2e-5, rtol=1e-5)
    found = reader.step(np.array([8, 9]))
    torch.testing.assert_close(found[0], at_once(encoder, [*TEXTS[3], 8]), atol=2e-5, rtol=1e-5)
    torch.testing.assert_close(found[1], at_once(encoder, [40, 41, 9]), atol=2e-5, rtol=1e-5)
    assert reader.lengths_B.tolist() == [13, 3]


@torch.inference_mode()
def test_many_texts_are_read_in_several_packs(monkeypatch):
    encoder = causal_encoder()
    whole = CausalReader(encoder, 4, 20).fill(range(4), TEXTS)
    monkeypatch.setattr(decoding, "FILL_TOKENS", 6)
    torch.testing.assert_close(CausalReader(encoder, 4, 20).fill(range(4), TEXTS), whole, atol=2e-5, rtol=1e-5)


@torch.inference_mode()
def test_the_cache_has_the_type_that_the_layers_compute_in():
    encoder = causal_encoder()
    with torch.autocast("cpu", torch.bfloat16):
        reader = CausalReader(encoder, 4, 20)
        found = reader.fill(range(4), TEXTS)
        assert found.dtype == torch.float32 and reader.step(np.array([1, 2, 3, 4])).dtype == torch.float32
    assert reader._caches[0].keys.dtype == torch.bfloat16
    torch.testing.assert_close(found[1], at_once(encoder, TEXTS[1]), atol=0.1, rtol=0.1)


def test_a_reader_has_no_more_slots_than_positions_and_bidirectional_encoders_are_refused():
    encoder = causal_encoder()
    assert CausalReader(encoder, 1, 10**6).num_slots == encoder.config.max_positions
    assert slot_bytes(encoder) == 2 * encoder.config.num_layers * encoder.config.hidden_size * 4
    with pytest.raises(ConfigError, match="sees both sides"):
        CausalReader(toy_encoder(), 1, 8)


@pytest.mark.parametrize("num_rows", [1, 4, 9, 64, 65])
def test_few_rows_are_multiplied_to_the_same_numbers(num_rows):
    linear = torch.nn.Linear(32, 48)
    rows = torch.randn(num_rows, 32)
    for bias in (None, linear.bias):
        found = few_rows(rows, linear.weight, bias)
        assert found.is_contiguous()
        torch.testing.assert_close(found, torch.nn.functional.linear(rows, linear.weight, bias), atol=1e-5, rtol=1e-5)


@torch.inference_mode()
def test_layers_that_are_no_plain_linear_ones_compute_as_they_do():
    class Doubled(torch.nn.Linear):
        def forward(self, rows):
            return 2 * super().forward(rows)

    encoder = causal_encoder()
    network = encoder.layers[0].feed_forward
    plain, network.up = network.up, Doubled(network.up.in_features, network.up.out_features)
    network.up.load_state_dict(plain.state_dict())
    reader = CausalReader(encoder, 4, 20)
    reader.fill(range(4), TEXTS)
    found = reader.step(np.array([8, 9, 10, 11]))
    torch.testing.assert_close(found[1], at_once(encoder, [*TEXTS[1], 9]), atol=2e-5, rtol=1e-5)
