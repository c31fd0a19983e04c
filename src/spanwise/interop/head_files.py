"""The weight file that each head lies in, and the names of its tensors there.

The heads of the class that a folder names are in model.safetensors. All others are in heads.safetensors: under the
names that their family has for them, or behind our own (`classification.out.weight`) where it has none, or none that
says which head is meant.
"""

import functools
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from torch import Tensor

from spanwise.errors import ConfigError
from spanwise.interop.family import Architecture
from spanwise.interop.heads import KINDS
from spanwise.interop.key_map import KeyMap
from spanwise.interop.tables import FAMILIES
from spanwise.interop.tensor_files import HEADS, SAFETENSORS, StoredTensors

POOLER = "pooler"


@dataclass(frozen=True, kw_only=True)
class Arranged:
    """Tensors of model.safetensors and of heads.safetensors, and the file of each head."""

    main: dict[str, Tensor]
    aside: dict[str, Tensor]
    places: dict[str, str]


def arrange(
    body: Mapping[str, Tensor], heads: Mapping[str, Mapping[str, Tensor]], architecture: Architecture, key_map: KeyMap
) -> Arranged:
    """Sort tensors into both files. `body` are the encoder's tensors, pooler included, in our names; heads: theirs, by
    the name of the head."""
    main = key_map.encoder_to_theirs(body)
    aside: dict[str, Tensor] = {}
    places: dict[str, str] = {}
    ambiguous = key_map.ambiguous_heads()
    for name, tensors in heads.items():
        inside = name in architecture.heads
        stock = name in key_map.heads and tensors.keys() == {line.ours for line in key_map.heads[name]}
        if inside or (stock and name not in ambiguous):
            named = key_map.give(key_map.heads[name], tensors)
        else:
            named = {f"{name}.{ours}": tensor for ours, tensor in tensors.items()}
        (main if inside else aside).update(named)
        places[name] = SAFETENSORS if inside or not tensors else HEADS
    pooler = {name: tensor for name, tensor in body.items() if name.startswith("pooler.")}
    if pooler:
        inside = bool(key_map.pooler) and (architecture.pooler or architecture.kind == "encoder")
        named = key_map.give(key_map.pooler, body) or pooler
        (main if inside else aside).update(named)
        if not inside:
            places[POOLER] = HEADS
    bare = architecture.kind == "encoder"
    return Arranged(main=key_map.without_root(main) if bare else main, aside=aside, places=places)


def own_names(
    stored: StoredTensors, recorded: Collection[str] = ()
) -> tuple[dict[str, dict[str, Tensor]], dict[str, Tensor]]:
    """Split heads that heads.safetensors has under our own names (`classification.out.weight`) from all other tensors.

    `recorded` are the heads that spanwise.json lists; those of a user's own are known by it alone.
    """
    own: dict[str, dict[str, Tensor]] = {}
    others: dict[str, Tensor] = {}
    names = {*KINDS, *recorded, POOLER}
    for name, tensor in stored.tensors.items():
        head, _, rest = name.partition(".")
        if stored.files[name].name != HEADS or head not in names:
            others[name] = tensor
        else:
            own.setdefault(head, {})[name if head == POOLER else rest] = tensor
    return own, others


def check_own_names(names: Iterable[str]) -> None:
    """Refuse a head of a user's own whose tensors could not be told from others in heads.safetensors.

    Raises: ConfigError.
    """
    for name in names:
        if name in KINDS:
            continue
        if not name.isidentifier():
            raise ConfigError(f"a head can't be called {name!r} in files; use letters, digits and _ alone.")
        if name in _taken_names():
            raise ConfigError(f"a head can't be called {name!r}: files of other models begin their tensors' names so.")


@functools.cache
def _taken_names() -> frozenset[str]:
    """Return how the names of tensors begin in the families' files."""
    theirs = (
        theirs for family in FAMILIES for lines in family.heads.values() for line in lines for theirs in line.theirs
    )
    roots = {family.root.rstrip(".") for family in FAMILIES}
    return frozenset({name.partition(".")[0] for name in theirs} | roots | {POOLER})
