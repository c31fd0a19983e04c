"""Inputs and outputs as spanwise.json lists them."""

from spanwise.interop.onnx.graph import Port


def test_a_port_says_its_name_type_axes_and_meaning():
    port = Port(name="logits", axes=("batch", 3), meaning="a score per label", type="float32")
    assert port.as_json() == {
        "name": "logits", "type": "float32", "shape": ["batch", 3], "meaning": "a score per label",
    }  # fmt: skip
