"""How long a recipe takes on this machine and this store, and how much memory: from a few real packs.

The model is built and trained for some seconds on the run's own first packs (behind a length warm-up), with its own
update, then thrown away. What the log of a run says after its first minutes is said here before it: forward and
backward a pack, the update a step, and the peak of memory. Compiling and a first, cold step are measured apart and
counted once.
"""

import time
from dataclasses import dataclass
from typing import Any

import torch

from spanwise.data.token_store import TokenStore
from spanwise.pretraining.recipe import PretrainingRecipe
from spanwise.pretraining.system import build_model, check_inputs, usual_source
from spanwise.runtime.device import choose_device, resolve_precision
from spanwise.runtime.memory import peak_resident_bytes
from spanwise.training.optim import build_optimizer
from spanwise.training.step import Updater
from spanwise.training.timing import SectionTimer

MIN_PACKS, MAX_PACKS = 3, 50
STEP_SECTIONS = ("optimizer", "communication")  # once per step; all others once per pack


@dataclass(frozen=True, kw_only=True)
class Calibration:
    """The measured times and memory, and the size of an epoch of the store."""

    device: str
    precision: str
    threads: int
    first_seconds: float  # to build the model and to do one step, compiling included
    pack_seconds: float  # forward and backward
    update_seconds: float  # of the optimizer, once per step
    packs_per_step: int
    tokens_per_pack: float  # real ones
    packs_per_epoch: int
    peak_bytes: int  # of the whole process, or allocated on the GPU

    @property
    def step_seconds(self) -> float:
        """Seconds per step."""
        return self.packs_per_step * self.pack_seconds + self.update_seconds

    @property
    def tokens_per_second(self) -> float:
        """Real tokens per second."""
        return self.packs_per_step * self.tokens_per_pack / self.step_seconds

    def predict(self, recipe: PretrainingRecipe) -> dict[str, Any]:
        """Return steps, tokens, epochs and seconds of a run of this recipe: of its own length, or of its budget.

        Evaluation and saving are not counted.
        """
        tokens_per_step = self.packs_per_step * self.tokens_per_pack
        steps_per_epoch = self.packs_per_epoch / self.packs_per_step
        name, value = recipe.training.length
        if name == "budget":
            seconds = max(value, self.first_seconds + self.step_seconds)  # one step is always done
            steps = (seconds - self.first_seconds) / self.step_seconds
        else:
            steps = {"max_steps": value, "max_tokens": value / tokens_per_step}.get(name, value * steps_per_epoch)
            seconds = self.first_seconds + steps * self.step_seconds
        return {
            "length": f"{name}={value:g}",
            "steps": round(steps),
            "tokens": round(steps * tokens_per_step),
            "epochs": steps / steps_per_epoch,
            "seconds": seconds,
            "memory": self.peak_bytes,
        }


def calibrate(
    recipe: PretrainingRecipe, store: TokenStore, *, seconds: float = 10.0, device: str | None = None
) -> Calibration:
    """Train on the first packs of `store` for about `seconds` (three packs at least).

    Raises: DataError where the store does not fit the recipe; ConfigError for a device this machine has not.
    """
    check_inputs(recipe, store)
    where = choose_device(device)
    precision = resolve_precision(recipe.training.precision, where)
    if recipe.training.threads is not None:
        torch.set_num_threads(recipe.training.threads)
    began = time.perf_counter()
    source = usual_source(recipe, store)
    model = build_model(recipe, store.vocabulary.size).to(where).train()
    timer = SectionTimer(where)
    updater = Updater(
        model=model,
        optimizer=build_optimizer(model, recipe.training),
        device=where,
        precision=precision,
        seed=recipe.training.seed,
        max_grad_norm=recipe.training.max_grad_norm,
        timer=timer,
    )
    packs = (pack for index in range(MAX_PACKS) for pack in source.step(index))
    updater.update(1, [next(packs)], 0.0)
    first_seconds = time.perf_counter() - began
    timer.take()
    until, num_packs, num_tokens = time.perf_counter() + seconds, 0, 0
    for num_packs, pack in enumerate(packs, 1):
        updater.update(1 + num_packs, [pack], 0.0)
        num_tokens += pack.num_tokens
        if num_packs >= MAX_PACKS or (num_packs >= MIN_PACKS and time.perf_counter() > until):
            break
    times = timer.take()
    update = sum(times.get(name, 0.0) for name in STEP_SECTIONS)
    compute = times.get("forward", 0.0) + times.get("backward", 0.0) + times.get("other", 0.0)
    on_gpu = where.type == "cuda"
    return Calibration(
        device=str(where),
        precision=precision,
        threads=torch.get_num_threads(),
        first_seconds=first_seconds,
        pack_seconds=compute / num_packs,
        update_seconds=update / num_packs,
        packs_per_step=recipe.batch.packs_per_step,
        tokens_per_pack=num_tokens / num_packs,
        packs_per_epoch=source.num_packs(0),
        peak_bytes=torch.cuda.max_memory_allocated(where) if on_gpu else peak_resident_bytes(),
    )
