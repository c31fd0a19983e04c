"""The toy model's run through the real loop, written through the package's own functions, and what came of it."""

import hashlib
import json
from pathlib import Path

import torch
from tests.training.toy import ToyModel, ToySource

from spanwise.interop.json_files import write_json
from spanwise.interop.tensor_files import write_safetensors
from spanwise.runtime.progress import RunLog, read_metrics
from spanwise.training.evaluate import evaluate_batches
from spanwise.training.loop import TIMING_FIELDS, train
from spanwise.training.parts import SavedTensors
from spanwise.training.plan import TrainingOptions

STEPS = 6
UNLIKE = {*TIMING_FIELDS, "flop_utilisation"}  # what the clock writes into the log


def train_toy(folder: Path, *, resume: bool = False, steps: int = STEPS, save_every: int = 2, **how) -> list[str]:
    """Train to the end; returns what the log said. A checkpoint every two steps, an evaluation every three."""
    model, source = ToyModel(d=8), how.pop("source", None) or ToySource()
    how.setdefault("prefetch_depth", 0)
    held_out, cpu = [ToySource().pack(10**6, 0)], torch.device("cpu")
    options = TrainingOptions(
        learning_rate=1e-2, max_steps=steps, log_every=1, save_every=save_every, eval_every=3,
        precision="fp32", threads=1,
    )  # fmt: skip

    def save(target: Path) -> None:
        write_json(target / "config.json", {"model_type": "toy"})
        write_safetensors(
            {name: p.detach().clone() for name, p in model.named_parameters()}, target / "model.safetensors"
        )

    said: list[str] = []
    log = RunLog(folder)
    log.say = said.append  # type: ignore[method-assign]
    train(
        model, source, options, folder, save_model=save, resume=resume, log=log,
        evaluate=lambda: evaluate_batches(model, held_out, device=cpu), **how,
    )  # fmt: skip
    return said


def saved_by(folder: Path, steps: int = STEPS) -> tuple[str, str]:
    """Hashes of the final weights, and of all tensors at the last step."""
    saved = SavedTensors(folder / "checkpoints" / f"step-{steps:09d}" / "training")
    tensors = b"".join(name.encode() + saved.rows(name).numpy().tobytes() for name in sorted(saved.names))
    weights = (folder / "final" / "model.safetensors").read_bytes()
    return hashlib.sha256(weights).hexdigest(), hashlib.sha256(tensors).hexdigest()


def result_of(folder: Path, steps: int = STEPS) -> tuple[str, str, str]:
    """What `saved_by` gives, and a hash of the log without its clock times."""
    lines = [
        {name: value for name, value in record.items() if name not in UNLIKE}
        for record in read_metrics(folder / "metrics.jsonl")
    ]
    return *saved_by(folder, steps), hashlib.sha256(json.dumps(lines).encode()).hexdigest()
