"""The choice of the class of Hugging Face that a folder is written for: one that computes the encoder and holds the
most special head.

Every folder can be written. Where no class computes the encoder, it gets `model_type: spanwise`; heads that the class
has no place for lie beside it.
"""

from collections.abc import Mapping, Set
from dataclasses import dataclass

from spanwise.errors import ConfigError
from spanwise.interop.family import KINDS, Architecture, Family, Kind
from spanwise.interop.heads import KINDS as HEAD_KINDS
from spanwise.interop.key_map import KeyMap
from spanwise.interop.tables import BY_MODEL_TYPE, FAMILIES
from spanwise.nn.config import EncoderConfig
from spanwise.runtime.suggest import did_you_mean


@dataclass(frozen=True, kw_only=True)
class GivenHead:
    """A head as the choice sees it: the names of its tensors, and its form where it reads sequences."""

    tensors: Set[str]
    form: str | None = None


@dataclass(frozen=True, kw_only=True)
class Choice:
    """A class and its family; `reason` says why none of Hugging Face's was taken, where none was."""

    family: Family
    name: str
    reason: str | None = None

    @property
    def architecture(self) -> Architecture:
        return self.family.architectures[self.name]


def choose_architecture(
    config: EncoderConfig,
    heads: Mapping[str, GivenHead],
    pad_id: int | None,
    *,
    main_head: str | None = None,
    main_kind: Kind | None = None,
    model_type: str | None = None,
) -> Choice:
    """Choose the class that holds `main_head`, or else the most special one that the heads allow.

    main_kind: the kind of class to take where several hold the main head, as a pre-trained pointer lies in a class of
    its own until questions taught it. model_type: the family to stay in where several can hold the same.

    Raises:
        ConfigError: an unknown `model_type`, or a `main_head` that was not given.
    """
    if model_type is not None and model_type not in BY_MODEL_TYPE:
        raise ConfigError(
            f"Unknown model_type {model_type!r}; known: {', '.join(BY_MODEL_TYPE)}."
            f"{did_you_mean(model_type, BY_MODEL_TYPE)}"
        )
    if main_head is not None and main_head not in heads:
        raise ConfigError(
            f"The main head {main_head!r} is not among those given: {', '.join(sorted(heads)) or 'none'}."
        )
    best: tuple[tuple[int, ...], Choice] | None = None
    for place, family in enumerate(FAMILIES):
        if family.refusal(config, pad_id) is not None:
            continue
        key_map = family.key_map(config, family.write_settings(config, pad_id))
        for depth, (name, architecture) in enumerate(family.architectures.items()):
            if _lacking(family, architecture, config, heads, key_map):
                continue
            holds_main = main_head in architecture.heads
            if main_head is not None and not holds_main and architecture.kind == "task":
                continue  # another task's class would hide what this folder is for
            if architecture.kind == "task" and main_kind != "task" and not _is_labelled(architecture):
                continue  # its head is that of pre-training, which no task has taught
            rank = (
                int(family.is_stock),
                int(holds_main),
                KINDS.index(architecture.kind),
                int(family.model_type == model_type),
                int(family.has_sharing == (config.sharing != "none")),
                int(not key_map.fillers),
                -place,
                -depth,
            )
            if best is None or rank > best[0]:
                best = rank, Choice(family=family, name=name)
    assert best is not None  # the family of our own names holds everything
    choice = best[1]
    if not choice.family.is_stock:
        refusals = {family.label: family.refusal(config, pad_id) for family in FAMILIES if family.is_stock}
        reason = ", ".join(f"{label} has no {refused}" for label, refused in refusals.items())
        return Choice(family=choice.family, name=choice.name, reason=reason)
    return choice


def _is_labelled(architecture: Architecture) -> bool:
    """Return whether a class holds a head that only labelled tasks make."""
    return any(HEAD_KINDS[name].is_labelled for name in architecture.heads)


def _lacking(
    family: Family, architecture: Architecture, config: EncoderConfig, heads: Mapping[str, GivenHead], key_map: KeyMap
) -> list[str]:
    """Return what the class needs and does not get: absent heads, heads of another form, another activation, a
    pooler."""
    absent = [name for name in architecture.heads if name not in heads]
    for name in architecture.heads:
        given, form = heads.get(name), family.forms.get(name)
        if given is None:
            continue
        forms = {None, form, *family.form_settings}
        if given.tensors != {line.ours for line in key_map.heads[name]} or given.form not in forms:
            absent.append(f"a {name} head in the form of {family.label}")
    if architecture.pooler and not config.pooler:
        absent.append("pooler")
    if architecture.only_gelu and config.activation != "gelu":
        absent.append("activation = gelu")
    return absent
