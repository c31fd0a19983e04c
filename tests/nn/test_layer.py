import torch
import torch.nn.functional as F
from tests.nn.toy import toy_config

from spanwise.nn.layer import EncoderLayer, FeedForward, SelfAttention, gelu
from spanwise.nn.sequences import Sequences


def test_gelu_names_choose_the_error_function_or_tanh():
    x = torch.linspace(-4, 4, 50)
    assert torch.equal(gelu(x, "gelu"), F.gelu(x))
    assert torch.equal(gelu(x, "gelu_tanh"), F.gelu(x, approximate="tanh"))


def test_a_layer_is_attention_then_feed_forward_each_normalised():
    config = toy_config()
    layer = EncoderLayer(config).eval()
    hidden, sequences = torch.randn(6, 32), Sequences.from_lengths([4, 2])
    between = layer.attention(hidden, sequences)
    torch.testing.assert_close(layer(hidden, sequences), layer.feed_forward(between))
    torch.testing.assert_close(between.mean(1), torch.zeros(6), atol=1e-5, rtol=0)


def test_feed_forward_widens_to_the_intermediate_size():
    block = FeedForward(toy_config())
    assert block.up.weight.shape == (64, 32) and block.down.weight.shape == (32, 64)


def test_attention_dropout_acts_while_training_alone():
    block = SelfAttention(toy_config(attention_dropout=0.5, hidden_dropout=0.0))
    hidden, sequences = torch.randn(6, 32), Sequences.from_lengths([6])
    assert not torch.equal(block.train()(hidden, sequences), block(hidden, sequences))
    assert torch.equal(block.eval()(hidden, sequences), block(hidden, sequences))
