"""A model folder in memory: configuration, tensors in our names, heads, and a report of what did not fit."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, overload

import torch
from torch import Tensor, nn

from spanwise.errors import CheckpointError
from spanwise.interop.heads import Size, form_of, make_head, size_of
from spanwise.interop.record import recorded_forms
from spanwise.interop.tables import BY_MODEL_TYPE
from spanwise.nn.config import EncoderConfig
from spanwise.nn.encoder import Encoder
from spanwise.nn.init import initialize
from spanwise.nn.lm_head import MaskedLMHead, TiedDecoder
from spanwise.nn.sequence_head import SequenceForm
from spanwise.nn.spans import SpanBoundaryHead

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class LoadReport:
    """What a folder lacked for the class it names, what it held that nothing here uses, and what reading changed."""

    missing: tuple[str, ...] = ()
    unexpected: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()  # a sentence each

    def __str__(self) -> str:
        parts = [
            f"{len(names)} tensors {what}: {', '.join(names[:3])}{', ...' if len(names) > 3 else ''}"
            for what, names in (("missing", self.missing), ("not used", self.unexpected))
            if names
        ]
        return "; ".join([*parts, *self.notes]) or "all tensors found and used"


@dataclass(frozen=True, kw_only=True)
class Checkpoint:
    """What `read_folder` found. Tensors are float32 on the CPU with the V real vocabulary rows."""

    folder: Path
    config: EncoderConfig
    tensors: dict[str, Tensor]  # the encoder's, in our names
    heads: dict[str, dict[str, Tensor]]  # "mlm", "sbo", "qa", ... (interop/heads.py): tensors in our names
    source_class: str  # the class that config.json names
    tokenizer_folder: Path | None  # where the folder holds a tokenizer
    report: LoadReport
    model_type: str = "bert"  # the family
    labels: tuple[str, ...] = ()  # names of a classifier's scores, where config.json has them
    record: dict[str, Any] = field(default_factory=dict)  # spanwise.json, empty for folders of others

    def form_of(self, head: str) -> SequenceForm:
        """How a "classification" or "multiple_choice" head reads sequences here: as recorded, else as in the family.

        "pooled" asks for an encoder with a pooler: `build_encoder` makes one where `config.pooler` says so.
        """
        recorded = recorded_forms(self.record).get(head)
        return recorded or form_of(BY_MODEL_TYPE[self.model_type], head, self.config)


def warn_of_misfits(checkpoint: Checkpoint) -> None:
    """Log a warning where not all tensors of a folder fit as they are, or a file of it was changed."""
    if checkpoint.report != LoadReport():
        logger.warning("%s: %s", checkpoint.folder, checkpoint.report)


def build_encoder(checkpoint: Checkpoint, config: EncoderConfig | None = None, seed: int = 0) -> Encoder:
    """An encoder with the checkpoint's weights. `config` may change what has no weights, such as dropout rates.

    A pooler that `config` asks for and the checkpoint lacks starts fresh from `seed`, which is logged.

    Raises:
        CheckpointError: `config` has another shape than the weights.
    """
    encoder = Encoder(config or checkpoint.config)
    tensors = checkpoint.tensors
    if encoder.pooler is not None and "pooler.dense.weight" not in tensors:
        initialize(encoder.pooler, encoder.config, seed, prefix="encoder.pooler")
        tensors = tensors | {f"pooler.{name}": tensor for name, tensor in encoder.pooler.named_parameters()}
        logger.warning("%s has no pooler; it starts fresh.", checkpoint.folder)
    fill(encoder, tensors, f"the encoder of {checkpoint.folder}")
    return encoder


@overload
def build_head(checkpoint: Checkpoint, name: Literal["mlm"], encoder: Encoder) -> MaskedLMHead | None: ...
@overload
def build_head(checkpoint: Checkpoint, name: Literal["sbo"], encoder: Encoder) -> SpanBoundaryHead | None: ...
@overload
def build_head(checkpoint: Checkpoint, name: str, encoder: Encoder) -> nn.Module | None: ...
def build_head(checkpoint: Checkpoint, name: str, encoder: Encoder) -> nn.Module | None:
    """The head `name` (interop/heads.py lists them) with its weights, for `encoder`; None where there is none.

    Raises: ConfigError where the head reads a pooler and `encoder` has none.
    """
    tensors = checkpoint.heads.get(name)
    if tensors is None:
        return None
    head = make_head(name, encoder, size_of(name, tensors), checkpoint.form_of(name))
    fill(head, tensors, f"the {name} head of {checkpoint.folder}")
    return head


def fresh_head(checkpoint: Checkpoint, name: str, encoder: Encoder, seed: int, size: Size = ()) -> nn.Module:
    """A head `name` in the form of the checkpoint's family, with fresh weights; `size` as in `make_head`."""
    head = make_head(name, encoder, size, checkpoint.form_of(name))
    initialize(head, encoder.config, seed, prefix=name)
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
