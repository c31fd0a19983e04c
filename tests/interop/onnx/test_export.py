"""Writing files, in int8 too, and refusing those that compute something else."""

import sys

import onnx
import pytest
import torch
from tests.nn.toy import toy_encoder

from spanwise.errors import ConfigError, NumericsError
from spanwise.interop.onnx.export import check, compare, require_onnx, write_model
from spanwise.interop.onnx.heads import HiddenStates
from spanwise.interop.onnx.text import TextGraph


def test_int8_makes_bytes_of_the_layers_products_alone(tmp_path):
    encoder = toy_encoder(embedding_size=16)  # with a product before the layers
    graph = TextGraph(encoder, HiddenStates(32))
    write_model(graph, tmp_path / "model.onnx", "int8")
    kinds = [node.op_type for node in onnx.load(tmp_path / "model.onnx").graph.node]
    assert kinds.count("MatMulInteger") == 4 * encoder.config.num_layers
    (found,) = compare(encoder, graph, tmp_path / "model.onnx")
    assert 1e-4 < found.largest < 0.2 * found.scale
    assert [path.name for path in tmp_path.iterdir()] == ["model.onnx"]


def test_a_file_of_other_weights_is_refused(tmp_path):
    encoder = toy_encoder()
    graph = TextGraph(encoder, HiddenStates(32))
    write_model(graph, tmp_path / "model.onnx", "fp32")
    with torch.no_grad():
        encoder.layers[0].attention.output.weight[0] += 0.01
    with pytest.raises(NumericsError, match="last_hidden_state of the ONNX file differs by"):
        check(compare(encoder, graph, tmp_path / "model.onnx"))


def test_without_onnxruntime_the_way_to_it_is_told(monkeypatch):
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(ConfigError, match=r"pip install 'spanwise\[onnx\]'"):
        require_onnx()
