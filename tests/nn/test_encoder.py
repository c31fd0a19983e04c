import pytest
import torch
from tests.nn.toy import hugging_face_twin, toy_config, toy_encoder

from spanwise.errors import DataError
from spanwise.nn.encoder import Encoder, Pooler
from spanwise.nn.sequences import Sequences

LENGTHS = [7, 1, 12, 5]


def make_ids(num_tokens, seed=0):
    generator = torch.Generator().manual_seed(seed)
    ids = torch.randint(0, 99, (num_tokens,), generator=generator)
    return ids, torch.randint(0, 2, (num_tokens,), generator=generator)


@pytest.mark.parametrize("side", ["right", "left"])
@pytest.mark.parametrize("changes", [{}, {"activation": "gelu_tanh"}, {"norm_eps": 1e-5, "num_heads": 2}])
def test_hidden_states_equal_transformers_bert_whatever_side_it_pads(side, changes):
    encoder = toy_encoder(**changes)
    twin = hugging_face_twin(encoder)
    ids_T, types_T = make_ids(sum(LENGTHS))
    longest = max(LENGTHS)
    ids, types, mask, positions = torch.zeros(4, len(LENGTHS), longest, dtype=torch.int64)
    for row, (part_ids, part_types) in enumerate(zip(ids_T.split(LENGTHS), types_T.split(LENGTHS), strict=True)):
        place = slice(0, len(part_ids)) if side == "right" else slice(longest - len(part_ids), longest)
        ids[row, place], types[row, place], mask[row, place] = part_ids, part_types, 1
        positions[row, place] = torch.arange(len(part_ids))
    with torch.no_grad():
        ours = encoder(ids_T, types_T, Sequences.from_lengths(LENGTHS))
        theirs = twin(ids, mask, types, position_ids=positions).last_hidden_state[mask.bool()]
    assert (ours - theirs).abs().max() < 1e-5


def test_gradients_equal_those_of_transformers_bert():
    encoder = toy_encoder(num_layers=1)
    twin = hugging_face_twin(encoder)
    ids, types = make_ids(9)
    weights = torch.randn(9, 32, generator=torch.Generator().manual_seed(3))
    (encoder(ids, types, Sequences.from_lengths([9])) * weights).sum().backward()
    (twin(ids[None], token_type_ids=types[None]).last_hidden_state[0] * weights).sum().backward()
    pairs = [
        (encoder.embeddings.word.weight.grad[:99], twin.embeddings.word_embeddings.weight.grad),
        (encoder.layers[0].feed_forward.up.weight.grad, twin.encoder.layer[0].intermediate.dense.weight.grad),
        (encoder.layers[0].attention.qkv.weight.grad[:32], twin.encoder.layer[0].attention.self.query.weight.grad),
    ]
    for ours, theirs in pairs:
        torch.testing.assert_close(ours, theirs, atol=1e-4, rtol=1e-4)


def test_a_pack_gives_what_its_sequences_give_alone():
    encoder = toy_encoder()
    ids, types = make_ids(sum(LENGTHS))
    packed = encoder(ids, types, Sequences.from_lengths(LENGTHS))
    alone = [
        encoder(one_ids, one_types, Sequences.from_lengths([len(one_ids)]))
        for one_ids, one_types in zip(ids.split(LENGTHS), types.split(LENGTHS), strict=True)
    ]
    torch.testing.assert_close(packed, torch.cat(alone), atol=2e-6, rtol=0)


def test_hidden_states_stay_float32_and_near_under_bf16_autocast():
    encoder = toy_encoder()
    ids, types = make_ids(sum(LENGTHS))
    sequences = Sequences.from_lengths(LENGTHS)
    exact = encoder(ids, types, sequences)
    with torch.autocast("cpu", torch.bfloat16):
        rounded = encoder(ids, types, sequences)
    assert rounded.dtype == torch.float32
    assert (rounded - exact).norm() < 0.03 * exact.norm()


def test_training_drops_out_and_repeats_with_the_seed():
    encoder = toy_encoder().train()
    ids, types = make_ids(12)
    sequences = Sequences.from_lengths([12])
    torch.manual_seed(1)
    first = encoder(ids, types, sequences)
    torch.manual_seed(1)
    second = encoder(ids, types, sequences)
    assert torch.equal(first, second)
    assert not torch.equal(first, encoder(ids, types, sequences))


def test_every_parameter_but_padded_rows_gets_a_gradient_also_with_attention_dropout():
    for attention_dropout in (0.0, 0.2):
        encoder = toy_encoder(attention_dropout=attention_dropout).train()
        ids, types = make_ids(30)
        hidden = encoder(ids, types, Sequences.from_lengths([20, 10]))
        (hidden * torch.randn(30, 32)).sum().backward()
        for name, parameter in encoder.named_parameters():
            assert parameter.grad.abs().sum() > 0, name
        assert encoder.embeddings.word.weight.grad[99:].abs().sum() == 0


def test_a_sequence_longer_than_the_position_table_is_refused():
    encoder = toy_encoder()
    ids, types = make_ids(41)
    with pytest.raises(DataError, match="41 tokens came, but this encoder has 40 positions"):
        encoder(ids, types, Sequences.from_lengths([41]))


def test_the_pooler_exists_where_the_configuration_has_one():
    assert Encoder(toy_config()).pooler is None
    pooler = Encoder(toy_config(pooler=True)).pooler
    assert isinstance(pooler, Pooler)
    first = torch.randn(2, 32)
    torch.testing.assert_close(pooler(first), torch.tanh(pooler.dense(first)))
