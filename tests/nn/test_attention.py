import pytest
import torch
import torch.nn.functional as F
from tests.nn.toy import toy_config

from spanwise.nn.attention import attend, packed_contexts
from spanwise.nn.packed_attention import EVERYTHING, Reach
from spanwise.nn.sequences import Sequences

H, K = 2, 8


def make_qkv(num_tokens, dtype=torch.float32, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(num_tokens, 3 * H * K, generator=generator).to(dtype).requires_grad_()


EARLIER = Reach(None, 0)
REACHES = [EVERYTHING, EARLIER, Reach(4, 4), Reach(3, 0)]


def plain_attention(qkv, lengths, reach=EVERYTHING):
    outs = []
    for part in qkv.split(lengths):
        q, k, v = part.view(len(part), 3, H, K).permute(1, 2, 0, 3).unbind(0)
        scores = q @ k.transpose(1, 2) / K**0.5
        ago = torch.arange(len(part))[:, None] - torch.arange(len(part))
        before, after = (len(part) if side is None else side for side in reach)
        scores = scores.masked_fill((ago > before) | (ago < -after), float("-inf"))
        p = torch.softmax(scores, -1)
        outs.append((p @ v).transpose(0, 1).reshape(len(part), H * K))
    return torch.cat(outs)


@pytest.mark.parametrize("reach", REACHES)
@pytest.mark.parametrize("lengths", [[1], [5, 1, 9], [16, 32, 16], [33, 2, 40, 15], [150, 3, 200]])
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 2e-6), (torch.bfloat16, 3e-2)])
def test_values_and_gradients_equal_plain_attention_inside_each_sequence(lengths, dtype, tolerance, reach):
    sequences = Sequences.from_lengths(lengths)
    qkv = make_qkv(sequences.num_tokens, dtype)
    exact = qkv.detach().float().requires_grad_()
    weights = torch.randn(sequences.num_tokens, H * K, generator=torch.Generator().manual_seed(1))
    out = attend(qkv, sequences, H, reach=reach)
    out.backward(weights.to(dtype))
    expected = plain_attention(exact, lengths, reach)
    expected.backward(weights)
    assert out.dtype == dtype
    torch.testing.assert_close(out.float(), expected.detach(), atol=tolerance, rtol=tolerance)
    torch.testing.assert_close(qkv.grad.float(), exact.grad, atol=2 * tolerance, rtol=2 * tolerance)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_sequence_never_sees_its_neighbours(dtype):
    lengths = [7, 20, 3]
    sequences = Sequences.from_lengths(lengths)
    qkv = make_qkv(30, dtype).detach()
    changed = qkv.clone()
    changed[:7] = 50.0
    changed[27:] = -50.0
    assert torch.equal(attend(qkv, sequences, H)[7:27], attend(changed, sequences, H)[7:27])


@pytest.mark.parametrize("dropout", [0.0, 1e-9])  # the second takes the path of dropped probabilities
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_causal_attention_never_sees_what_comes_later(dtype, dropout):
    sequences = Sequences.from_lengths([7, 20, 3])
    qkv = make_qkv(30, dtype).detach()
    changed = qkv.clone()
    changed[15:27] += 5.0
    before, after = (attend(x, sequences, H, dropout, EARLIER) for x in (qkv, changed))
    assert torch.equal(before[:15], after[:15]) and torch.equal(before[27:], after[27:])
    assert not torch.equal(before[15:27], after[15:27])
    exact = plain_attention(qkv.float(), [7, 20, 3], EARLIER)
    torch.testing.assert_close(before.float(), exact, atol=2e-2 if dtype == torch.bfloat16 else 2e-6, rtol=0)


def test_gradients_of_one_sequence_are_zero_for_the_others():
    sequences = Sequences.from_lengths([7, 20, 3])
    qkv = make_qkv(30, torch.bfloat16)
    attend(qkv, sequences, H)[7:27].sum().backward()
    assert qkv.grad[7:27].abs().sum() > 0
    assert qkv.grad[:7].abs().sum() == 0 and qkv.grad[27:].abs().sum() == 0


