"""Ends that are chosen given the start, in an ONNX file."""

import pytest
from tests.interop.onnx.test_heads import differences, made
from tests.nn.toy import toy_encoder

from spanwise.interop.onnx.joint import JointScores


@pytest.mark.parametrize("answerable", (0, 1))
def test_starts_and_the_ends_of_each_are_those_of_the_package(answerable, tmp_path):
    encoder = toy_encoder(num_layers=1)
    found = differences(encoder, JointScores(made(encoder, "qa", (1, answerable)), beam_size=4), tmp_path)
    assert [one.output for one in found][3:] == ["no_answer_logits"] * answerable
    assert all(one.scale > 0.05 and one.largest < 1e-4 for one in found), found
