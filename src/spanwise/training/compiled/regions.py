"""Parts of a model that torch.compile makes one graph of each, forward and backward, while the model trains.

A part is compiled whole (no graph break is allowed) and for the one shape that its packs have, so that nothing is
compiled again in a run; a pack of more than that shape is computed as the model stands. What was compiled is kept in
the user's cache folder for the next run. Where a machine can't compile, the parts compute as they stand.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, Protocol, runtime_checkable

import torch
from torch import nn

from spanwise.data.batch import Batch
from spanwise.runtime.compiled import writable
from spanwise.runtime.wording import said_first

Compile = Literal["auto", "on", "graphs", "off"]
BACKEND = "inductor"
CACHE_VARIABLE = "TORCHINDUCTOR_CACHE_DIR"


@runtime_checkable
class HasRegions(Protocol):
    """A model with parts whose shapes are those of its packs."""

    def regions(self, batch: Batch) -> Mapping[str, nn.Module]:
        """Return the parts by name that see the same shapes in every pack of the shape of `batch`; none where packs
        have no common shape."""
        ...


def is_wanted(compile: Compile, device: torch.device) -> bool:
    """Return whether a run compiles: `auto` on a GPU alone, as the loops that are made for a CPU are faster there."""
    return compile in ("on", "graphs") or (compile == "auto" and device.type == "cuda")


def keep_compiled() -> Path | None:
    """Let torch keep what it compiles in the user's cache folder rather than among temporary files. Returns the folder;
    None where it can't be written. A folder that the user has named stays."""
    given = Path(os.environ.get(CACHE_VARIABLE, ""))
    torch_own = given.parent == Path(tempfile.gettempdir()) and given.name.startswith("torchinductor_")
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = home / "spanwise" / "torch" if given == Path() or torch_own else given
    if not writable(folder):
        return None
    os.environ[CACHE_VARIABLE] = str(folder)
    return folder


class _Pack:
    """Whether compiled parts serve the pack that the model reads: one of the usual shape, and the rehearsed one."""

    is_rehearsed, is_served = True, True

    def read(self, model: nn.Module, given: tuple[Any, ...], named: dict[str, Any]) -> None:
        batch = next(iter((*given, *named.values())))
        self.is_served = self.is_rehearsed or getattr(batch, "is_usual", True)


class _Region:
    """The forward of a module, compiled while it trains; measuring and predicting go on as ever."""

    def __init__(self, module: nn.Module, pack: _Pack) -> None:
        self.module, self.plain, self.pack = module, module.forward, pack
        self.kinds: tuple[type, ...] | None = None  # of what it was rehearsed with; targets of others are not served
        self.compiled = torch.compile(module.forward, fullgraph=True, dynamic=False, backend=BACKEND)

    def __call__(self, *given: Any, **named: Any) -> Any:
        serves = self.module.training and torch.is_grad_enabled() and self.pack.is_served
        if serves and self.kinds is None:
            self.kinds = tuple(map(type, given))
        return (self.compiled if serves and self.kinds == tuple(map(type, given)) else self.plain)(*given, **named)


@contextlib.contextmanager
def compiled_regions(
    model: nn.Module, batch: Batch, rehearse: Callable[[], object], say: Callable[[str], None]
) -> Iterator[bool]:
    """Compile the model's regions inside the block, and give whether they are.

    rehearse: computes losses and gradients of `batch` once and forgets them: all that has to be compiled is compiled
    there. What torch.compile can't do here is said, and the model computes as it stands.
    """
    regions = model.regions(batch) if isinstance(model, HasRegions) else {}
    if not regions:
        say("Nothing is compiled: the packs of this run have no common shape (batch.fixed).")
        yield False
        return
    encoders: list[Any] = [part for part in model.modules() if hasattr(part, "ignores_rows")]
    folder, began, read = keep_compiled(), time.perf_counter(), _Pack()
    hook = model.register_forward_pre_hook(read.read, with_kwargs=True)
    try:
        for encoder in encoders:
            encoder.ignores_rows = True
        failed = _compile(regions, read, rehearse)
        read.is_rehearsed = False
        if failed:
            _restore(regions, encoders)
            say(f"torch.compile does not work here, so nothing is compiled: {failed}.")
        else:
            kept = "" if folder is None else f"; kept in {folder}"
            say(f"Compiled {len(regions)} parts in {time.perf_counter() - began:.1f} s{kept}.")
        yield not failed
    finally:
        hook.remove()
        _restore(regions, encoders)


def _compile(regions: Mapping[str, nn.Module], pack: _Pack, rehearse: Callable[[], object]) -> str:
    """Compile regions and rehearse; return why that does not work here, or nothing."""
    for module in regions.values():
        module.forward = _Region(module, pack)  # type: ignore[method-assign]
    try:
        with warnings.catch_warnings():  # what is cached here is pure: tracing past it is right
            warnings.filterwarnings("ignore", message="Dynamo detected a call to a `functools.lru_cache`")
            rehearse()
    except Exception as error:  # a missing compiler, driver or library each raises a class of its own
        return said_first(error)
    return ""


def _restore(regions: Mapping[str, nn.Module], encoders: list[Any]) -> None:
    for module in regions.values():
        vars(module).pop("forward", None)
    for encoder in encoders:
        vars(encoder).pop("ignores_rows", None)