def test_gradients_agree_with_finite_differences():
    sequences = Sequences.from_lengths([3, 4])
    qkv = torch.randn(7, 3 * H * K, dtype=torch.float64, generator=torch.Generator().manual_seed(2)).requires_grad_()
    assert torch.autograd.gradcheck(lambda x: attend(x, sequences, H), qkv)
    assert torch.autograd.gradcheck(lambda x: attend(x, sequences, H, reach=EARLIER), qkv)


def test_dropout_of_probabilities_keeps_the_expected_value_and_stays_inside_sequences():
    sequences = Sequences.from_lengths([6, 10])
    qkv = make_qkv(16)
    torch.manual_seed(0)
    drawn = torch.stack([attend(qkv, sequences, H, dropout=0.3).detach() for _ in range(3000)])
    expected = attend(qkv, sequences, H).detach()
    assert not torch.equal(drawn[0], drawn[1])
    torch.testing.assert_close(drawn.mean(0), expected, atol=0.06, rtol=0)
    attend(qkv, sequences, H, dropout=0.3)[:6].sum().backward()
    assert qkv.grad[6:].abs().sum() == 0 and qkv.grad[:6].abs().sum() > 0


def test_autograd_nodes_do_not_grow_with_the_number_of_sequences():
    def count(lengths):
        out = attend(make_qkv(sum(lengths)), Sequences.from_lengths(lengths), H)
        seen, todo = set(), [out.grad_fn]
        while todo:
            node = todo.pop()
            if node is not None and node not in seen:
                seen.add(node)
                todo += [parent for parent, _ in node.next_functions]
        return len(seen)

    assert count([4, 4]) == count([2] * 30)


def test_strided_input_is_accepted():
    sequences = Sequences.from_lengths([4, 5])
    wide = torch.randn(9, 3 * H * K + 4)
    torch.testing.assert_close(
        attend(wide[:, : 3 * H * K], sequences, H),
        F.pad(plain_attention(wide[:, : 3 * H * K].contiguous(), [4, 5]), (0, 0)),
    )


@pytest.mark.parametrize("reach", REACHES)
def test_dropped_probabilities_take_a_path_that_sees_the_same(reach):
    sequences = Sequences.from_lengths([9, 1, 30])
    qkv = make_qkv(40).detach()
    found = attend(qkv, sequences, H, 1e-9, reach)
    torch.testing.assert_close(found, plain_attention(qkv, [9, 1, 30], reach), atol=2e-6, rtol=0)


def test_layers_see_windows_and_rotate_as_the_configuration_says():
    config = toy_config(num_layers=5, rotary_base=100.0, local_rotary_base=10.0, local_window=4, global_every=2)
    contexts = packed_contexts(config, Sequences.from_lengths([30]), training=False)
    assert [context.reach for context in contexts] == [EVERYTHING, Reach(4, 4)] * 2 + [EVERYTHING]
    qkv = torch.randn(30, 96)
    turned = [context.rotate(qkv) for context in contexts[:2]]
    assert not torch.equal(*turned)
    assert torch.equal(contexts[1](qkv), contexts[1].attend(turned[1]))
    causal = packed_contexts(toy_config(causal=True, local_window=4), Sequences.from_lengths([30]), training=False)
    assert [context.reach for context in causal] == [EARLIER, Reach(4, 0), Reach(4, 0)]
    assert causal[0].rotate(qkv) is qkv


def test_probabilities_are_dropped_while_training_alone():
    config = toy_config(attention_dropout=0.3)
    for training in (False, True):
        (context, *_) = packed_contexts(config, Sequences.from_lengths([3]), training)
        assert context.dropout == (0.3 if training else 0.0)
