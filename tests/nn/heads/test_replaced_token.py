import torch
import torch.nn.functional as F
from tests.nn.toy import toy_config

from spanwise.nn.heads.replaced_token import ReplacedTokenHead


def test_every_token_gets_one_score_through_the_encoders_gelu():
    hidden = torch.randn(7, 32)
    for activation, approximate in (("gelu", "none"), ("gelu_tanh", "tanh")):
        head = ReplacedTokenHead(toy_config(activation=activation))
        inner = F.gelu(F.linear(hidden, head.dense.weight, head.dense.bias), approximate=approximate)
        expected = F.linear(inner, head.out.weight, head.out.bias)[:, 0]
        torch.testing.assert_close(head(hidden), expected)


def test_scores_are_float32_under_autocast():
    head = ReplacedTokenHead(toy_config())
    with torch.autocast("cpu", torch.bfloat16):
        assert head(torch.randn(7, 32)).dtype == torch.float32
