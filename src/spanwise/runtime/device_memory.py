"""The memory of a device: what a run may still take of it, and the most that something took."""

import weakref
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_iter


def free_memory(device: torch.device) -> int | None:
    """Bytes that this process may still take on a GPU; None for a CPU, where caches and not memory limit a pack."""
    if device.type != "cuda":
        return None
    free, _ = torch.cuda.mem_get_info(device)
    return free + torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)


class PeakMemory(TorchDispatchMode):
    """Counts, inside the block, the most bytes that new tensors hold at once (`peak`).

    On a GPU the allocator counts. Elsewhere every tensor that an operator returns is watched until it is freed; what
    compiled loops write lies in such tensors.
    """

    def __init__(self, device: torch.device) -> None:
        super().__init__()
        self._device = device
        self._before = self._now = self.peak = 0
        self._watched: set[int] = set()

    def __enter__(self) -> "PeakMemory":
        if self._device.type == "cuda":
            torch.cuda.reset_peak_memory_stats(self._device)
            self._before = torch.cuda.memory_allocated(self._device)
        else:
            super().__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        if self._device.type == "cuda":
            self.peak = torch.cuda.max_memory_allocated(self._device) - self._before
        else:
            super().__exit__(*error)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        known = {one.untyped_storage()._cdata for one in tree_iter((args, kwargs)) if isinstance(one, Tensor)}
        for made in tree_iter(out):
            if isinstance(made, Tensor) and made.untyped_storage()._cdata not in known:
                self._watch(made.untyped_storage())
        return out

    def _watch(self, storage: torch.UntypedStorage) -> None:
        key, size = storage._cdata, storage.nbytes()
        if key in self._watched:
            return
        self._watched.add(key)
        self._now += size
        self.peak = max(self.peak, self._now)
        weakref.finalize(storage, self._forget, key, size)

    def _forget(self, key: int, size: int) -> None:
        self._watched.discard(key)
        self._now -= size
