"""Checkpoints that a run goes on from: all tensors bit for bit, one step number, and what must still be the same.

A checkpoint is the model's own folder (written by the caller) plus `training/`:

    training/optimizer.safetensors   parameters, buffers and AdamW's moments under the model's own names, fp32
    training/state.json              the step, the sums since the last log line, the identity and the fingerprint

Processes that keep some rows of large parameters each (`fsdp.py`) write a file each: `optimizer-00001-of-00004`, ...
The `Saver` decides when one is written, and where the trained model goes. There is no state of random generators, data
order or schedule: all are functions of the step. Nothing is pickled.
"""

import json
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from spanwise.config import difference
from spanwise.errors import CheckpointError, ConfigError, NumericsError
from spanwise.interop.tensor_files import write_safetensors
from spanwise.runtime.disk import DISK
from spanwise.runtime.files import (
    JsonObject,
    atomic_folder,
    explained_disk_errors,
    remove_folder,
    require_free_space,
    verify_folder,
)
from spanwise.runtime.json_text import decode_json
from spanwise.runtime.progress import RunLog
from spanwise.training.optim import Optimizer, set_state
from spanwise.training.parts import SavedTensors, part_name
from spanwise.training.pieces import KeptModel
from spanwise.training.plan import HARMLESS_OPTIONS, TrainingOptions
from spanwise.training.run_folder import RunFolder

LARGEST_USUAL_WEIGHT = 1e5  # trained weights stay far below; above it a run has come apart
_BYTES_PER_PARAMETER = 3 * 12  # weights and two moments in float32; two checkpoints are kept while a third is written


@dataclass(eq=False, kw_only=True)
class Saver:
    """Saves one run. Of several processes the leader's writes and commits; the others only keep the same account, or
    write their own part of the tensors where each keeps some rows."""

    folder: RunFolder
    options: TrainingOptions
    model: nn.Module
    optimizer: Optimizer
    save_model: Callable[[Path], None]  # into an empty folder
    log: RunLog
    is_leader: bool
    kept: KeptModel | None = None  # None: this process keeps the whole model

    def __post_init__(self) -> None:
        num_parameters = sum(parameter.numel() for parameter in self.model.parameters())
        require_free_space(self.folder.path, _BYTES_PER_PARAMETER * num_parameters)
        self.saved_step: int | None = None
        self._kept = self.kept or KeptModel(self.model)
        self._saved_at = time.monotonic()

    def is_due(self, step: int) -> bool:
        """Return whether it is time for a checkpoint after `step` steps."""
        every, minutes = self.options.save_every, self.options.save_minutes
        if every is not None and step % every == 0:
            return True
        return minutes is not None and time.monotonic() - self._saved_at >= 60 * minutes

    def save(self, step: int, state: JsonObject) -> None:
        """Commit a checkpoint. Raises: NumericsError, SpanwiseError."""
        self.saved_step, self._saved_at = step, time.monotonic()
        with self._kept.at_leader():
            if self.is_leader:
                self.log.sync()  # a checkpoint never counts a line that a power loss took
                self._save_and_retire(step, state)
                self._saved_at = time.monotonic()
            elif self._kept.is_cut:
                save_part(step, self.model, self.optimizer, self._kept)

    def _save_and_retire(self, step: int, state: JsonObject) -> None:
        checkpoints, model, optimizer = self.folder.checkpoints, self.model, self.optimizer
        keep, kept = self.options.keep, self._kept
        save_checkpoint(
            checkpoints, step, model, optimizer, state, self.save_model, keep=keep, kept=kept, say=self.log.say
        )

    def final_is_whole(self) -> bool:
        """Return whether the trained model lies there, every byte as its manifest says."""
        try:
            verify_folder(self.folder.final)
        except CheckpointError:
            return False
        return True

    def commit_final(self, step: int) -> None:
        """Write the trained model once; a finished run that is resumed finds it and changes nothing."""
        is_done = self.final_is_whole() if self.is_leader else not self._kept.is_cut
        if self._kept.gather(is_done)[0]:
            return
        require_finite(training_tensors(self.model, self.optimizer, self._kept), step, self._kept)
        self.model.eval()
        with self._kept.at_leader():
            if self.is_leader:
                with atomic_folder(self.folder.final, existing="replace") as temporary:
                    self.save_model(temporary)

    def where_to_start_again(self) -> str:
        """Advice after bad numbers: the newest checkpoint whose weights are of a usual size."""
        for path, _ in whole_checkpoints(self.folder.checkpoints, self.log.say):
            largest = largest_weight(path)
            if largest <= LARGEST_USUAL_WEIGHT:
                how = "start a new run from it (pretrain --init, finetune --model)"
                return f"The last good checkpoint is {path}; {how}."
            self.log.say(f"Checkpoint {path.name} is no good start: it has a weight of {largest:.2g}.")
        return "No good checkpoint was saved before: start a new run."


