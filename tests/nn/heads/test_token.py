import torch
import torch.nn.functional as F
from tests.nn.toy import toy_config

from spanwise.nn.heads.token import TokenClassificationHead


def test_every_token_gets_a_score_a_label():
    head = TokenClassificationHead(toy_config(), 5).eval()
    hidden = torch.randn(7, 32)
    torch.testing.assert_close(head(hidden), F.linear(hidden, head.out.weight, head.out.bias))
    assert head(hidden).shape == (7, 5)


def test_on_a_pre_norm_encoder_another_product_and_a_norm_come_first():
    config = toy_config(norm_place="pre", head_bias=False, norm_bias=False)
    head = TokenClassificationHead(config, 5).eval()
    torch.nn.init.normal_(head.transform.norm.weight)
    hidden = torch.randn(7, 32)
    rows = F.gelu(F.linear(hidden, head.transform.dense.weight))
    rows = F.layer_norm(rows, (32,), head.transform.norm.weight, eps=config.norm_eps)
    torch.testing.assert_close(head(hidden), F.linear(rows, head.out.weight, head.out.bias))
    assert head.transform.dense.bias is None and head.transform.norm.bias is None
    assert TokenClassificationHead(toy_config(), 5).transform is None


def test_dropout_is_drawn_in_training_and_scores_are_float32():
    head = TokenClassificationHead(toy_config(hidden_dropout=0.5), 5)
    hidden = torch.randn(7, 32)
    assert not torch.equal(head(hidden), head(hidden))
    with torch.autocast("cpu", torch.bfloat16):
        assert head(hidden).dtype == torch.float32
