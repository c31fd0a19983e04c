"""A model folder in memory: configuration, tensors in our names, heads, and a report of what did not fit."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal, overload

import torch
from torch import Tensor, nn

from spanwise.errors import CheckpointError
from spanwise.interop.auto.model import FORM, padded_encoder
from spanwise.interop.heads import form_of, is_labelled, make_head, size_of
from spanwise.interop.json_files import JsonObject, Settings
from spanwise.interop.record import recorded_forms, tasks_of
from spanwise.interop.sources import find_tokenizer
from spanwise.interop.tables import BY_MODEL_TYPE
from spanwise.nn.config import EncoderConfig
from spanwise.nn.encoder import Encoder
from spanwise.nn.heads.kind import SequenceForm
from spanwise.nn.heads.lm import MaskedLMHead, TiedDecoder
from spanwise.nn.heads.span_boundary import SpanBoundaryHead
from spanwise.nn.init import initialize

if TYPE_CHECKING:
    from spanwise.text.tokenizers import Tokenizer

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class LoadReport:
    """The report of a reading: what the folder's class lacks, what nothing here uses, and what was changed."""

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
    """A model folder as `read_folder` found it. Tensors are float32 on the CPU with the V real vocabulary rows."""

    folder: Path
    config: EncoderConfig
    tensors: dict[str, Tensor]  # the encoder's, in our names
    heads: dict[str, dict[str, Tensor]]  # "mlm", "sbo", "qa", ... (interop/heads.py): tensors in our names
    source_class: str  # the class that config.json names
    tokenizer_folder: Path | None  # where the folder holds a tokenizer
    report: LoadReport
    model_type: str = "bert"  # the family
    labels: tuple[str, ...] = ()  # names of a classifier's scores, where config.json has them
    problem_type: str | None = None  # the kind of these scores (model_config.PROBLEM_TYPES), where config.json says it
    record: JsonObject = field(default_factory=dict)  # spanwise.json, empty for folders of others
    role_ids: dict[str, int] = field(default_factory=dict)  # of special tokens that config.json names by a role
    their_settings: Settings | None = None  # config.json where transformers runs the encoder (auto/model.py)

    @property
    def tasks(self) -> tuple[str, ...]:
        """Return the tasks that the folder has beside its encoder (interop/combined/ reads and makes them)."""
        return tasks_of(self.record)

    def is_labelled(self, head: str) -> bool:
        """Return whether fine-tuning on a labelled task made a head."""
        return is_labelled(head, self.record)

    def form_of(self, head: str) -> SequenceForm:
        """Return how a "classification" or "multiple_choice" head reads sequences: as recorded, else as in the family.

        "pooled" asks for an encoder with a pooler: `build_encoder` makes one where `config.pooler` says so.
        """
        recorded = recorded_forms(self.record).get(head)
        if self.their_settings is not None:
            return recorded or FORM
        return recorded or form_of(BY_MODEL_TYPE[self.model_type], head, self.config)

    def check_native(self, purpose: str) -> None:
        """Refuse an encoder that transformers runs. Raises: CheckpointError that begins with `purpose`."""
        if self.their_settings is not None:
            raise CheckpointError(
                f"{purpose} needs an encoder that this package computes itself ({', '.join(BY_MODEL_TYPE)}), and "
                f"{self.folder} is of type {self.model_type!r}, which transformers runs. "
                "spanwise.integrations.huggingface.SpanBoundaryPretraining pre-trains it in the Trainer of "
                "transformers; tasks and pipelines take it as it is."
            )


def warn_of_misfits(checkpoint: Checkpoint) -> None:
    """Log a warning where not all tensors of a folder fit as they are, or a file of it was changed."""
    if checkpoint.report != LoadReport():
        logger.warning("%s: %s", checkpoint.folder, checkpoint.report)


def read_tokenizer(checkpoint: Checkpoint, source: str | Path | None = None) -> "Tokenizer | None":
    """Return the tokenizer beside the weights, or the one that `source` names, with the special pieces whose ids
    config.json says; None where the folder has none.

    Raises: CheckpointError where the tokenizer gives such a piece another id.
    """
    place = checkpoint.tokenizer_folder if source is None else find_tokenizer(source)
    if place is None:
        return None
    from spanwise.text.extend import with_roles_at  # not by who reads weights alone
    from spanwise.text.tokenizers import Tokenizer

    return with_roles_at(Tokenizer.load(place), checkpoint.role_ids)