TRAINING_FOLDER = "training"
STATE_NAME = "state.json"
STATE_VERSION = 1
_MOMENTS = ("step", "exp_avg", "exp_avg_sq", "momentum_buffer")


def step_folders(folder: Path) -> list[tuple[int, Path]]:
    """(step, path) of every checkpoint by its name, the newest first."""
    if not folder.is_dir():
        return []
    named = [(path.name.removeprefix("step-"), path) for path in folder.iterdir() if path.name.startswith("step-")]
    return sorted(((int(digits), path) for digits, path in named if digits.isdigit()), reverse=True)


def save_checkpoint(
    folder: Path,
    step: int,
    model: nn.Module,
    optimizer: Optimizer,
    state: JsonObject,
    save_model: Callable[[Path], None],
    *,
    keep: int,
    kept: KeptModel | None = None,
    say: Callable[[str], None] = lambda text: None,
) -> Path:
    """Commit `folder/step-...` whole, and only then retire the oldest beyond `keep`.

    Those of later steps were passed over when the run went on. They don't count: damaged ones are removed, which `say`
    is told, and whole ones stay.

    Where processes keep some rows each, this is called within `kept.at_leader()` by the leader; `save_part` by the
    others, which write into its folder before it is committed.

    Raises: NumericsError where a tensor is not finite (nothing is written); SpanwiseError where the disk is full.
    """
    kept = kept or KeptModel(model)
    tensors = training_tensors(model, optimizer, kept)
    require_finite(tensors, step, kept)
    size = kept.num_parts * sum(tensor.numel() * tensor.element_size() for tensor in tensors.values())
    require_free_space(folder, int(1.4 * size) + 1_000_000)  # the model's folder holds the weights once more
    target = folder / f"step-{step:09d}"
    with atomic_folder(target, existing="replace") as temporary:
        save_model(temporary)
        DISK.make_folders(temporary / TRAINING_FOLDER)
        kept.gather(str(temporary / TRAINING_FOLDER))  # from here on the others write their parts
        write_safetensors(tensors, temporary / TRAINING_FOLDER / part_name(kept.part, kept.num_parts))
        kept.gather("")  # all are written
        text = json.dumps({"version": STATE_VERSION, "step": step, **state}, indent=1)  # a perplexity may be infinite
        DISK.write_file(temporary / TRAINING_FOLDER / STATE_NAME, (text + "\n").encode())
    num_later = _remove_damaged(folder, step, say)
    for _, old in step_folders(folder)[num_later + keep :]:
        remove_folder(old)
    return target


def _remove_damaged(folder: Path, step: int, say: Callable[[str], None]) -> int:
    """Remove the damaged checkpoints of steps after `step`; return how many stay: those of another version, or that
    the disk could not read for a moment."""
    num_left = 0
    for _, path in (found for found in step_folders(folder) if found[0] > step):
        try:
            verify_folder(path)
        except CheckpointError as damage:
            if not isinstance(damage.__cause__, OSError):
                say(f"Checkpoint {path.name} is removed: {damage}")
                remove_folder(path)
                continue
        num_left += 1
    return num_left


