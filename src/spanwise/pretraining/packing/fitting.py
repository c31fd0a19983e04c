"""How many packs carry a step on this device: found by a short trial at the start of a run, and kept for all of it.

A GPU is fastest with the fewest packs that its memory holds. What a pack takes is measured on a small one, forward and
backward, and grows with its tokens; the chosen size is tried before it is taken. Where no pack is small enough, or the
run was begun on a larger device, activations are computed again for the backward pass, which changes no bit.
On a CPU the recipe's own packs are kept, whose size was chosen for its caches.
"""

from dataclasses import dataclass, replace
from pathlib import Path

import torch
from torch import nn

from spanwise.data.batch import Batch
from spanwise.errors import CheckpointError, ConfigError
from spanwise.nn.encoder import Encoder
from spanwise.pretraining.packing.repacked import most_tokens
from spanwise.pretraining.ready import Ready
from spanwise.pretraining.recipe import MOST_PACKS, PackedBatch
from spanwise.pretraining.system import training_source
from spanwise.runtime.device import autocast, choose_device, resolve_precision
from spanwise.runtime.device_memory import PeakMemory, free_memory
from spanwise.runtime.json_text import decode_json
from spanwise.runtime.processes.distributed import Group
from spanwise.runtime.progress import RunLog
from spanwise.training.evaluate import loss_sum

ENOUGH_TOKENS = 131_072  # of a pack: no GPU gets faster beyond
SHARE = 0.9  # of the free memory: the rest is for fragments and for packs with more targets
NUM_MOMENTS = 2  # of an optimizer, each as large as the gradient


def recorded_packs(record: Path) -> int | None:
    """Return how many packs a step has in a run whose recipe is recorded. Raises: CheckpointError."""
    try:
        batch = decode_json(record.read_bytes())["batch"]
        own = PackedBatch(**{name: batch[name] for name in ("tokens_per_step", "max_tokens")}).packs_per_step
        packs = batch.get("packs", "auto")  # runs of earlier versions have none
        return own if packs == "auto" else int(packs)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CheckpointError(
            f"{record} does not say how many packs a step has ({error}); restore it, or start a new run."
        ) from error


def fitted(ready: Ready, recorded: int | None, device: str | None, group: Group | None, log: RunLog) -> Ready:
    """Return the run with as many packs a step as it was begun with (`recorded`), or as this device's memory asks for.

    Raises: ConfigError where a step does not fit the device in the packs that are recorded or asked for.
    """
    where = choose_device(device)
    batch = ready.recipe.batch
    asked = recorded if batch.packs == "auto" else batch.packs
    room = free_memory(where)
    if room is None:
        return ready if asked in (None, batch.packs_per_step) else ready.with_packs(asked)
    trial = _Trial(ready, where)
    size = 1 if group is None else group.world.size
    counts = candidates(batch, ready.recipe.format.max_length, size) if asked is None else [asked]
    found = trial.choose(counts, room)
    if group is not None and asked is None:
        found = replace(found, num_packs=max(group.gather(found.num_packs)))
    recompute(ready.model, found.recomputes)
    most = trial.most_tokens(found.num_packs)
    how = "as recorded" if asked is not None else f"found by a trial with {room / 1e9:.1f} GB free"
    again = "; activations are computed again for the backward pass" if found.recomputes else ""
    log.say(f"A step is computed in {found.num_packs:,} pack(s) of at most {most:,} tokens, {how}{again}.")
    return ready.with_packs(found.num_packs)


def recompute(model: nn.Module, wanted: bool) -> None:
    """Say whether the encoders of a model compute their activations again for the backward pass."""
    for module in model.modules():
        if isinstance(module, Encoder):
            module.recomputes = wanted


def candidates(batch: PackedBatch, longest: int, num_processes: int) -> list[int]:
    """Return the numbers of packs that may carry a step, from the fewest on, each twice the one before: the last has
    packs of hardly more than one sequence."""
    portions = batch.packs_per_step
    fewest = max(1, -(-portions * batch.max_tokens // (ENOUGH_TOKENS * num_processes)))
    counts = [fewest * num_processes]
    while most_tokens(batch.max_tokens, longest, portions, counts[-1]) > 2 * longest and counts[-1] < MOST_PACKS // 2:
        counts.append(2 * counts[-1])
    return counts


@dataclass(frozen=True)
class Fit:
    """The packs of a step, and whether activations are computed again for the backward pass."""

    num_packs: int
    recomputes: bool


class _Trial:
    """Tries packs of a run on a device; leaves no gradient behind."""

    def __init__(self, ready: Ready, device: torch.device) -> None:
        self._ready, self._device = ready, device
        self._precision = resolve_precision(ready.recipe.training.precision, device)
        self._model = ready.model.to(device).train()
        self._gradients = sum(p.numel() * p.element_size() for p in self._model.parameters() if p.requires_grad)

    def most_tokens(self, num_packs: int) -> int:
        batch, longest = self._ready.recipe.batch, self._ready.recipe.format.max_length
        return most_tokens(batch.max_tokens, longest, batch.packs_per_step, num_packs)

    def choose(self, counts: list[int], room: int) -> Fit:
        """Return the fewest packs that fit. Raises: ConfigError where none do."""
        smallest = self._pack(candidates(self._ready.recipe.batch, self._ready.recipe.format.max_length, 1)[-1])
        most = 0.0
        for recomputes in (False, True):
            recompute(self._model, recomputes)
            peak = self._peak(smallest)
            if peak is None:
                continue
            a_token = max(0, peak - self._gradients) / len(smallest.input_ids)
            fixed = (1 + NUM_MOMENTS) * self._gradients
            for num_packs in counts:
                most = fixed + a_token * self.most_tokens(num_packs)
                if most <= SHARE * room and self._peak(self._pack(num_packs)) is not None:
                    return Fit(num_packs, recomputes)
        number = f"{counts[-1]:,} pack(s), as it was begun or asked for," if len(counts) == 1 else "the smallest packs"
        raise ConfigError(
            f"a step in {number} needs about {most / 1e9:.2g} GB of {self._device} with activations computed again, "
            f"and {room / 1e9:.2g} GB are free. Go on where there is more memory, or start a new run with shorter "
            "sequences (format.max_length), more packs (batch.packs) or a smaller model."
        )

    def _pack(self, num_packs: int) -> Batch:
        """The first pack of a step of the usual length of sequences, in so many packs."""
        recipe = self._ready.recipe
        recipe = replace(recipe, batch=replace(recipe.batch, packs=num_packs))
        source = training_source(recipe, self._ready.mixture)
        return source.step(recipe.length_warmup.steps, 0, num_packs)[0]

    def _peak(self, pack: Batch) -> int | None:
        """The most bytes that forward and backward of a pack take, gradients included; None where memory ran out."""
        try:
            with PeakMemory(self._device) as memory:
                batch = pack.to(self._device)
                with autocast(self._precision, self._device):
                    losses = self._model(batch)
                torch.stack([loss_sum(loss).float() for loss in losses.values()]).sum().backward()
        except torch.OutOfMemoryError:
            memory.peak = 0
        for parameter in self._model.parameters():
            parameter.grad = None
        if self._device.type == "cuda":
            torch.cuda.empty_cache()
        return memory.peak or None
