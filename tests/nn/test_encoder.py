import copy

import numpy as np
import pytest
import torch
from tests.nn.toy import MODERN, hugging_face_twin, toy_config, toy_encoder

from spanwise.errors import DataError
from spanwise.nn.attention import packed_contexts
from spanwise.nn.encoder import Encoder, Pooler
from spanwise.nn.init import initialize
from spanwise.nn.layer import FeedForward, SelfAttention
from spanwise.nn.sequences import Sequences
from spanwise.training.optim import decay_groups

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


@pytest.mark.parametrize("changes", [{}, MODERN, MODERN | {"sharing": "all", "activation": "silu"}])
def test_a_pack_gives_what_its_sequences_give_alone(changes):
    encoder = toy_encoder(**changes)
    ids, types = make_ids(sum(LENGTHS))
    packed = encoder(ids, types, Sequences.from_lengths(LENGTHS))
    alone = [
        encoder(one_ids, one_types, Sequences.from_lengths([len(one_ids)]))
        for one_ids, one_types in zip(ids.split(LENGTHS), types.split(LENGTHS), strict=True)
    ]
    torch.testing.assert_close(packed, torch.cat(alone), atol=2e-6, rtol=0)


@pytest.mark.parametrize("changes", [{}, MODERN])
def test_hidden_states_stay_float32_and_near_under_bf16_autocast(changes):
    encoder = toy_encoder(**changes)
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


def test_attention_dropout_acts_while_training_alone():
    encoder = toy_encoder(attention_dropout=0.5, hidden_dropout=0.0)
    ids, types = make_ids(6)
    sequences = Sequences.from_lengths([6])
    assert not torch.equal(encoder.train()(ids, types, sequences), encoder(ids, types, sequences))
    assert torch.equal(encoder.eval()(ids, types, sequences), encoder(ids, types, sequences))


@pytest.mark.parametrize("rates", [(0.0, 0.5), (0.5, 0.0)])
def test_an_encoder_beside_another_one_drops_other_elements(rates):
    """ELECTRA's generator reads the tokens of its encoder with the same keys."""
    encoder = toy_encoder(hidden_dropout=rates[0], attention_dropout=rates[1], num_layers=1)
    beside = Encoder(encoder.config, encoder.embeddings)
    beside.load_state_dict(encoder.state_dict(), strict=False)
    ids, sequences = torch.arange(7) + 5, Sequences.from_lengths([7]).keyed(np.array([3], dtype=np.uint64))

    def states(one):
        return one(ids, torch.zeros_like(ids), sequences)

    assert torch.equal(states(encoder.eval()), states(beside.eval()))
    assert torch.equal(states(encoder.train()), states(encoder))
    assert not torch.isclose(states(encoder), states(beside.train())).any(1).all()


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


@pytest.mark.parametrize(
    ("sharing", "num_attentions", "num_feed_forwards"),
    [("none", 3, 3), ("all", 1, 1), ("attention", 1, 3), ("feed_forward", 3, 1)],
)
def test_a_shared_sub_layer_exists_once_and_is_visited_as_often_as_any(sharing, num_attentions, num_feed_forwards):
    encoder = toy_encoder(sharing=sharing)
    visits = []
    for part in encoder.modules():  # each module once, however often it stands in the order of visits
        if isinstance(part, SelfAttention | FeedForward):
            part.register_forward_hook(lambda module, *_: visits.append(module))
    ids, types = make_ids(9)
    encoder(ids, types, Sequences.from_lengths([9]))
    kinds = [type(module).__name__ for module in visits]
    assert kinds == ["SelfAttention", "FeedForward"] * 3  # the work of a step does not depend on what is shared
    distinct = {id(module): type(module).__name__ for module in visits}
    assert list(distinct.values()).count("SelfAttention") == num_attentions
    assert list(distinct.values()).count("FeedForward") == num_feed_forwards
    size = {"attention": 4 * (32 * 32 + 32) + 64, "feed_forward": 2 * 32 * 64 + 64 + 32 + 64}
    in_layers = sum(parameter.numel() for parameter in encoder.layers.parameters())
    assert in_layers == num_attentions * size["attention"] + num_feed_forwards * size["feed_forward"]


@pytest.mark.parametrize("sharing", ["all", "attention", "feed_forward"])
def test_the_gradient_of_a_shared_sub_layer_is_the_sum_over_its_visits(sharing):
    shared = toy_encoder(sharing=sharing)
    apart = toy_encoder()
    with torch.no_grad():
        own = dict(shared.named_parameters(remove_duplicate=False))
        for name, parameter in apart.named_parameters():
            parameter.copy_(own[name])
    ids, types = make_ids(sum(LENGTHS))
    for encoder in (shared, apart):
        (encoder(ids, types, Sequences.from_lengths(LENGTHS)) ** 3).sum().backward()
    summed = {}
    for name, parameter in apart.named_parameters():
        summed[id(own[name])] = summed.get(id(own[name]), 0) + parameter.grad
    for name, parameter in shared.named_parameters():
        torch.testing.assert_close(parameter.grad, summed[id(parameter)], atol=1e-3, rtol=1e-3, msg=name)


def test_sharing_survives_copies_and_starts_from_the_weights_of_the_first_visit():
    shared, apart = Encoder(toy_config(sharing="all")), Encoder(toy_config())
    for encoder in (shared, apart):
        initialize(encoder, encoder.config, seed=3)
    names = {name for name, _ in shared.named_parameters()}
    assert all(name.startswith(("embeddings.", "layers.0.")) for name in names)
    for name, parameter in shared.named_parameters():
        assert torch.equal(parameter, apart.get_parameter(name))
    again = copy.deepcopy(shared).to(torch.float64)
    assert again.layers[0].attention is again.layers[2].attention
    assert {name for name, _ in again.named_parameters()} == names


