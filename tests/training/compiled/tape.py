"""What a CUDA graph does, on a CPU: a call is recorded operator by operator, and replayed with the memory of then.

Numbers that the host knew stay what they were; operators whose result the host would wait for are refused, and those
whose result has a shape that the device computes.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

READS = {"_local_scalar_dense", "nonzero", "masked_select", "is_nonzero", "equal", "_unique2", "unique_consecutive"}


class Tape(TorchDispatchMode):
    """Every operator that is called while it is active, what it was given, and what it gave."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[tuple[Any, tuple, dict, list[Tensor]]] = []

    def __torch_dispatch__(self, function, types, arguments=(), named=None):
        named = named or {}
        if function.overloadpacket.__name__ in READS or _waits_for_a_shape(function, arguments, named):
            raise RuntimeError(f"operation not permitted when stream is capturing: {function}")
        found = function(*arguments, **named)
        given = {one.data_ptr() for one in tree_leaves((arguments, named)) if isinstance(one, Tensor)}
        new = [one for one in tree_leaves(found) if isinstance(one, Tensor) and one.data_ptr() not in given]
        self.calls.append((function, arguments, named, [] if function.is_view else new))
        return found

    def replay(self) -> None:
        with torch.no_grad():
            for function, arguments, named, new in self.calls:
                found = function(*arguments, **named)
                if new:
                    fresh = [one for one in tree_leaves(found) if isinstance(one, Tensor)]
                    for mine, one in zip(new, fresh, strict=True):
                        mine.copy_(one)


def _waits_for_a_shape(function, arguments, named) -> bool:
    name = function.overloadpacket.__name__
    if name in ("index", "index_put", "index_put_", "_index_put_impl_"):
        return any(one is not None and one.dtype in (torch.bool, torch.uint8) for one in arguments[1])
    return name == "bincount" or (name == "repeat_interleave" and named.get("output_size") is None)


def record(compute):
    """Record a call on a tape; return what replays it."""
    with Tape() as tape:
        compute()
    return tape.replay
