"""What a compiled step starts, for operators.py: in place of a region's operators, the kernels of torch's compiler.

torch refuses to run compiled code under a dispatch mode. So the step is counted with regions that compute without being
counted, and the kernels of the regions come from a profile of the same model, narrow, compiled for this CPU. A GPU's
kernels may be fused in another way; how many there are is near.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

NARROW = {"hidden_size": 64, "intermediate_size": 128, "num_heads": 2, "max_positions": 128}  # kernels are as many
FREE = (
    "empty",
    "view",
    "as_strided",
    "detach",
    "alias",
    "reshape",
    "transpose",
    "::t",
    "permute",
    "unsqueeze",
    "slice",
)


def leave_out(regions: dict[str, nn.Module], uncounted: Callable[[], Any]) -> None:
    """Let modules compute, forward and backward, without being counted; gradients keep their shapes alone."""

    class Silent(torch.autograd.Function):
        @staticmethod
        def forward(ctx, run, box, *tensors):
            ctx.save_for_backward(*tensors)
            with uncounted():
                box.append(run())
            return tuple(tensor.detach() for tensor in _tensors(box[0]))

        @staticmethod
        def backward(ctx, *gradients):
            return None, None, *(torch.empty_like(one) if one.requires_grad else None for one in ctx.saved_tensors)

    def quiet(module: nn.Module) -> Callable[..., Any]:
        plain = module.forward

        def forward(*given: Any, **named: Any) -> Any:
            read = [value for value in (*given, *named.values(), *module.parameters()) if isinstance(value, Tensor)]
            box: list[Any] = []
            found = iter(Silent.apply(lambda: plain(*given, **named), box, *read))
            return _with_tensors(box[0], found)

        return forward

    for module in regions.values():
        module.forward = quiet(module)  # type: ignore[method-assign]


def _tensors(value: Any) -> list[Tensor]:
    if isinstance(value, Tensor):
        return [value]
    parts = (
        [getattr(value, field.name) for field in dataclasses.fields(value)]
        if dataclasses.is_dataclass(value)
        else value
    )
    return [tensor for part in parts for tensor in _tensors(part)] if isinstance(parts, (list, tuple)) else []


def _with_tensors(value: Any, found: Any) -> Any:
    if isinstance(value, Tensor):
        return next(found)
    if dataclasses.is_dataclass(value):
        names = [field.name for field in dataclasses.fields(value)]
        return replace(value, **{name: _with_tensors(getattr(value, name), found) for name in names})  # type: ignore[type-var]
    return type(value)(_with_tensors(part, found) for part in value) if isinstance(value, (list, tuple)) else value


def narrow(recipe: Any) -> Any:
    """Return a recipe of the same layers and objectives that a CPU compiles and computes in seconds."""
    batch = replace(recipe.batch, tokens_per_step=512, max_tokens=512, fixed=True)
    encoder = replace(recipe.encoder, **NARROW)
    return replace(recipe, encoder=encoder, batch=batch, format=replace(recipe.format, max_length=128))


def num_kernels(model: nn.Module, pack: Any) -> int:
    """Compile the regions of a model, and count the kernels and library calls of one pack in them, both ways."""
    from torch._inductor import config

    from spanwise.training.compiled.regions import compiled_regions

    def compute() -> list[float]:
        model.zero_grad()
        sum(loss.sum for loss in model(pack).values()).backward()
        return []

    with config.patch({"cpp.enable_kernel_profile": True}), compiled_regions(model, pack, compute, print) as works:
        if not works:
            raise SystemExit("torch.compile does not work here, so compiled steps can't be counted.")
        compute()
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
            compute()
    calls = [event for event in profile.events() if event.name in ("CompiledFunction", "CompiledFunctionBackward")]
    return sum(not any(free in child.name for free in FREE) for call in calls for child in _children(call))


def _children(call: Any) -> list[Any]:
    """Return the events right below a compiled call; wrappers around its kernels are looked into."""
    found: list[Any] = []
    for child in call.cpu_children:
        found += _children(child) if child.name.startswith(("##", "Torch-Compiled", "Inductor")) else [child]
    return found
