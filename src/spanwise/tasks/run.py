"""Labelled files in, run folder out: fine-tuning, whatever the task, in three steps: prepare, train, finish.

A fine-tuning run leaves behind: recipe.json (what was run on what), plan.jsonl, metrics.jsonl, checkpoints/, final/
(the model with its heads, tokenizer and the task's record) and, with dev data, dev_scores.json and
dev_predictions*.json.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from torch import Tensor

from spanwise.config import override, to_record
from spanwise.interop.checkpoint import Checkpoint
from spanwise.interop.huggingface import read_folder
from spanwise.interop.record import descriptions_of_heads
from spanwise.nn.flops import training_flops_per_token
from spanwise.runtime.files import atomic_folder, refuse_edited, write_text_atomic
from spanwise.runtime.progress import RunLog
from spanwise.tasks.base import Scores, Task, as_json
from spanwise.tasks.batches import EpochBatches, Features
from spanwise.tasks.build import Heads, build_model, take_weights
from spanwise.tasks.checkpoint import open_tokenizer, save_task_model
from spanwise.tasks.dev_scores import BEST, DevScorer, check_best, check_dev_options, put_best_in_place
from spanwise.tasks.evaluate import EvaluationResult, evaluate, evaluate_each, predict, write_predictions
from spanwise.tasks.files.guess import read_data
from spanwise.tasks.files.text import OnError
from spanwise.tasks.free_pieces import with_pieces
from spanwise.tasks.language_loss import LANGUAGE
from spanwise.tasks.model import TaskModel
from spanwise.tasks.recipe import FinetuningRecipe
from spanwise.tasks.registry import task_recipe
from spanwise.text.tokenizers import Tokenizer
from spanwise.training.loop import TrainingResult
from spanwise.training.loop import train as run_training
from spanwise.training.plan import with_one_length
from spanwise.training.run_folder import RunFolder, claim_run_folder

__all__ = ["EvaluationResult", "FinetuningResult", "evaluate", "evaluate_each", "finetune", "predict"]


@dataclass(frozen=True, kw_only=True)
class FinetuningResult:
    """How a run ended: `scores` on dev data (empty without), the folder of the model, the task with what was tuned."""

    scores: Scores
    final: Path
    task: Task
    training: TrainingResult


@dataclass(frozen=True, kw_only=True)
class _Asked:
    """The request for a run: the task by name, the model, and the labelled files."""

    task: str
    model: str | Path
    train: Path
    dev: Path | None
    errors: OnError
    reset_weights: bool
    allow_edited: bool

    def record(self) -> dict[str, str | None]:
        """Return what recipe.json and spanwise.json say of it."""
        dev = None if self.dev is None else str(self.dev)
        return {"task": self.task, "model": str(self.model), "train": str(self.train), "dev": dev}


@dataclass(frozen=True, kw_only=True)
class _Run:
    """A fine-tuning run that is ready to train."""

    asked: _Asked
    recipe: FinetuningRecipe
    folder: RunFolder
    log: RunLog
    checkpoint: Checkpoint
    tokenizer: Tokenizer
    model: TaskModel
    features: Features
    dev: DevScorer | None
    kept_heads: Heads
    identity: dict[str, object]  # what a run that goes on must share with the one that was begun


def finetune(
    task_name: str,
    *,
    model: str | Path,
    train: str | Path,
    out: str | Path,
    dev: str | Path | None = None,
    tokenizer: str | Path | Tokenizer | None = None,
    recipe: FinetuningRecipe | str | None = None,
    overrides: Sequence[str] = (),
    reset_weights: bool = False,
    resume: bool = False,
    allow_edited: bool = False,
    errors: OnError = "strict",
    device: str | None = None,
    log: RunLog | None = None,
    resume_command: str = "",
) -> FinetuningResult:
    """Fine-tune the encoder of a model folder (or hub id) on labelled data and commit `out/final`.

    `task_name` is one of the package's tasks, or `file.py:function` for a task of one's own. `recipe` (a value, or the
    name of one of the task's; None: its first) is changed by `overrides` such as `"training.learning_rate=3e-5"`; a
    length among them (`training.max_steps`, ...) takes the place of the recipe's.
    With `dev` the model is scored on it and what can be tuned on it (the null threshold) is stored with the model.
    `reset_weights` starts from random weights of the same shape: the control that says what pre-training is worth. A
    head of the task that the folder already has is trained on where it has the shape asked for; else it starts fresh.
    A folder whose files differ from its manifest is refused, unless `allow_edited`; then the log says which.
    Raises: DataError, ConfigError, CheckpointError, FolderInUseError, NumericsError, InterruptedAndSaved.
    """
    named = task_recipe(task_name, recipe) if recipe is None or isinstance(recipe, str) else recipe
    plan: FinetuningRecipe = override(named, with_one_length(overrides))
    check_dev_options(plan, has_dev=dev is not None)
    asked = _Asked(
        task=task_name,
        model=model,
        train=Path(train),
        dev=None if dev is None else Path(dev),
        errors=errors,
        reset_weights=reset_weights,
        allow_edited=allow_edited,
    )
    with claim_run_folder(out, resume=resume) as folder, log or RunLog(out) as log:
        was_finished = folder.state == "finished"
        if resume and plan.select == "best":
            check_best(folder.path)
        run = _prepare(asked, plan, folder, log, tokenizer)
        training = _train(run, resume=resume, device=device, resume_command=resume_command)
        return _finish(run, training, was_finished=was_finished)


def _prepare(
    asked: _Asked,
    recipe: FinetuningRecipe,
    folder: RunFolder,
    log: RunLog,
    tokenizer: str | Path | Tokenizer | None,
) -> _Run:
    """Read the files, build the model, and say what a person should know before training."""
    checkpoint = read_folder(asked.model)
    refuse_edited(checkpoint.folder, is_allowed=asked.allow_edited, say=log.say)
    words = open_tokenizer(checkpoint, tokenizer)
    train_data = read_data(asked.task, recipe.task, asked.train, purpose="train", errors=asked.errors)
    task = recipe.task.taught_by(train_data)
    dev_data = None
    if asked.dev is not None:  # read as `evaluate` will: alone it may look like another kind (whole numbers, no entity)
        dev_data = read_data(asked.task, task, asked.dev, purpose="score", errors=asked.errors)
        task.check_pair(train_data, dev_data)
    task.check_encoder(checkpoint.config)
    checkpoint, words, added = with_pieces(checkpoint, words, task.pieces, recipe.training.seed)
    if added:
        names = ", ".join(added[:3]) + (", ..." if len(added) > 3 else "")
        log.say(f"{len(added)} pieces are added to the vocabulary, with fresh rows: {names}.")
    model, kept_heads = build_model(checkpoint, recipe, task, asked.reset_weights, log)
    features = task.featurize(train_data, words, model.encoder.config, training=True)
    for line in task.describe(train_data, features):
        log.say(line)
    scorer = None
    if dev_data is not None:
        scorer = DevScorer(model, dev_data, words, recipe.training.precision, recipe)
        for line in task.describe_dev(dev_data, scorer.features):
            log.say(line)
    identity = {
        "recipe": to_record(recipe),
        "model": _hash_tensors(checkpoint.tensors),
        "tokenizer": words.sha256,
        "train": _hash_file(asked.train),
        "dev": None if asked.dev is None else _hash_file(asked.dev),
        "reset_weights": asked.reset_weights,
    }
    return _Run(
        asked=asked,
        recipe=recipe,
        folder=folder,
        log=log,
        checkpoint=checkpoint,
        tokenizer=words,
        model=model,
        features=features,
        dev=scorer,
        kept_heads=kept_heads,
        identity=identity,
    )


def _train(run: _Run, *, resume: bool, device: str | None, resume_command: str) -> TrainingResult:
    """Run the one training loop on the task's examples."""
    recipe, scorer = run.recipe, run.dev

    def save_model(target: Path) -> None:
        _save(run, target)

    def save_best() -> None:
        with atomic_folder(run.folder.path / BEST, existing="replace") as temporary:
            _save(run, temporary)

    if scorer is not None:
        scorer.save_best = save_best
    if not run.folder.plan.exists():  # a refused resume must leave the first record
        write_text_atomic(run.folder.path / "recipe.json", as_json({**run.asked.record(), **run.identity}))
    return run_training(
        run.model,
        EpochBatches(
            run.features, batch_size=recipe.batch_size, pack_tokens=recipe.pack_tokens, seed=recipe.training.seed
        ),
        recipe.training,
        run.folder.path,
        save_model=save_model,
        evaluate=scorer,
        resume=resume,
        log=run.log,
        identity=run.identity,
        device=device,
        flops_per_token=_flops_per_token(run.model, run.features),
        resume_command=resume_command,
        stop_early=None if scorer is None else scorer.stop_early,
    )


def _save(run: _Run, target: Path) -> None:
    """Write the model folder as the run has it now; spanwise.json says where the model comes from."""
    if run.dev is not None:
        run.dev.ensure()
    save_task_model(
        target,
        run.model,
        run.tokenizer,
        other_heads=run.kept_heads,
        model_type=run.checkpoint.model_type,
        extra={
            **descriptions_of_heads(run.checkpoint.record),
            "finetuned": {name: value for name, value in run.asked.record().items() if value is not None},
            "dev_scores": {} if run.dev is None else run.dev.scores,
        },
    )


def _finish(run: _Run, training: TrainingResult, *, was_finished: bool) -> FinetuningResult:
    """Put the best weights in place where they are asked for, and write the scores and answers on dev data."""
    scorer, folder = run.dev, run.folder.path
    if scorer is not None and run.recipe.select == "best":
        moved = put_best_in_place(folder, training.final, was_finished=was_finished)
        if moved:
            run.log.say("The best weights on dev data are kept, not the last.")
        if moved or training.resumed_from is not None:
            take_weights(run.model, training.final)
            scorer.predictions = None
    scores: Scores = {}
    if scorer is not None:
        scorer.ensure()
        scores = scorer.scores
        write_text_atomic(folder / "dev_scores.json", as_json(scores))
        write_predictions(folder / "dev_predictions.json", run.model.task, scorer.predictions)
    return FinetuningResult(scores=scores, final=training.final, task=run.model.task, training=training)


def _flops_per_token(model: TaskModel, features: Features) -> float:
    config = model.encoder.config
    lengths = np.asarray(getattr(features, "sequence_lengths", features.lengths_W), dtype=np.float64)
    heads = [(1.0, config.vocab_size * config.hidden_size)] if LANGUAGE in model.loss_weights else []
    return training_flops_per_token(config, float((lengths**2).sum() / lengths.sum()), heads)


def _hash_file(path: Path) -> str:
    """Return the hash of a file's content, or of the names and contents of all files in a folder."""
    if not path.is_dir():
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    digest = hashlib.sha256()
    for part in sorted(part for part in path.rglob("*") if part.is_file()):
        digest.update(f"{part.relative_to(path).as_posix()} {_hash_file(part)}\n".encode())
    return digest.hexdigest()


def _hash_tensors(tensors: Mapping[str, Tensor]) -> str:
    digest = hashlib.sha256()
    for name in sorted(tensors):
        digest.update(name.encode())
        digest.update(tensors[name].numpy().tobytes())
    return digest.hexdigest()
