import torch
from tests.nn.toy import toy_config

from spanwise.nn.qa_head import QuestionAnsweringHead


def test_two_float32_scores_a_token():
    head = QuestionAnsweringHead(toy_config())
    with torch.autocast("cpu", torch.bfloat16):
        scores = head(torch.randn(9, 32))
    assert scores.shape == (9, 2) and scores.dtype == torch.float32
    assert sum(parameter.numel() for parameter in head.parameters()) == 2 * 32 + 2