def check_vocabulary(checkpoint: Checkpoint, tokenizer: "Tokenizer") -> None:
    """Refuse a tokenizer with more tokens than the encoder has rows. Raises: CheckpointError."""
    if tokenizer.vocab_size > checkpoint.config.vocab_size:
        raise CheckpointError(
            f"the tokenizer has {tokenizer.vocab_size:,} tokens and the encoder of {checkpoint.folder} "
            f"{checkpoint.config.vocab_size:,}; they do not belong together. Name the model's own tokenizer "
            "(--tokenizer)."
        )


def build_encoder(checkpoint: Checkpoint, config: EncoderConfig | None = None, seed: int = 0) -> Encoder:
    """Build an encoder with the checkpoint's weights. `config` may change what has no weights, such as dropout rates.

    A pooler that `config` asks for and the checkpoint lacks starts fresh from `seed`, which is logged.

    Raises:
        CheckpointError: `config` has another shape than the weights.
    """
    config, tensors = config or checkpoint.config, checkpoint.tensors
    encoder = (
        Encoder(config)
        if checkpoint.their_settings is None
        else padded_encoder(checkpoint.folder, checkpoint.their_settings, config, tensors)
    )
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
    """Build the head `name` (interop/heads.py lists them) with its weights, for `encoder`; None where there is none.

    Raises: ConfigError where the head reads a pooler and `encoder` has none, and for a head that is not ours.
    """
    tensors = checkpoint.heads.get(name)
    if tensors is None:
        return None
    head = make_head(name, encoder, size_of(name, tensors), checkpoint.form_of(name))
    fill(head, tensors, f"the {name} head of {checkpoint.folder}")
    return head


def fill(module: nn.Module, tensors: Mapping[str, Tensor], what: str, owner: nn.Module | None = None) -> None:
    """Copy tensors into the parameters of the same names; vocabulary rows are padded with zeros.

    Parameters that `module` shares with `owner` (a head with its encoder) are the owner's, and stay as they are.
    Raises:
        CheckpointError: a parameter has no tensor, or another shape; the message begins with `what`.
    """
    padded = _vocabulary_tensors(module)
    with torch.no_grad():
        for name, parameter in _own_parameters(module, owner):
            tensor = tensors.get(name)
            if tensor is None:
                raise CheckpointError(f"{what} has no tensor {name!r}.")
            has_fewer_rows = name in padded and tensor.ndim and tensor.shape[0] <= parameter.shape[0]
            if tensor.shape != ((tensor.shape[0], *parameter.shape[1:]) if has_fewer_rows else parameter.shape):
                raise CheckpointError(
                    f"{what}: tensor {name!r} has shape {list(tensor.shape)}, but {list(parameter.shape)} is needed."
                )
            if has_fewer_rows:
                parameter.zero_()
                parameter[: tensor.shape[0]] = tensor
            else:
                parameter.copy_(tensor)


def real_tensors(module: nn.Module, vocab_size: int, owner: nn.Module | None = None) -> dict[str, Tensor]:
    """Return a module's tensors as files hold them: detached, float32, on the CPU, without padded vocabulary rows.

    Parameters that `module` shares with `owner` are left out: they are saved with the owner.
    """
    padded = _vocabulary_tensors(module)
    tensors = {}
    for name, parameter in _own_parameters(module, owner):
        rows = parameter.detach()[:vocab_size] if name in padded else parameter.detach()
        tensors[name] = rows.to("cpu", torch.float32).contiguous()
    return tensors


def _own_parameters(module: nn.Module, owner: nn.Module | None) -> list[tuple[str, nn.Parameter]]:
    owned = set() if owner is None else set(owner.parameters())
    return [(name, parameter) for name, parameter in module.named_parameters() if parameter not in owned]


def _vocabulary_tensors(module: nn.Module) -> set[str]:
    """Return the names of a module's tensors whose rows are vocabulary ids."""
    found = set()
    for name, part in module.named_modules():
        if isinstance(part, Encoder | TiedDecoder):
            tensor = "embeddings.word.weight" if isinstance(part, Encoder) else "bias"
            found.add(f"{name}.{tensor}" if name else tensor)
    return found
