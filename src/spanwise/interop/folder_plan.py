"""The plan of a model folder: what it will hold, decided before a file of it is written.

A folder holds exactly the tensors of the class that `architectures` names in model.safetensors, so that this class
loads with nothing missing and nothing unexpected. What the class has no name for stays in heads.safetensors.
"""

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import Protocol

import torch
from torch import Tensor, nn

from spanwise.interop.architectures import Choice, GivenHead, choose_architecture
from spanwise.interop.auto.model import choice_for, settings_of
from spanwise.interop.checkpoint import real_tensors
from spanwise.interop.family import Kind
from spanwise.interop.head_files import Arranged, arrange, check_own_names
from spanwise.interop.heads import KINDS, check_not_ours, describe_own_heads, size_of, split_head
from spanwise.interop.json_files import JsonObject, Settings
from spanwise.interop.model_config import config_record, labels_record, lost_values
from spanwise.interop.record import OWN_HEADS, recorded_forms
from spanwise.interop.tensor_files import HEADS
from spanwise.nn.config import EncoderConfig
from spanwise.nn.encoder import Encoder
from spanwise.nn.heads.kind import SequenceForm
from spanwise.nn.heads.sequence import SequenceHead
from spanwise.nn.padded_encoder import PaddedEncoder

Heads = Mapping[str, nn.Module | Mapping[str, Tensor]]
"""Heads by name (interop/heads.py), as modules or as tensors in our names (as `Checkpoint.heads` has them)."""


class SavesItself(Protocol):
    """A tokenizer as it is needed here. `cls_id` and `sep_id` are read too where a family names them."""

    pad_id: int

    def save(self, folder: Path) -> None: ...


@dataclass(frozen=True)
class FolderContent:
    """All that goes into a folder."""

    encoder: Encoder
    heads: Heads
    tokenizer: SavesItself | None = None
    _: KW_ONLY
    extra: Settings = field(default_factory=dict)  # more of spanwise.json, such as a task's labels
    main_head: str | None = None  # the head that the folder is for
    main_kind: Kind | None = None  # the kind of class to take where several hold the main head
    model_type: str | None = None  # the family to stay in where several can hold the same
    labels: Sequence[str] = ()  # names of the scores of the class's classifier
    problem_type: str | None = None  # what config.json calls the kind of these scores
    kept: Mapping[str, Mapping[str, Tensor]] = field(default_factory=dict)  # of earlier training; no say in the class
    facts: Sequence[str] = ()  # sentences for the model card
    pipeline: str | None = None  # the name of the pipeline that the card shows

    def kept_heads(self) -> dict[str, Mapping[str, Tensor]]:
        """Return the heads of earlier training that have tensors and are not trained again."""
        return {name: tensors for name, tensors in self.kept.items() if name not in self.heads and tensors}

    def forms(self) -> dict[str, SequenceForm]:
        """Return how each head that reads whole sequences does so: as recorded, or as its module says."""
        names = self.heads.keys() | self.kept_heads().keys()
        recorded = {name: form for name, form in recorded_forms(self.extra).items() if name in names}
        return recorded | {name: head.form for name, head in self.heads.items() if isinstance(head, SequenceHead)}


@dataclass(frozen=True, kw_only=True)
class Written:
    """The class that a folder was written for, and what this class has no place for."""

    model_type: str
    architecture: str
    beside: tuple[str, ...]  # heads (or "pooler") in heads.safetensors
    notes: tuple[str, ...] = ()  # a sentence each, for a person


@dataclass(frozen=True, kw_only=True)
class FolderPlan:
    """The content of a folder before it is written."""

    choice: Choice
    settings: JsonObject  # of config.json
    arranged: Arranged
    record: JsonObject  # of spanwise.json
    written: Written