def test_weight_decay_meets_a_shared_sub_layer_once():
    decayed, plain = decay_groups(toy_encoder(sharing="all"))
    assert len(set(decayed)) == len(decayed) == 3 + 4
    assert "layers.0.attention.qkv.weight" in decayed and "layers.0.attention.qkv.bias" in plain


@pytest.mark.parametrize("changes", [{"embedding_norm": False, "num_token_types": 0}, MODERN])
def test_a_causal_encoder_gives_every_prefix_what_it_gives_the_whole(changes):
    encoder = toy_encoder(**(changes | {"causal": True}))
    ids, types = make_ids(12)
    whole = encoder(ids, types, Sequences.from_lengths([12]))
    prefix = encoder(ids[:5], types[:5], Sequences.from_lengths([5]))
    torch.testing.assert_close(whole[:5], prefix, atol=2e-6, rtol=0)


def test_filler_rows_of_bf16_on_a_cpu_change_no_hidden_state_and_no_gradient():
    encoder = toy_encoder()
    lengths = [9, 30]  # 39 rows are computed as 48
    ids, types = make_ids(48)

    def run(lengths):
        encoder.zero_grad()
        num_tokens = sum(lengths)
        with torch.autocast("cpu", torch.bfloat16):
            hidden = encoder(ids[:num_tokens], types[:num_tokens], Sequences.from_lengths(lengths))
        hidden[:39].square().sum().backward()
        return hidden, encoder.layers[0].attention.qkv.weight.grad.clone()

    hidden, gradient = run(lengths)
    neighbour, same = run([*lengths, 9])  # where filler was, a sequence of its own
    assert hidden.shape == (39, encoder.config.hidden_size)
    torch.testing.assert_close(hidden, neighbour[:39])
    torch.testing.assert_close(gradient, same, rtol=1e-2, atol=1e-3)


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("changes", [{}, {"sharing": "all"}, MODERN])
def test_a_last_layer_at_some_rows_equals_the_whole_one_there_with_gradients_and_dropout(training, changes):
    encoder = toy_encoder(**(changes | {"hidden_dropout": 0.2})).train(training)
    sequences = Sequences.from_lengths([9, 1, 20])
    ids = torch.arange(30) % 99
    rows = torch.tensor([0, 8, 9, 17, 29])
    weights = torch.randn(5, 32)
    outs, gradients, after = [], [], []
    for wanted in (None, rows):
        torch.manual_seed(4)
        out = encoder(ids, torch.zeros_like(ids), sequences, wanted)
        after.append(torch.rand(2))
        gradients.append(torch.autograd.grad((out[rows] * weights).sum(), list(encoder.parameters())))
        outs.append(out)
    torch.testing.assert_close(outs[0][rows], outs[1][rows], atol=1e-5, rtol=1e-5)
    others = torch.ones(30, dtype=torch.bool).index_fill(0, rows, False)
    assert outs[1][others].eq(0).all() and outs[0][others].ne(0).any()
    for one, other in zip(*gradients, strict=True):
        torch.testing.assert_close(one, other, atol=1e-4, rtol=1e-4)
    assert torch.equal(*after)  # dropout drew as much


def test_a_last_layer_at_some_rows_is_close_in_bf16():
    encoder = toy_encoder(hidden_dropout=0.1).train()
    ids, rows = torch.arange(30) % 99, torch.tensor([1, 2, 28])
    found = []
    for wanted in (None, rows):
        torch.manual_seed(4)
        with torch.autocast("cpu", torch.bfloat16):
            found.append(encoder(ids, torch.zeros_like(ids), Sequences.from_lengths([30]), wanted)[rows])
    torch.testing.assert_close(*found, atol=2e-2, rtol=2e-2)


def test_a_pre_norm_encoder_normalises_once_at_the_end_and_not_twice_at_the_beginning():
    encoder = toy_encoder(**MODERN)
    ids, types = make_ids(12)
    hidden = encoder(ids, types, Sequences.from_lengths([12]))
    rows = hidden / encoder.final_norm.weight
    torch.testing.assert_close(rows.pow(2).mean(1), torch.ones(12), atol=1e-3, rtol=0)
    first = [encoder.layers[0].attention.residual.norm, encoder.layers[1].attention.residual.norm]
    assert first[0] is None and first[1] is not None and encoder.embeddings.position is None
    for changes in ({"embedding_norm": False}, {"sharing": "attention"}):  # nothing is normalised yet, or all share it
        assert Encoder(toy_config(**(MODERN | changes))).layers[0].attention.residual.norm is not None
    assert toy_encoder().final_norm is None


def test_a_local_layer_sees_a_window_and_a_global_one_all():
    ids, types = make_ids(40)
    changed = ids.clone()
    changed[0] = (ids[0] + 1) % 99
    encoder, sequences = toy_encoder(**(MODERN | {"num_layers": 2})), Sequences.from_lengths([40])
    one, other = (encoder(x, types, sequences) for x in (ids, changed))
    assert (one[39] != other[39]).any()
    near = packed_contexts(encoder.config, sequences, training=False)[1]
    one, other = (encoder.layers[1](encoder.embeddings(x, types, sequences), near) for x in (ids, changed))
    assert (one[4] != other[4]).any() and torch.equal(one[5:], other[5:])
