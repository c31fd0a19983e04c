"""Packs by device, a part of `benchmarks/gpu.py`: what the trial finds, how fast it is, and what recomputation costs.

A step of `spanbert-base` of 131,072 tokens on the bundled text, with dropout. The trial runs with all memory and with
24 GB pretended; the step is timed in the recipe's own packs of 16,384 tokens, in those found, and in those found with
activations computed again. The gradients of the three are compared.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np

OVERRIDES = ["batch.tokens_per_step=131072", "training.max_tokens=null", "training.max_steps=100"]
TINY = ["batch.tokens_per_step=2048", "batch.max_tokens=512", *OVERRIDES[1:]]
STEPS = 4  # timed, behind one that is not
CARD = 24 * 2**30


def measure(store: Path, device: str, folder: Path, *, tiny: bool) -> dict[str, Any]:
    """Return packs, seconds of the trial, real tokens a second, and how far gradients are apart."""
    from spanwise.config import override
    from spanwise.pretraining.packing import fitting
    from spanwise.pretraining.ready import make_ready
    from spanwise.recipes import find
    from spanwise.runtime.progress import RunLog
    from spanwise.training.run_folder import RunFolder

    recipe = override(find("spanbert-tiny" if tiny else "spanbert-base"), TINY if tiny else OVERRIDES)
    ready = make_ready(recipe, RunFolder(folder), {"data": store}, RunLog(None))
    own, told = recipe.batch.packs_per_step, {}
    real = fitting.free_memory
    for name, most in (("24 GB", CARD), ("all", None)):
        room = (lambda where, most=most: min(most or 10**12, real(where) or 10**12)) if most or tiny else real
        fitting.free_memory = room
        began = time.perf_counter()
        packed = fitting.fitted(ready, None, device, None, RunLog(None))
        again = any(getattr(module, "recomputes", False) for module in ready.model.modules())
        told[name] = {
            "packs": packed.recipe.batch.packs,
            "recomputes": again,
            "trial_seconds": time.perf_counter() - began,
        }
    fitting.free_memory = real
    gradients = {}
    for name, packs, again in (
        ("own", ready.with_packs(own), False),
        ("found", packed, False),
        ("again", packed, True),
    ):
        fitting.recompute(ready.model, again)
        rates, gradients[name] = _steps(packs, device)
        told[name] = {"rates": rates, "packs": packs.recipe.batch.packs}
    whole = _norm(gradients["own"].values())
    for name in ("found", "again"):
        apart = [gradients[name][key] - gradients["own"][key] for key in gradients["own"]]
        told[name]["gradients_apart"] = _norm(apart) / whole
    told["again"]["equal_bits"] = all(
        gradients["again"][key].equal(gradients["found"][key]) for key in gradients["own"]
    )
    return told


def _norm(tensors) -> float:
    return float(np.sqrt(sum(float(tensor.double().square().sum()) for tensor in tensors)))


def _steps(ready, device: str) -> tuple[list[float], dict[str, Any]]:
    """Real tokens a second of some steps at rate 0, and the gradient of the first."""
    import torch

    from spanwise.runtime.device import choose_device, resolve_precision
    from spanwise.training.optim import build_optimizer
    from spanwise.training.step import Updater
    from spanwise.training.timing import SectionTimer

    where, options = choose_device(device), ready.recipe.training
    updater = Updater(
        model=ready.model.to(where).train(),
        optimizer=build_optimizer(ready.model, options),
        device=where,
        precision=resolve_precision("auto", where),
        seed=0,
        max_grad_norm=0.0,
        timer=SectionTimer(where),
    )
    rates: list[float] = []
    gradients: dict[str, Any] = {}
    for step in range(1 + STEPS):
        packs = [updater.keyed(step + 1, pack) for pack in ready.source.step(step)]
        packs = [pack.pinned() for pack in packs] if where.type == "cuda" else packs
        began = time.perf_counter()
        sums, _ = updater.update(step + 1, packs, 0.0)
        rates.append(sums.num_tokens / (time.perf_counter() - began))
        if not step:
            named = ready.model.named_parameters()
            gradients = {name: p.grad.detach().cpu().clone() for name, p in named if p.grad is not None}
    if where.type == "cuda":
        torch.cuda.empty_cache()
    return rates[1:], gradients
