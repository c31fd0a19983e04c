"""Whether adapting helps a task: start and result learn the same labels, and the result is kept where it scores better.

The loss of hidden words falls on almost any text, also where an encoder loses what a task needs of it: a model without
a head for such words was made for something else, and the loss can't tell what becomes of that (records/adaptation).
Labels can. Each seed draws another order and another fresh head, the same for both sides but for the layer that the
masked LM of each side may give it (tasks/heads.py); a head that the start has of its task goes on. The interval is over
seeds alone: that the dev labels are few, or the adaptation was lucky, is not in.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from spanwise.errors import CheckpointError, ConfigError
from spanwise.runtime.disk import DISK
from spanwise.runtime.files import JsonObject, write_text_atomic
from spanwise.runtime.json_text import decode_json
from spanwise.runtime.progress import RunLog
from spanwise.tasks.evaluate import evaluate
from spanwise.tasks.files.guess import read_data
from spanwise.tasks.registry import task_recipe
from spanwise.tasks.run import finetune
from spanwise.tasks.training_files import hash_file
from spanwise.training.statistics import paired_difference

FOLDER = "proof"
UNPROVEN = "unproven"  # the adapted weights, where the start is kept
NUM_SEEDS = 5


@dataclass(frozen=True, kw_only=True)
class Labels:
    """Labelled files of a person's task. Raises: ConfigError for a task that is not known, DataError for files that the
    task can't read."""

    task: str
    train: Path
    dev: Path

    def __post_init__(self) -> None:
        task = task_recipe(self.task).task
        read_data(self.task, task, self.train, purpose="train")
        read_data(self.task, task, self.dev, purpose="score")

    def record(self) -> dict[str, str]:
        """Return what tells them from other labels."""
        return {"task": self.task, "train": hash_file(self.train), "dev": hash_file(self.dev)}


@dataclass(frozen=True, kw_only=True)
class Proof:
    """Scores on the dev labels, one of each seed, and by how much the adapted model is better, paired over seeds."""

    task: str
    score: str
    start: list[float]
    adapted: list[float]
    gain: float
    low: float  # its 95 % interval
    high: float

    @property
    def is_won(self) -> bool:
        """Whether the gain is more than seeds differ by."""
        return self.low > 0

    @classmethod
    def read(cls, folder: Path) -> Proof | None:
        """Return what `prove` left in a folder; None where it has not ended. Raises: CheckpointError."""
        path = folder / "proof.json"
        return cls(**_read(path)) if path.exists() else None


def prove(
    start: str | Path,
    adapted: Path,
    labels: Labels,
    out: Path,
    log: RunLog,
    *,
    device: str | None,
    resume_command: str,
    allow_edited: bool,
) -> Proof:
    """Teach both models the labels with every seed, as `spanwise finetune` does by default, and compare.

    `out` keeps each score once it is there, so a call that was stopped goes on. Raises: ConfigError where `out` holds
    the scores of other labels; and as `finetune`.
    """
    _claim(out, labels)
    found: dict[str, list[float]] = {"start": [], "adapted": []}
    log.say(f"Proof: {2 * NUM_SEEDS} models learn {labels.task} from {labels.train}.")
    for seed in range(NUM_SEEDS):
        for side, model in (("start", start), ("adapted", adapted)):
            path, work = out / f"{side}-seed-{seed}.json", out / f"{side}-seed-{seed}"
            if not path.exists():
                result = finetune(
                    labels.task,
                    model=model,
                    train=labels.train,
                    out=work,
                    overrides=[f"training.seed={seed}"],
                    resume=True,
                    allow_edited=allow_edited,
                    device=device,
                    log=RunLog(work, stream=None),
                    resume_command=resume_command,
                )
                scores = evaluate(labels.task, model=result.final, data=labels.dev, device=device).scores
                name = result.task.main_score
                value = scores[name]
                assert isinstance(value, (int, float))  # what decides between models is a number
                write_text_atomic(path, json.dumps({"score": name, "value": float(value)}) + "\n")
            if work.exists():
                DISK.remove_tree(work)
            record = _read(path)
            score = record["score"]
            found[side].append(record["value"])
        log.say(f"Seed {seed}: {score} of the start {found['start'][-1]:.1f}, adapted {found['adapted'][-1]:.1f}.")
    both = paired_difference(np.array(found["adapted"]), np.array(found["start"]), np.arange(NUM_SEEDS))
    proof = Proof(task=labels.task, score=score, **found, gain=both.value, low=both.low, high=both.high)
    write_text_atomic(out / "proof.json", json.dumps(asdict(proof)) + "\n")
    return proof


def _claim(out: Path, labels: Labels) -> None:
    """Make the folder of the scores, or check that those in it are of these labels."""
    path, record = out / "labels.json", labels.record()
    if path.exists() and _read(path) == record:
        return
    if any(out.glob("*-seed-*.json")):
        raise ConfigError(f"{out} has scores by other labels; take those, or adapt again in another folder.")
    if out.exists():
        DISK.remove_tree(out)
    DISK.make_folders(out)
    write_text_atomic(path, json.dumps(record) + "\n")


def _read(path: Path) -> JsonObject:
    try:
        return dict(decode_json(path.read_bytes()))
    except (OSError, ValueError, TypeError) as cause:
        raise CheckpointError(f"{path} is damaged; remove the folder {path.parent} and prove again.") from cause
