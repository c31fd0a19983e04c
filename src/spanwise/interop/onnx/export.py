"""A model written as model.onnx, as it is or with products of bytes, and compared with what the package computes.

The exporter is the one of torch that traces (`dynamo=False`): it is in every torch that this package runs on, needs no
further package, and takes a tenth of the time of the other; all shapes that vary are inputs' own, so nothing is lost.
"""

import contextlib
import io
import logging
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch

from spanwise.errors import ConfigError, NumericsError
from spanwise.interop.onnx.text import TextGraph, computed_by_us, trial
from spanwise.nn.encoder import Encoder
from spanwise.runtime.disk import DISK

OnnxType = Literal["fp32", "int8"]
MODEL = "model.onnx"
OPSET = 18
BOUND = 1e-4
"""The largest difference of a file in fp32, beside the largest number of the output where that is above 1."""
LENGTHS = ((1, 7), (3, 29))  # sequences and their length that are compared


@dataclass(frozen=True, kw_only=True)
class Difference:
    """An output of the file beside ours: the largest difference, and the largest of our numbers."""

    output: str
    largest: float
    scale: float


def require_onnx() -> None:
    """Raises: ConfigError where the packages are missing."""
    try:
        import onnx  # noqa: F401
        import onnxruntime  # noqa: F401
    except ImportError as error:
        raise ConfigError(
            f"writing and checking ONNX files needs {error.name}: pip install 'spanwise[onnx]'."
        ) from error


def write_model(graph: TextGraph, path: Path, precision: OnnxType) -> None:
    """Write a graph as an ONNX file; in int8 with products of bytes in the layers, all else as it is."""
    given = trial(graph, 0, 2, 5)
    axes = {
        port.name: {place: axis for place, axis in enumerate(port.axes) if isinstance(axis, str)}
        for port in (*graph.inputs, *graph.outputs)
    }
    plain = path if precision == "fp32" else path.with_name("plain.onnx")
    with torch.no_grad(), _quiet():
        DISK.write_by_name(
            plain,
            lambda place: torch.onnx.export(
                graph.eval(),
                tuple(given.values()),
                str(place),
                input_names=[port.name for port in graph.inputs],
                output_names=[port.name for port in graph.outputs],
                dynamic_axes=axes,
                opset_version=OPSET,
                dynamo=False,
            ),
        )
    if precision == "int8":
        DISK.write_by_name(path, lambda place: _quantize(plain, place))
        DISK.remove_file(plain)


def _quantize(plain: Path, path: Path) -> None:
    """Make bytes of the weights of the layers' products, one scale per column; rows are measured when they come."""
    import onnx
    from onnxruntime.quantization import QuantType, quantize_dynamic

    model = onnx.load(plain)
    products = [node.name for node in model.graph.node if node.op_type in ("Gemm", "MatMul")]
    outside = [name for name in products if "/layers." not in name]
    with _quiet():
        quantize_dynamic(
            model,
            path,
            op_types_to_quantize=["MatMul"],
            per_channel=True,
            weight_type=QuantType.QInt8,
            nodes_to_exclude=[excluded for name in outside for excluded in (name, f"{name}_MatMul")],
            extra_options={"MatMulConstBOnly": True},
        )


def compare(encoder: Encoder, graph: TextGraph, path: Path, first_id: int = 0) -> list[Difference]:
    """Run a file on several lengths and batches beside the package, and return the differences of each output."""
    session = open_session(path)
    names = [port.name for port in graph.outputs]
    largest, scale = dict.fromkeys(names, 0.0), dict.fromkeys(names, 0.0)
    for seed, (num_rows, length) in enumerate((*LENGTHS, (2, min(graph.config.max_positions, 128)))):
        given = trial(graph, seed, num_rows, min(length, graph.config.max_positions), first_id)
        ours = computed_by_us(encoder, graph, given)
        theirs = session.run(names, {name: tensor.numpy() for name, tensor in given.items()})
        for name, expected, found in zip(names, ours, theirs, strict=True):
            counts = np.isfinite(expected.numpy())
            difference = np.abs(expected.numpy()[counts] - found[counts])
            difference = np.where(np.isfinite(difference), difference, np.inf)
            largest[name] = max(largest[name], float(difference.max(initial=0.0)))
            scale[name] = max(scale[name], float(np.abs(expected.numpy()[counts]).max(initial=0.0)))
    return [Difference(output=name, largest=largest[name], scale=scale[name]) for name in names]


def check(found: list[Difference]) -> None:
    """Raises: NumericsError where a file in fp32 gives other numbers than the package."""
    for one in found:
        if not one.largest <= BOUND * max(1.0, one.scale):
            raise NumericsError(
                f"{one.output} of the ONNX file differs by {one.largest:.2g} from what this package computes (numbers "
                f"up to {one.scale:.3g}); at most {BOUND:g} of that was expected. Nothing is written; please report it."
            )


def open_session(path: Path) -> Any:
    """Return an onnxruntime session of a file on the CPU."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Keep the exporter's remarks for its developers from people's screens."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)
