"""Checks that what a folder holds fits together. Each raises a CheckpointError that names the file and the tensor."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor

from spanwise.errors import CheckpointError
from spanwise.interop.family import Architecture, Family
from spanwise.interop.heads import KINDS, form_of, make_head, size_of
from spanwise.interop.json_files import Settings
from spanwise.interop.key_map import KeyMap, Line, Translated
from spanwise.interop.tensor_files import StoredTensors
from spanwise.nn.config import EncoderConfig
from spanwise.nn.encoder import Encoder
from spanwise.nn.heads.kind import SequenceForm
from spanwise.nn.heads.lm import TiedDecoder
from spanwise.runtime.outline import outline

Shape = tuple[int, ...]
ALWAYS_TRIED = 16_384  # rows or columns; up to here the check of each shape tells more
READ_TYPES = (torch.float32, torch.float16, torch.bfloat16, torch.float64)


def check_sizes(config: EncoderConfig, stored: StoredTensors) -> None:
    """Refuse a config.json that asks for more than the files could hold, before anything of that size is made."""
    largest = max((max(tensor.shape, default=0) for tensor in stored.tensors.values()), default=0)
    for name in ("vocab_size", "hidden_size", "embedding_width", "intermediate_size", "max_positions"):
        if name == "max_positions" and not config.has_position_table:
            continue  # no tensor has so many rows
        if getattr(config, name) > max(largest, ALWAYS_TRIED):
            raise CheckpointError(
                f"{stored.folder / 'config.json'} asks for {name} = {getattr(config, name):,}, and the largest tensor "
                f"of the folder has {largest:,} rows or columns; they do not belong together."
            )


def check_class_settings(architecture: Architecture, settings: Settings, path: Path) -> None:
    """Refuse a class whose head config.json asks to compute in another way than the one that is known here."""
    for key, only in architecture.settings.items():
        if settings.get(key, only) != only:
            raise CheckpointError(
                f"{path} says {key} = {settings[key]!r}; for the head of this class only {only!r} is supported."
            )


def check_complete(translated: Translated, key_map: KeyMap, folder: Path) -> None:
    """Refuse a folder without all tensors of the encoder, and of each head that is there at all."""
    if not translated.missing:
        return
    shown = ", ".join(repr(name) for name in translated.missing[:3])
    unknown = f", such as {translated.unexpected[0]!r}" if translated.unexpected else ""
    needed = len({name for line in key_map.encoder for name in line.theirs})
    raise CheckpointError(
        f"{folder} lacks {len(translated.missing)} tensors that its config.json asks for, the first: {shown}. "
        f"(An encoder of this shape has {needed}; the files also hold {len(translated.unexpected)} unknown ones"
        f"{unknown}.)"
    )


def check_tied(translated: Translated, key_map: KeyMap, stored: StoredTensors) -> None:
    """Refuse copies that are none: tied tensors, and layers that share their weights, repeat them exactly; fillers are
    as they must be."""
    if translated.untied:
        name = translated.untied[0]
        kind = "layers that share" if key_map.canonical(name) in key_map.repeats else "tied decoders"
        raise CheckpointError(
            f"{stored.files[name]}: {name!r} differs from the tensor it is tied to; only {kind} are supported here."
        )
    for name in translated.unexpected:
        if key_map.canonical(name) in key_map.fillers:
            raise CheckpointError(
                f"{stored.files[name]}: {name!r} holds learned values, and an encoder of this shape has no such part."
            )


def check_shapes(
    translated: Translated,
    config: EncoderConfig,
    family: Family,
    key_map: KeyMap,
    stored: StoredTensors,
    forms: Mapping[str, SequenceForm],
) -> None:
    """Refuse shapes that the configuration does not ask for, vocabulary rows included. forms: of heads, where
    recorded."""
    with outline():
        encoder = Encoder(config)
    shapes = _shapes(encoder, config.vocab_size)
    _compare(translated.encoder, shapes, (*key_map.encoder, *key_map.pooler), translated, key_map, stored)
    for head, tensors in translated.heads.items():
        if head not in KINDS:
            continue  # whoever defines it knows its shapes
        form = forms.get(head) or form_of(family, head, config)
        if form == "pooled" and encoder.pooler is None:
            with outline():  # the pooler may start fresh; the head's own shape doesn't depend on it
                encoder = Encoder(replace(config, pooler=True))
        with outline():
            expected = _shapes(make_head(head, encoder, size_of(head, tensors), form), config.vocab_size)
        absent = sorted(expected.keys() - tensors.keys())
        if absent:
            raise CheckpointError(f"the {head} head of {stored.folder} lacks {absent[0]!r}; write the folder again.")
        lines = key_map.heads.get(head, ())
        if tensors.keys() != {line.ours for line in lines}:
            lines = tuple(Line(name, f"{head}.{name}") for name in tensors)
        _compare(tensors, expected, lines, translated, key_map, stored)


def _shapes(module: torch.nn.Module, vocab_size: int) -> dict[str, Shape]:
    """Return shapes as files have them: vocabulary rows are the real ones."""
    shapes = {name: tuple(parameter.shape) for name, parameter in module.named_parameters()}
    padded = "embeddings.word.weight" if isinstance(module, Encoder) else "bias"
    if isinstance(module, Encoder | TiedDecoder) and padded in shapes:
        shapes[padded] = (vocab_size, *shapes[padded][1:])
    return shapes


def _compare(
    tensors: Mapping[str, Tensor],
    shapes: Mapping[str, Shape],
    lines: Iterable[Line],
    translated: Translated,
    key_map: KeyMap,
    stored: StoredTensors,
) -> None:
    theirs = {line.ours: line for line in lines}
    for ours, tensor in tensors.items():
        line = theirs.get(ours, Line(ours, ours))
        names = [translated.source_names.get(key_map.canonical(name), name) for name in line.theirs]
        if ours not in shapes:
            raise CheckpointError(f"{stored.files[names[0]]}: nothing here has a place for the tensor {names[0]!r}.")
        if tuple(tensor.shape) != shapes[ours]:
            stacked = f" (stacked with {', '.join(names[1:])})" if len(names) > 1 else ""
            shape, expected = list(tensor.shape), list(shapes[ours])
            if line.transposed:
                shape, expected = shape[::-1], expected[::-1]
            raise CheckpointError(
                f"{stored.files[names[0]]}: tensor {names[0]!r}{stacked} has shape {shape}, but config.json asks for "
                f"{expected}."
            )


def check_values(translated: Translated, key_map: KeyMap, stored: StoredTensors) -> None:
    """Refuse tensors in use of a type that is not read, or that hold NaN or infinity."""
    unused = set(translated.unexpected)
    for name, tensor in stored.tensors.items():
        if name in unused or key_map.canonical(name) in key_map.buffers:
            continue
        if tensor.dtype not in READ_TYPES:
            found, *read = (str(dtype).removeprefix("torch.") for dtype in (tensor.dtype, *READ_TYPES))
            raise CheckpointError(
                f"{stored.files[name]}: tensor {name!r} is of type {found}; weights of the types {', '.join(read)} are "
                f"read. Save the model in one of them (quantised weights must be unpacked first)."
            )
        if not torch.isfinite(tensor).all():
            raise CheckpointError(
                f"{stored.files[name]}: tensor {name!r} holds NaN or infinite values; the file is damaged or its "
                "training failed. Use an older checkpoint."
            )
