import torch
import torch.nn.functional as F
from tests.nn.toy import toy_config

from spanwise.nn.layer import FeedForward, SelfAttention, gelu, make_layers, with_products


def test_gelu_names_choose_the_error_function_or_tanh():
    x = torch.linspace(-4, 4, 50)
    assert torch.equal(gelu(x, "gelu"), F.gelu(x))
    assert torch.equal(gelu(x, "gelu_tanh"), F.gelu(x, approximate="tanh"))


def halved(qkv):
    """A context: what every token takes is half of its value."""
    return qkv.chunk(3, dim=1)[2] / 2


def test_a_layer_is_attention_then_feed_forward_each_added_and_normalised():
    (layer,) = make_layers(toy_config(num_layers=1, hidden_dropout=0.0))
    hidden = torch.randn(6, 32)
    attention, network = layer.attention, layer.feed_forward
    mixed = hidden + attention.output(attention.qkv(hidden)[:, 64:] / 2)
    between = F.layer_norm(mixed, (32,), eps=1e-12)
    expected = F.layer_norm(between + network.down(F.gelu(network.up(between))), (32,), eps=1e-12)
    torch.testing.assert_close(layer(hidden, halved), expected)


def test_feed_forward_widens_to_the_intermediate_size():
    block = FeedForward(toy_config())
    assert block.up.weight.shape == (64, 32) and block.down.weight.shape == (32, 64)


def test_products_are_replaced_without_changing_the_layers_given_and_shared_ones_once():
    layers = make_layers(toy_config(sharing="attention", hidden_dropout=0.0))
    hidden, named = torch.randn(6, 32), []

    def nothing(part, name):
        named.append(name)
        return {"output": torch.nn.Identity()} if isinstance(part, SelfAttention) else {}

    before = [layer(hidden, halved) for layer in layers]
    changed = with_products(layers, nothing)
    assert named == ["layers.0.attention", *(f"layers.{i}.feed_forward" for i in range(3))]
    assert changed[0].attention is changed[2].attention and changed[0].attention is not layers[0].attention
    for layer, one, expected in zip(layers, changed, before, strict=True):
        assert torch.equal(layer(hidden, halved), expected) and not torch.equal(one(hidden, halved), expected)
        assert one.feed_forward.up is layer.feed_forward.up
