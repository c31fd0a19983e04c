"""A model folder in memory: configuration, tensors in our names, heads, and a report of what did not fit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, overload

import torch
from torch import Tensor, nn

from spanwise.errors import CheckpointError
from spanwise.nn.config import EncoderConfig
from spanwise.nn.encoder import Encoder
from spanwise.nn.lm_head import MaskedLMHead, TiedDecoder
from spanwise.nn.qa_head import QuestionAnsweringHead
from spanwise.nn.spans import SpanBoundaryHead


@dataclass(frozen=True)
class LoadReport:
    """What a folder lacked for the class it names, and what it held that nothing here uses."""

    missing: tuple[str, ...] = ()
    unexpected: tuple[str, ...] = ()

    def __str__(self) -> str:
        parts = [
            f"{len(names)} tensors {what}: {', '.join(names[:3])}{', ...' if len(names) > 3 else ''}"
            for what, names in (("missing", self.missing), ("not used", self.unexpected))
            if names
        ]
        return "; ".join(parts) or "all tensors found and used"


@dataclass(frozen=True, kw_only=True)
class Checkpoint:
    """What `read_folder` found. Tensors are float32 on the CPU with the V real vocabulary rows."""

    folder: Path
    config: EncoderConfig
    tensors: dict[str, Tensor]  # the encoder's, in our names
    heads: dict[str, dict[str, Tensor]]  # "mlm", "nsp", "sbo", "qa": tensors in our names
    source_class: str  # the class that config.json names
    tokenizer_folder: Path | None  # where the folder holds a tokenizer
    report: LoadReport
    record: dict[str, Any] = field(default_factory=dict)  # spanwise.json, empty for folders of others


def build_encoder(checkpoint: Checkpoint, config: EncoderConfig | None = None) -> Encoder:
    """An encoder with the checkpoint's weights. `config` may change what has no weights, such as dropout rates.

    Raises:
        CheckpointError: `config` has another shape than the weights.
    """
    encoder = Encoder(config or checkpoint.config)
    fill(encoder, checkpoint.tensors, f"the encoder of {checkpoint.folder}")
    return encoder


@overload
def build_head(checkpoint: Checkpoint, name: Literal["mlm"], encoder: Encoder) -> MaskedLMHead | None: ...
@overload
def build_head(checkpoint: Checkpoint, name: Literal["sbo"], encoder: Encoder) -> SpanBoundaryHead | None: ...
@overload
def build_head(checkpoint: Checkpoint, name: str, encoder: Encoder) -> nn.Module | None: ...
def build_head(checkpoint: Checkpoint, name: str, encoder: Encoder) -> nn.Module | None:
    """The head `name` ("mlm", "sbo", "nsp" or "qa") with its weights, tied to `encoder`; None where there is none."""
    tensors = checkpoint.heads.get(name)
    if tensors is None:
        return None
    config, word_embedding = encoder.config, encoder.word_embedding
    if name == "mlm":
        head: nn.Module = MaskedLMHead(config, word_embedding)
    elif name == "sbo":
        head = SpanBoundaryHead(config, word_embedding, *tensors["positions.weight"].shape)
    elif name == "qa":
        head = QuestionAnsweringHead(config)
    else:
        head = nn.Linear(config.hidden_size, 2)
    fill(head, tensors, f"the {name} head of {checkpoint.folder}")
    return head


def fill(module: nn.Module, tensors: Mapping[str, Tensor], what: str) -> None:
    """Copy tensors into the parameters of the same names; vocabulary rows are padded with zeros.

    Raises:
        CheckpointError: a parameter has no tensor, or another shape; the message begins with `what`.
    """
    padded = _vocabulary_tensor(module)
    with torch.no_grad():
        for name, parameter in module.named_parameters():
            tensor = tensors.get(name)
            if tensor is None:
                raise CheckpointError(f"{what} has no tensor {name!r}.")
            num_rows = tensor.shape[0] if name == padded and tensor.ndim else parameter.shape[0]
            if tensor.shape != (num_rows, *parameter.shape[1:]) or num_rows > parameter.shape[0]:
                raise CheckpointError(
                    f"{what}: tensor {name!r} has shape {list(tensor.shape)}, but {list(parameter.shape)} is needed."
                )
            parameter[:num_rows] = tensor
            parameter[num_rows:] = 0.0


def real_tensors(module: nn.Module, vocab_size: int) -> dict[str, Tensor]:
    """A module's tensors as files hold them: detached, float32, on the CPU, without padded vocabulary rows."""
    padded = _vocabulary_tensor(module)
    tensors = {}
    for name, parameter in module.named_parameters():
        rows = parameter.detach()[:vocab_size] if name == padded else parameter.detach()
        tensors[name] = rows.to("cpu", torch.float32).contiguous()
    return tensors


def _vocabulary_tensor(module: nn.Module) -> str | None:
    """The one tensor of a module whose rows are vocabulary ids."""
    if isinstance(module, Encoder):
        return "embeddings.word.weight"
    return "bias" if isinstance(module, TiedDecoder) else None
