import pytest
import torch
import torch.nn.functional as F
from tests.nn.toy import toy_encoder

from spanwise.nn.config import EncoderConfig
from spanwise.nn.embeddings import padded_rows
from spanwise.nn.heads.span_boundary import SpanBoundaryHead
from spanwise.nn.init import initialize
from spanwise.nn.vocabulary_loss import vocabulary_loss


def make_head(**options):
    encoder = toy_encoder()
    head = SpanBoundaryHead(encoder.config, encoder.word_embedding, **options)
    initialize(head, encoder.config, seed=3)
    return encoder, head


def test_parameters_at_base_size_are_those_of_the_original():
    config = EncoderConfig(vocab_size=28_996, hidden_size=768, num_layers=1, num_heads=12, intermediate_size=3_072)
    with torch.device("meta"):
        head = SpanBoundaryHead(config, torch.nn.Parameter(torch.empty(padded_rows(28_996), 768)))
    padding = padded_rows(28_996) - 28_996
    assert sum(parameter.numel() for parameter in head.parameters()) - padding == 1_959_676
    assert head.num_positions == 15 and head.positions.weight.shape == (15, 200)
    assert head.linear1.weight.shape == (768, 2 * 768 + 200) and head.linear2.weight.shape == (768, 768)


def test_the_forward_is_the_one_of_the_paper_in_the_order_left_right_position():
    _, head = make_head(num_positions=7, position_size=10)
    left, right = torch.randn(4, 32), torch.randn(4, 32)
    index = torch.tensor([0, 6, 3, 3])
    x = torch.cat((left, right, head.positions.weight[index]), -1)
    for linear, norm in ((head.linear1, head.norm1), (head.linear2, head.norm2)):
        x = F.layer_norm(F.gelu(linear(x)), (32,), norm.weight, norm.bias, 1e-12)
    torch.testing.assert_close(head.transform(left, right, index), x)
    assert not torch.allclose(head.transform(right, left, index), x)


def test_every_parameter_gets_a_gradient_from_one_backward():
    encoder, head = make_head()
    rows = head.transform(torch.randn(40, 32), torch.randn(40, 32), torch.arange(40) % 15)
    vocabulary_loss(rows, head.weight, head.bias, torch.arange(40), 99).sum.backward()
    for name, parameter in (*head.named_parameters(), ("decoder", encoder.word_embedding)):
        assert parameter.grad is not None and parameter.grad.abs().sum() > 0, name


def test_no_target_reaches_every_parameter_with_zeros():
    _, head = make_head()
    empty = torch.zeros(0, dtype=torch.int64)
    rows = head.transform(torch.zeros(0, 32), torch.zeros(0, 32), empty)
    loss = vocabulary_loss(rows, head.weight, head.bias, empty, 99).sum
    loss.backward()
    assert loss == 0
    assert all(parameter.grad is not None and parameter.grad.abs().sum() == 0 for parameter in head.parameters())


def test_autograd_nodes_do_not_grow_with_the_number_of_targets():
    def count(num_targets):
        _, head = make_head()
        hidden = torch.randn(50, 32, requires_grad=True)
        place = torch.arange(num_targets) % 50
        rows = head.transform(hidden[place], hidden[place.flip(0)], place % 15)
        loss = vocabulary_loss(rows, head.weight, head.bias, place, 99, chunk_rows=16).sum
        seen, todo = set(), [loss.grad_fn]
        while todo:
            node = todo.pop()
            if node is not None and node not in seen:
                seen.add(node)
                todo += [parent for parent, _ in node.next_functions]
        return len(seen)

    assert count(3) == count(300)


def test_the_head_has_no_dropout():
    _, head = make_head()
    left, right, index = torch.randn(4, 32), torch.randn(4, 32), torch.zeros(4, dtype=torch.int64)
    assert torch.equal(head.train().transform(left, right, index), head.eval().transform(left, right, index))


def test_a_position_beyond_the_table_is_an_error_and_not_another_row():
    _, head = make_head()
    with pytest.raises(IndexError):
        head.transform(torch.randn(1, 32), torch.randn(1, 32), torch.tensor([15]))


def test_with_factorised_embeddings_the_head_ends_in_the_width_of_the_table():
    encoder = toy_encoder(embedding_size=8)
    head = SpanBoundaryHead(encoder.config, encoder.word_embedding)
    out = head.transform(torch.randn(4, 32), torch.randn(4, 32), torch.arange(4))
    assert out.shape == (4, 8) and head.linear1.weight.shape == (32, 264) and head.linear2.weight.shape == (8, 32)
