"""The heads of this package by their names in folders, and what is known of a head that somebody else defines.

A head of ours describes itself in the module of `nn/` that defines it. A head of a user's own objective or task lies in
heads.safetensors under its own name; `spanwise.json` says which class it is of, under `own_heads`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from torch import Tensor, nn
from torch.nn.parameter import UninitializedParameter

from spanwise.config.records import class_name
from spanwise.errors import ConfigError
from spanwise.interop.family import Family
from spanwise.interop.json_files import JsonObject, Settings
from spanwise.interop.record import OWN_HEADS
from spanwise.nn.config import EncoderConfig
from spanwise.nn.coreference import head as coreference_head
from spanwise.nn.encoder import Encoder
from spanwise.nn.heads import lm, pair, qa, replaced_token, sequence, span_boundary, span_selection, token
from spanwise.nn.heads.kind import HeadKind, SequenceForm, Size
from spanwise.runtime.outline import outline
from spanwise.runtime.suggest import did_you_mean

_MODULES = (lm, span_boundary, span_selection, pair, replaced_token, qa, sequence, token, coreference_head)
KINDS: dict[str, HeadKind] = {kind.name: kind for module in _MODULES for kind in module.HEAD_KINDS}


def make_head(name: str, encoder: Encoder, size: Size = (), form: SequenceForm = "pooled") -> nn.Module:
    """Build a head of ours, its weights yet to be set; `size` and `form` are as its `HeadKind` takes them.

    Raises: ConfigError for a head that is not ours, and for the form "pooled" on an encoder without a pooler.
    """
    if name not in KINDS:
        raise ConfigError(
            f"there is no head {name!r}; heads are {', '.join(KINDS)}.{did_you_mean(name, KINDS)} A head of your own "
            "is built by its objective or task; interop.checkpoint.fill gives it its tensors."
        )
    return KINDS[name].build(encoder, size, form)


def size_of(name: str, tensors: Mapping[str, Tensor]) -> Size:
    """Return the `size` that `make_head` needs for a head with these tensors."""
    return KINDS[name].size_of(tensors) if name in KINDS else ()


def form_of(family: Family, name: str, config: EncoderConfig) -> SequenceForm:
    """Return how a head that reads whole sequences does so in a family: the last token where attention is causal, since
    no other has seen them."""
    form = family.forms.get(name, "pooled")
    return "last" if config.causal and not form.startswith("last") else form


def whole_heads(heads: Mapping[str, Mapping[str, Tensor]]) -> dict[str, dict[str, Tensor]]:
    """Return heads as modules have them, from heads as folders hold them: some lie there in two parts."""
    found = {name: dict(tensors) for name, tensors in heads.items()}
    for name in [name for name in found if name in KINDS]:
        part = KINDS[name].separate_part
        if part is not None and part in found:
            found[name] |= {f"{part}.{key}": tensor for key, tensor in found.pop(part).items()}
    return found


def split_head(name: str, tensors: Mapping[str, Tensor]) -> dict[str, dict[str, Tensor]]:
    """Return a head as folders hold it: under its own name, and its separate part, where it has one, under another."""
    part = KINDS[name].separate_part if name in KINDS else None
    rest = {key: tensor for key, tensor in tensors.items() if part and key.startswith(f"{part}.")}
    if part is None or not rest:
        return {name: dict(tensors)}
    own = {key: tensor for key, tensor in tensors.items() if key not in rest}
    return {name: own, part: {key.removeprefix(f"{part}."): tensor for key, tensor in rest.items()}}


def check_storable(what: str, head: nn.Module) -> None:
    """Refuse a head that no model folder can hold: with tensors beside its parameters, or parameters without a shape.

    Raises: ConfigError that begins with `what`.
    """
    if any(isinstance(parameter, UninitializedParameter) for parameter in head.parameters()):
        raise ConfigError(f"{what} has parameters without a shape (a lazy module); give their sizes.")
    kept = {f"{prefix}.{name}".lstrip(".") for prefix, part in head.named_modules() for name in _kept_buffers(part)}
    buffers = [name for name, _ in head.named_buffers() if name in kept]
    if buffers:
        raise ConfigError(
            f"{what} keeps {', '.join(buffers)} beside its parameters, which model folders don't hold; make them "
            "parameters, or register them with persistent=False."
        )


def _kept_buffers(part: nn.Module) -> set[str]:
    """The buffers of one module that are saved. Its state_dict would free what FSDP2 has gathered."""
    return set(part._buffers) - part._non_persistent_buffers_set


def check_not_ours(name: str, tensors: Mapping[str, Tensor], encoder: Encoder) -> None:
    """Refuse a head that has the name of one of ours and other tensors: it could not be read again.

    Raises: ConfigError.
    """
    if name not in KINDS:
        return
    with outline():
        made = make_head(name, Encoder(replace(encoder.config, pooler=True)), size_of(name, tensors))
    ours: dict[str, Tensor] = dict(made.named_parameters())
    # the form of a head that reads sequences, which its module alone knows, says which more tensors it has
    names = {"out.weight"} if KINDS[name].has_form else tensors.keys() | ours.keys()
    padded = {"bias"} if isinstance(made, lm.TiedDecoder) else set()  # a number for each row of the word table
    if names <= tensors.keys() & ours.keys() and all(
        key in padded or tensors[key].shape == ours[key].shape for key in names
    ):
        return
    came, expected = ", ".join(sorted(tensors)) or "none", ", ".join(sorted(ours)) or "none"
    raise ConfigError(
        f"the head {name!r} has the tensors {came}, but {name!r} is the name of the {KINDS[name].title} head, which "
        f"has {expected}, each of its own shape; give the objective or task another name."
    )


def describe_own_heads(
    heads: Mapping[str, nn.Module | Mapping[str, Tensor]], kept: Iterable[str], before: Settings, main_head: str | None
) -> dict[str, JsonObject]:
    """Return what spanwise.json says of the heads that are not ours: class, title, and whether a labelled task made it.

    Heads that come as tensors, and those of earlier training (`kept`), keep what the record `before` says of them.
    """
    recorded = before.get(OWN_HEADS, {})
    found: dict[str, JsonObject] = {}
    for name in sorted({*heads, *kept} - KINDS.keys()):
        head = heads.get(name)
        if isinstance(head, nn.Module):
            found[name] = {
                "class": class_name(type(head)),
                "title": str(getattr(head, "title", name)),
                "labelled": name == main_head,
            }
        else:
            found[name] = dict(recorded.get(name, {}))
    return found


def title_of(name: str, record: Settings) -> str:
    """Return what a model card calls a head; `record` is the content of spanwise.json."""
    return KINDS[name].title if name in KINDS else str(record.get(OWN_HEADS, {}).get(name, {}).get("title") or name)


def is_labelled(name: str, record: Settings) -> bool:
    """Return whether fine-tuning on a labelled task made a head; `record` is the content of spanwise.json."""
    return KINDS[name].is_labelled if name in KINDS else bool(record.get(OWN_HEADS, {}).get(name, {}).get("labelled"))