def plan_folder(folder: Path, content: FolderContent) -> FolderPlan:
    """Decide what `write_folder` writes, which may be said before hours of training.

    Raises:
        ConfigError: a head whose name can't stand in files, or a main head or family that there is not.
    """
    encoder, kept, forms = content.encoder, content.kept_heads(), content.forms()
    config = encoder.config
    check_own_names([*content.heads, *kept])
    parts: dict[str, dict[str, Tensor]] = {}
    for name, head in content.heads.items():
        tensors = real_tensors(head, config.vocab_size, encoder) if isinstance(head, nn.Module) else as_float32(head)
        check_not_ours(name, tensors, encoder)
        parts |= split_head(name, tensors)
    choice = _choose(content, parts, forms)
    settings = _settings(content, choice, parts)
    for name, kept_tensors in kept.items():
        parts |= split_head(name, as_float32(kept_tensors))
    body = real_tensors(encoder, config.vocab_size)
    arranged = arrange(body, parts, choice.architecture, choice.family.key_map(config, settings))
    is_native = not isinstance(encoder, PaddedEncoder)
    lost = lost_values(config, settings, folder / "config.json") if is_native else {}
    own = describe_own_heads(content.heads, kept, content.extra, content.main_head)
    record = {
        **{name: value for name, value in content.extra.items() if name not in ("forms", OWN_HEADS)},
        "architecture": choice.name,
        "heads": dict(sorted(arranged.places.items())),
        **({"encoder": lost} if lost else {}),
        **({"forms": forms} if forms else {}),
        **({OWN_HEADS: own} if own else {}),
    }
    beside = tuple(sorted(name for name, file in arranged.places.items() if file == HEADS))
    notes = _notes(config, choice, beside, lost)
    written = Written(model_type=choice.family.model_type, architecture=choice.name, beside=beside, notes=notes)
    return FolderPlan(choice=choice, settings=settings, arranged=arranged, record=record, written=written)


def _choose(
    content: FolderContent, parts: Mapping[str, Mapping[str, Tensor]], forms: Mapping[str, SequenceForm]
) -> Choice:
    if isinstance(content.encoder, PaddedEncoder):
        return choice_for(content.encoder)
    config, pad_id = content.encoder.config, _token_ids(content.tokenizer).get("pad_token_id")
    given = {name: GivenHead(tensors=tensors.keys(), form=forms.get(name)) for name, tensors in parts.items()}
    return choose_architecture(
        config,
        given,
        pad_id,
        main_head=content.main_head,
        main_kind=content.main_kind,
        model_type=content.model_type,
    )


def _settings(content: FolderContent, choice: Choice, parts: Mapping[str, Mapping[str, Tensor]]) -> JsonObject:
    """Return the content of config.json."""
    if isinstance(content.encoder, PaddedEncoder):
        return {**settings_of(content.encoder), **labels_record(content.labels, content.problem_type)}
    tokens = _token_ids(content.tokenizer)
    if not choice.family.names_borders:
        tokens = {key: number for key, number in tokens.items() if key == "pad_token_id"}
    roles: Mapping[str, int] = getattr(content.tokenizer, "roles", {})
    tokens |= {key: roles[role] for role, key in choice.family.role_ids.items() if role in roles}
    with_labels = [name for name in choice.architecture.heads if KINDS[name].names_labels]
    forms = content.forms()
    form = next((forms[name] for name in choice.architecture.heads if name in forms), None)
    return config_record(
        content.encoder.config,
        choice.family,
        choice.name,
        tokens=tokens,
        num_labels=size_of(with_labels[0], parts[with_labels[0]])[0] if with_labels else None,
        labels=content.labels,
        problem_type=content.problem_type,
        form=form,
    )


def _notes(config: EncoderConfig, choice: Choice, beside: tuple[str, ...], lost: Settings) -> tuple[str, ...]:
    """Say in sentences what a person should know of the folder."""
    notes = []
    if choice.reason is not None:
        notes.append(
            f"No class of Hugging Face computes this encoder ({choice.reason}); it loads with spanwise.load alone."
        )
    elif "sharing" in lost and config.sharing != "none":
        notes.append(
            f"{choice.name} knows no sharing of {config.sharing}: its layers hold equal weights, and spanwise.json "
            "remembers that they are one."
        )
    if beside:
        notes.append(
            f"{choice.name} has no place for {', '.join(beside)}; heads.safetensors keeps them, for spanwise alone."
        )
    return tuple(notes)


def _token_ids(tokenizer: SavesItself | None) -> dict[str, int | None]:
    """Return the ids that config.json may name; None where the tokenizer has no such token."""
    if tokenizer is None:
        return {}
    ids = {"pad_token_id": tokenizer.pad_id}
    for key, attribute in (("bos_token_id", "cls_id"), ("eos_token_id", "sep_id")):
        if hasattr(tokenizer, attribute):
            ids[key] = getattr(tokenizer, attribute)
    return {key: number if number >= 0 else None for key, number in ids.items()}


def as_float32(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return the tensors as float32 on the CPU."""
    return as_type(tensors, torch.float32)


def as_type(tensors: Mapping[str, Tensor], dtype: torch.dtype) -> dict[str, Tensor]:
    """Return the tensors as `dtype` on the CPU."""
    return {name: tensor.to("cpu", dtype).contiguous() for name, tensor in tensors.items()}
