"""Every head in an ONNX file, run by onnxruntime beside the package."""

import pytest
import torch
from tests.nn.toy import MODERN, toy_encoder

from spanwise.interop.heads import make_head
from spanwise.interop.onnx import heads
from spanwise.interop.onnx.export import compare, write_model
from spanwise.interop.onnx.text import TextGraph
from spanwise.nn.init import initialize


def made(encoder, name, size=(), form="pooled"):
    head = make_head(name, encoder, size, form)
    initialize(head, encoder.config, 3, prefix=name)
    with torch.no_grad():
        for parameter in head.parameters():
            parameter += 0.2 * torch.randn(parameter.shape, generator=torch.Generator().manual_seed(4))
        if name == "mlm":
            head.bias[encoder.config.vocab_size :] = 0.0
    return head.eval()


def sequence(encoder, form, group=None, scores=3):
    return heads.SequenceScores(made(encoder, "classification", (scores,), form), scores, "", group)


CASES = {
    "qa": lambda e: heads.SpanScores(made(e, "qa")),
    "qa with a classifier": lambda e: heads.SpanScores(made(e, "qa", (0, 1))),
    "span_selection": lambda e: heads.PointerScores(made(e, "span_selection"), question_id=7),
    "classification": lambda e: sequence(e, "pooled"),
    "both orders": lambda e: sequence(e, "last", 2),
    "the mean of all tokens": lambda e: sequence(e, "normed_mean"),
    "multiple_choice": lambda e: heads.SequenceScores(made(e, "multiple_choice", (), "tanh"), "choices", "", "choices"),
    "tagging": lambda e: heads.TokenScores(made(e, "tagging", (5,))),
    "mlm": lambda e: heads.VocabularyScores(made(e, "mlm"), e.config.vocab_size),
    "clm": lambda e: heads.VocabularyScores(made(e, "clm"), e.config.vocab_size),
    "rtd": lambda e: heads.TokenScores(made(e, "rtd")),
    "nsp": lambda e: heads.PairScores(made(e, "nsp")),
}


def differences(encoder, scores, folder):
    graph = TextGraph(encoder, scores)
    write_model(graph, folder / "model.onnx", "fp32")
    return compare(encoder, graph, folder / "model.onnx", first_id=10)


@pytest.mark.parametrize("case", CASES)
def test_scores_are_those_of_the_package_at_every_length_and_batch(case, tmp_path):
    encoder = toy_encoder(pooler=True, num_layers=1)
    for found in differences(encoder, CASES[case](encoder), tmp_path):
        assert found.scale > 0.05 and found.largest < 1e-4, found


def test_heads_of_pre_norm_encoders_have_their_transform(tmp_path):
    encoder = toy_encoder(**MODERN)
    for found in differences(encoder, CASES["tagging"](encoder), tmp_path):
        assert found.largest < 1e-4
