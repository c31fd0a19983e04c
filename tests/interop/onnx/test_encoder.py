"""Padded graphs of every family's encoder, run by onnxruntime beside the packed encoder."""

import pytest
from tests.nn.toy import MODERN, toy_encoder

from spanwise.interop.onnx.export import compare, write_model
from spanwise.interop.onnx.heads import HiddenStates
from spanwise.interop.onnx.text import TextGraph

FAMILIES = {
    "bert": {},
    "roberta": {"num_token_types": 1, "position_offset": 2, "norm_eps": 1e-5},
    "albert": {"embedding_size": 16, "sharing": "all", "activation": "gelu_tanh"},
    "electra": {"embedding_size": 16},
    "modernbert": MODERN,
    "gpt-1": {"num_token_types": 0, "causal": True, "embedding_norm": False, "activation": "gelu_tanh"},
}


@pytest.mark.parametrize("family", FAMILIES)
def test_onnxruntime_computes_what_the_packed_encoder_computes(family, tmp_path):
    encoder = toy_encoder(**FAMILIES[family])
    graph = TextGraph(encoder, HiddenStates(encoder.config.hidden_size))
    write_model(graph, tmp_path / "model.onnx", "fp32")
    (found,) = compare(encoder, graph, tmp_path / "model.onnx")
    assert found.scale > 0.5 and found.largest < 1e-4
    assert [port.name for port in graph.inputs][2:] == (["token_type_ids"] if graph.has_types else [])


def test_layers_that_share_their_parts_are_stored_once(tmp_path):
    sizes = {}
    for layers in (1, 6):
        encoder = toy_encoder(sharing="all", num_layers=layers, hidden_size=64, intermediate_size=512)
        graph = TextGraph(encoder, HiddenStates(64))
        write_model(graph, tmp_path / f"{layers}.onnx", "fp32")
        sizes[layers] = (tmp_path / f"{layers}.onnx").stat().st_size
    assert sizes[6] - sizes[1] < 64 * 512 * 4  # less than one matrix of a layer more