def save_part(step: int, model: nn.Module, optimizer: Optimizer, kept: KeptModel) -> None:
    """Write this process's rows into the folder that the leader commits. Raises: as `save_checkpoint`."""
    tensors = training_tensors(model, optimizer, kept)
    require_finite(tensors, step, kept)
    path = Path(kept.gather("")[0]) / part_name(kept.part, kept.num_parts)
    with explained_disk_errors(path):
        write_safetensors(tensors, path)
        DISK.fsync_file(path)  # the leader's may be another machine
    kept.gather("")


def training_tensors(model: nn.Module, optimizer: Optimizer, kept: KeptModel | None = None) -> dict[str, Tensor]:
    """Every tensor that training changes, on the host, under flat names. Tied weights appear once.

    Of `kept`: the rows kept here; what every process has whole is given by the first one alone.
    """
    tensors: dict[str, Tensor] = {}
    kept_model = kept or KeptModel(model)
    state = optimizer.state
    for piece in kept_model.pieces:
        held = {"parameter": piece.tensor, **state.get(piece.tensor, {})}
        for kind, value in held.items():
            is_cut = piece.is_cut and value.dim() > 0
            if (is_cut and len(value)) or (not is_cut and kept_model.part == 0):
                tensors[f"{kind}/{piece.name}"] = _host(value)
    if kept_model.part == 0:
        tensors |= {f"buffer/{name}": _host(buffer) for name, buffer in kept_model.buffers.items()}
    return tensors


def _host(tensor: Tensor) -> Tensor:
    return tensor.detach().to("cpu").contiguous()


def require_finite(tensors: Mapping[str, Tensor], step: int, kept: KeptModel) -> None:
    """Raises: NumericsError naming the first tensor, here or in the part of another process, that holds not-a-number or
    infinity."""
    bad = [name for name, tensor in tensors.items() if tensor.is_floating_point() and not _is_finite(tensor)]
    for name in (name for names in kept.gather(bad[:1]) for name in names):
        raise NumericsError(
            f"step {step}: {name} holds values that are not finite, so nothing was saved; "
            "the last good checkpoint is kept. Lower the learning rate, or train in fp32."
        )


def _is_finite(tensor: Tensor) -> bool:
    return bool(torch.isfinite(tensor).all())


def whole_checkpoints(folder: Path, warn: Callable[[str], None]) -> Iterator[tuple[Path, JsonObject]]:
    """The checkpoints whose every byte agrees with their manifest, with their states, the newest first.

    A damaged one is named through `warn` and passed over.
    """
    for step, path in step_folders(folder):
        try:
            verify_folder(path)
            state = decode_json((path / TRAINING_FOLDER / STATE_NAME).read_text(encoding="utf-8"))
            if state["version"] != STATE_VERSION or state["step"] != step:
                raise CheckpointError(f"{path} says version {state['version']}, step {state['step']}.")
        except (CheckpointError, OSError, ValueError, KeyError, TypeError) as damage:
            warn(f"Checkpoint {path.name} is not used: {damage}")
            continue
        yield path, state


def newest_checkpoint(folder: Path, warn: Callable[[str], None]) -> tuple[Path, JsonObject] | None:
    """The newest whole checkpoint and its state; None where there is no checkpoint at all.

    Raises: CheckpointError where checkpoints exist and none is whole.
    """
    found = next(whole_checkpoints(folder, warn), None)
    if found is None and (present := step_folders(folder)):
        raise CheckpointError(
            f"none of the {len(present)} checkpoints in {folder} is whole, so the run can't go on from any. "
            "Restore one from a backup, or start again in a new folder."
        )
    return found


