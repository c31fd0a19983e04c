"""Does what a folder holds fit together? Each check raises a CheckpointError that names the file and the tensor."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import torch
from torch import Tensor

from spanwise.errors import CheckpointError
from spanwise.interop.key_map import KeyMap, Line, Translated
from spanwise.interop.tensor_files import StoredTensors
from spanwise.nn.config import EncoderConfig
from spanwise.nn.encoder import Encoder


def check_complete(translated: Translated, key_map: KeyMap, folder: Path) -> None:
    """Every tensor of the encoder, and of each head that is there at all, was found."""
    if not translated.missing:
        return
    shown = ", ".join(repr(name) for name in translated.missing[:3])
    needed = sum(len(line.theirs) for line in key_map.encoder)
    raise CheckpointError(
        f"{folder} lacks {len(translated.missing)} tensors that its config.json asks for, the first: {shown}. "
        f"(An encoder of this shape has {needed}; the files also hold {len(translated.unexpected)} unknown ones.)"
    )


def check_tied(translated: Translated, stored: StoredTensors) -> None:
    """Copies of tied tensors repeat them exactly."""
    if translated.untied:
        name = translated.untied[0]
        raise CheckpointError(
            f"{stored.files[name]}: {name!r} differs from the tensor it is tied to; only tied decoders are supported."
        )


def check_shapes(translated: Translated, config: EncoderConfig, key_map: KeyMap, stored: StoredTensors) -> None:
    """Shapes are those that the configuration asks for, vocabulary rows included."""
    with torch.device("meta"):
        shapes = {name: tuple(parameter.shape) for name, parameter in Encoder(config).named_parameters()}
    shapes["embeddings.word.weight"] = (config.vocab_size, config.hidden_size)
    _compare(translated.encoder, shapes, (*key_map.encoder, *key_map.pooler), translated, key_map, stored)
    for head, tensors in translated.heads.items():
        _compare(tensors, _head_shapes(head, tensors, config), key_map.heads[head], translated, key_map, stored)


def _head_shapes(head: str, tensors: Mapping[str, Tensor], config: EncoderConfig) -> dict[str, tuple[int, ...]]:
    D, V = config.hidden_size, config.vocab_size
    square: dict[str, tuple[int, ...]] = {"weight": (D, D), "bias": (D,)}
    norm: dict[str, tuple[int, ...]] = {"weight": (D,), "bias": (D,)}
    if head == "mlm":
        parts: dict[str, dict[str, tuple[int, ...]]] = {"dense": square, "norm": norm}
    elif head == "sbo":
        positions = tensors["positions.weight"]
        num_positions, P = positions.shape if positions.ndim == 2 else (15, 200)
        first: dict[str, tuple[int, ...]] = {"weight": (D, 2 * D + P), "bias": (D,)}
        parts = {"linear1": first, "norm1": norm, "linear2": square, "norm2": norm}
        parts["positions"] = {"weight": (num_positions, P)}
    else:
        pair: dict[str, tuple[int, ...]] = {"weight": (2, D), "bias": (2,)}
        return pair if head == "nsp" else {f"linear.{kind}": shape for kind, shape in pair.items()}
    return {"bias": (V,)} | {f"{part}.{kind}": shape for part, kinds in parts.items() for kind, shape in kinds.items()}


def _compare(
    tensors: Mapping[str, Tensor],
    shapes: Mapping[str, tuple[int, ...]],
    lines: tuple[Line, ...],
    translated: Translated,
    key_map: KeyMap,
    stored: StoredTensors,
) -> None:
    theirs = {line.ours: line.theirs for line in lines}
    for ours, tensor in tensors.items():
        expected = shapes[ours]
        if tuple(tensor.shape) != expected:
            names = [translated.source_names[key_map.canonical(name)] for name in theirs[ours]]
            stacked = f" (stacked with {', '.join(names[1:])})" if len(names) > 1 else ""
            raise CheckpointError(
                f"{stored.files[names[0]]}: tensor {names[0]!r}{stacked} has shape {list(tensor.shape)}, but "
                f"config.json asks for {list(expected)}."
            )


def check_values(translated: Translated, key_map: KeyMap, stored: StoredTensors) -> None:
    """Tensors in use are floating and hold neither NaN nor infinity."""
    unused = set(translated.unexpected)
    for name, tensor in stored.tensors.items():
        if name in unused or key_map.canonical(name) in key_map.buffers:
            continue
        if not tensor.is_floating_point():
            raise CheckpointError(f"{stored.files[name]}: tensor {name!r} is of type {tensor.dtype}, not floating.")
        if not torch.isfinite(tensor).all():
            raise CheckpointError(
                f"{stored.files[name]}: tensor {name!r} holds NaN or infinite values; the file is damaged or its "
                "training failed. Use an older checkpoint."
            )
