"""Which of the two weight files each head lies in, and under which names.

The heads of the class that a folder names are in model.safetensors. All others are in heads.safetensors: under the
names that their family has for them, or behind our own (`classification.out.weight`) where it has none, or none that
says which head is meant.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from torch import Tensor

from spanwise.interop.family import Architecture
from spanwise.interop.heads import TITLES
from spanwise.interop.key_map import KeyMap
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
    """body: the encoder's tensors, pooler included, in our names; heads: theirs, by the name of the head."""
    main = key_map.encoder_to_theirs(body)
    aside: dict[str, Tensor] = {}
    places: dict[str, str] = {}
    ambiguous = key_map.ambiguous_heads()
    for name, tensors in heads.items():
        inside = name in architecture.heads
        stock = name in key_map.heads and tensors.keys() == {line.ours for line in key_map.heads[name]}
        if inside or (stock and name not in ambiguous):
            named = key_map.head_to_theirs(name, tensors)
        else:
            named = {f"{name}.{ours}": tensor for ours, tensor in tensors.items()}
        (main if inside else aside).update(named)
        places[name] = SAFETENSORS if inside or not tensors else HEADS
    pooler = {name: tensor for name, tensor in body.items() if name.startswith("pooler.")}
    if pooler:
        inside = bool(key_map.pooler) and (architecture.pooler or architecture.kind == "encoder")
        named = key_map.pooler_to_theirs(body) or pooler
        (main if inside else aside).update(named)
        if not inside:
            places[POOLER] = HEADS
    bare = architecture.kind == "encoder"
    return Arranged(main=key_map.without_root(main) if bare else main, aside=aside, places=places)


def own_names(stored: StoredTensors) -> tuple[dict[str, dict[str, Tensor]], dict[str, Tensor]]:
    """Heads that heads.safetensors has under our own names (`classification.out.weight`), and all other tensors."""
    own: dict[str, dict[str, Tensor]] = {}
    others: dict[str, Tensor] = {}
    for name, tensor in stored.tensors.items():
        head, _, rest = name.partition(".")
        if stored.files[name].name != HEADS or head not in (*TITLES, POOLER):
            others[name] = tensor
        else:
            own.setdefault(head, {})[name if head == POOLER else rest] = tensor
    return own, others