def largest_weight(path: Path) -> float:
    """The largest absolute value of a parameter in a checkpoint. Raises: CheckpointError."""
    saved = SavedTensors(path / TRAINING_FOLDER)
    weights = (saved.rows(name) for name in sorted(saved.names) if name.startswith("parameter/"))
    return max((float(tensor.abs().max()) for tensor in weights if tensor.numel()), default=0.0)


def load_tensors(path: Path, model: nn.Module, optimizer: Optimizer, kept: KeptModel | None = None) -> None:
    """Copy a checkpoint's tensors (of `kept` the rows kept here) into the model and the optimizer, all or nothing.

    Raises: CheckpointError for a missing or unexpected name, another shape or another type.
    """
    file = path / TRAINING_FOLDER
    saved = SavedTensors(file)
    kept = kept or KeptModel(model)
    pieces, buffers = {piece.name: piece for piece in kept.pieces}, kept.buffers
    expected = {f"parameter/{name}": (piece.shape, piece.tensor.dtype) for name, piece in pieces.items()}
    expected |= {f"buffer/{name}": (value.shape, value.dtype) for name, value in buffers.items()}
    for name, (shape, dtype) in expected.items():
        if name not in saved.names:
            raise CheckpointError(f"{file} has no {name}, which the model needs; it belongs to another model.")
        if saved.shape(name) != shape or saved.rows(name, 0, 0).dtype != dtype:
            raise CheckpointError(
                f"{file}: {name} is {saved.shape(name)} {saved.rows(name, 0, 0).dtype}, "
                f"the model has {tuple(shape)} {dtype}; it belongs to another model."
            )
    for name in saved.names - expected.keys():
        kind, _, inner = name.partition("/")
        if kind not in _MOMENTS or inner not in pieces:
            raise CheckpointError(f"{file} holds {name}, which the model does not know; it belongs to another model.")
        if kind != "step" and saved.shape(name) != pieces[inner].shape:
            raise CheckpointError(f"{file}: {name} has shape {saved.shape(name)}, another than its parameter.")
    state = {}
    with torch.no_grad():
        for name, buffer in buffers.items():
            buffer.copy_(saved.rows(f"buffer/{name}"))
        for name, piece in pieces.items():
            rows = (piece.first, len(piece.tensor)) if piece.is_cut else ()
            piece.tensor.copy_(saved.rows(f"parameter/{name}", *rows))
            held = {kind: saved.rows(f"{kind}/{name}", *rows) for kind in _MOMENTS if f"{kind}/{name}" in saved.names}
            if held:  # fresh tensors, aligned as torch aligns them: kernels may round by alignment
                state[piece.tensor] = {
                    kind: torch.empty_like(value, device=piece.tensor.device).copy_(value)
                    for kind, value in held.items()
                }
    set_state(optimizer, state)


def check_identity(saved: JsonObject, current: JsonObject) -> None:
    """Refuse to go on with another recipe, store or tokenizer. Options that change no number may differ.

    Raises: ConfigError listing every difference.
    """
    current = json.loads(json.dumps(current))
    found = [
        (path, before, now)
        for path, before, now in difference(saved, current)
        if path.removeprefix("recipe.training.").removeprefix("options.") not in HARMLESS_OPTIONS
    ]
    if found:
        lines = "\n".join(f"  {path}: {_short(before)} -> {_short(now)}" for path, before, now in found[:20])
        more = f"\n  and {len(found) - 20} more" if len(found) > 20 else ""
        raise ConfigError(
            f"--resume goes on with the same run only, but {len(found)} value(s) differ from it:\n{lines}{more}\n"
            "Take the old values, or start a new run in another folder."
        )


def fingerprint_change(saved: JsonObject, current: JsonObject) -> str:
    """One line that says what will differ in the last bits, or "" where nothing does."""
    found = difference(dict(saved), dict(current))
    if not found:
        return ""
    said = ", ".join(f"{path} {before} -> {now}" for path, before, now in found)
    return f"Same samples, not the same bits: {said}."


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 60 else text[:57] + "..."
