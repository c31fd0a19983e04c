import torch
from tests.nn.toy import toy_encoder

from spanwise.nn.heads.pair import HEAD_KINDS, PairHead


def test_scores_are_a_product_over_the_encoders_pooler_which_is_no_parameter_of_the_head():
    encoder = toy_encoder(pooler=True)
    head = PairHead(encoder.config, encoder.pooler)
    with torch.no_grad():
        head.weight.copy_(torch.randn_like(head.weight))
        head.bias.copy_(torch.tensor([0.5, -0.5]))
    first_ND = torch.randn(3, 32)
    pooled_ND = torch.tanh(encoder.pooler.dense(first_ND))
    torch.testing.assert_close(head(first_ND), pooled_ND @ head.weight.T + head.bias)
    assert [name for name, _ in head.named_parameters()] == ["weight", "bias"]


def test_both_kinds_are_built_over_the_pooler_of_the_encoder():
    encoder = toy_encoder(pooler=True)
    assert [kind.name for kind in HEAD_KINDS] == ["nsp", "sop"]
    for kind in HEAD_KINDS:
        assert kind.build(encoder, (), "pooled")(torch.zeros(4, 32)).shape == (4, 2)
