"""Labelled files in, run folder out: fine-tune, evaluate and predict, whatever the task.

A fine-tuning run leaves behind: recipe.json (what was run on what), plan.jsonl, metrics.jsonl, checkpoints/, final/
(the model with its heads, tokenizer and the task's record) and, with dev data, dev_scores.json and
dev_predictions*.json.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor

from spanwise.config import override, to_record
from spanwise.errors import ConfigError
from spanwise.interop.checkpoint import Checkpoint, build_encoder, build_head, fill, warn_of_misfits
from spanwise.interop.huggingface import read_folder
from spanwise.interop.record import descriptions_of_heads
from spanwise.interop.token_types import second_token_type
from spanwise.nn.config import EncoderConfig
from spanwise.nn.encoder import Encoder
from spanwise.nn.flops import training_flops_per_token
from spanwise.nn.init import initialize
from spanwise.runtime.device import Precision
from spanwise.runtime.files import atomic_folder, refuse_edited, write_text_atomic
from spanwise.runtime.progress import RunLog
from spanwise.tasks.base import AlsoLanguage, ChecksEncoder, DescribesDev, Features, NeedsPieces, Task
from spanwise.tasks.batches import EpochBatches
from spanwise.tasks.checkpoint import load_task_model, open_tokenizer, save_task_model, stored_task, with_overflow
from spanwise.tasks.dev_scores import BEST, DevScorer, check_best, check_dev_options, put_best_in_place
from spanwise.tasks.free_pieces import with_pieces
from spanwise.tasks.guess import read_data
from spanwise.tasks.heads import misfit, new_head, with_pooler
from spanwise.tasks.model import TaskModel
from spanwise.tasks.recipe import FinetuningRecipe
from spanwise.tasks.registry import task_recipe
from spanwise.text.tokenizers import Tokenizer
from spanwise.training.loop import TrainingResult
from spanwise.training.loop import train as run_training
from spanwise.training.plan import with_one_length
from spanwise.training.run_folder import claim_run_folder

logger = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class FinetuningResult:
    """How a run ended: `scores` on dev data (empty without), the folder of the model, the task with what was tuned."""

    scores: dict[str, Any]
    final: Path
    task: Any
    training: TrainingResult


@dataclass(frozen=True, kw_only=True)
class EvaluationResult:
    """Scores from 0 to 100, and the predictions they belong to."""

    scores: dict[str, Any]
    predictions: Any
    task: Any


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
    errors: str = "strict",
    device: str | None = None,
    log: RunLog | None = None,
    resume_command: str = "",
) -> FinetuningResult:
    """Fine-tune the encoder of a model folder (or hub id) on labelled data and commit `out/final`.

    `recipe` (a value, or the name of one of the task's; None: its first) is changed by `overrides` such as
    `"training.learning_rate=3e-5"`; a length among them (`training.max_steps`, ...) takes the place of the recipe's.
    With `dev` the model is scored on it and what can be tuned on it (the null threshold) is stored with the model.
    `reset_weights` starts from random weights of the same shape: the control that says what pre-training is worth. A
    head of the task that the folder already has is trained on where it has the shape asked for; else it starts fresh.
    A folder whose files differ from its manifest is refused, unless `allow_edited`; then the log says which.
    Raises: DataError, ConfigError, CheckpointError, FolderInUseError, NumericsError, InterruptedAndSaved.
    """
    named = task_recipe(task_name, recipe) if recipe is None or isinstance(recipe, str) else recipe
    plan: FinetuningRecipe = override(named, with_one_length(overrides))
    task = plan.task
    check_dev_options(plan, has_dev=dev is not None)
    with claim_run_folder(out, resume=resume) as folder, log or RunLog(out) as log:
        was_finished = folder.state == "finished"
        if resume and plan.select == "best":
            check_best(folder.path)
        checkpoint = read_folder(model)
        refuse_edited(checkpoint.folder, is_allowed=allow_edited, say=log.say)
        words = open_tokenizer(checkpoint, tokenizer)
        train_data = read_data(task_name, task, train, purpose="train", errors=errors)
        task = task.taught_by(train_data)
        dev_data = None
        if dev is not None:  # read as `evaluate` will: alone it may look like another kind (whole numbers, no entity)
            dev_data = read_data(task_name, task, dev, purpose="score", errors=errors)
            task.check_pair(train_data, dev_data)
        if isinstance(task, ChecksEncoder):
            task.check_encoder(checkpoint.config)
        if isinstance(task, NeedsPieces):
            checkpoint, words, added = with_pieces(checkpoint, words, task.pieces, plan.training.seed)
            if added:
                names = ", ".join(added[:3]) + (", ..." if len(added) > 3 else "")
                log.say(f"{len(added)} pieces are added to the vocabulary, with fresh rows: {names}.")
        built, kept_heads = _build(checkpoint, plan, task, reset_weights, log)
        config = built.encoder.config
        features = built.task.featurize(train_data, words, config, training=True)
        for line in built.task.describe(train_data, features):
            log.say(line)
        dev_scorer = None
        if dev_data is not None:
            dev_scorer = DevScorer(built, dev_data, words, plan.training.precision, plan)
            if isinstance(built.task, DescribesDev):
                for line in built.task.describe_dev(dev_data, dev_scorer.features):
                    log.say(line)
        source = EpochBatches(
            features, batch_size=plan.batch_size, pack_tokens=plan.pack_tokens, seed=plan.training.seed
        )
        identity = {
            "recipe": to_record(plan),
            "model": _hash_tensors(checkpoint.tensors),
            "tokenizer": words.sha256,
            "train": _hash_file(train),
            "dev": None if dev is None else _hash_file(dev),
            "reset_weights": reset_weights,
        }
        asked = {"task": task_name, "model": str(model), "train": str(train), "dev": None if dev is None else str(dev)}
        if not folder.plan.exists():  # a refused resume must leave the first record
            write_text_atomic(folder.path / "recipe.json", _json({**asked, **identity}))

        def save_model(target: Path) -> None:
            if dev_scorer is not None:
                dev_scorer.ensure()
            save_task_model(
                target,
                built,
                words,
                other_heads=kept_heads,
                model_type=checkpoint.model_type,
                extra={**descriptions_of_heads(checkpoint.record), **_provenance(asked, dev_scorer)},
            )

        def save_best() -> None:
            with atomic_folder(folder.path / BEST, existing="replace") as temporary:
                save_model(temporary)

        if dev_scorer is not None:
            dev_scorer.save_best = save_best
        training = run_training(
            built,
            source,
            plan.training,
            out,
            save_model=save_model,
            evaluate=None if dev_scorer is None else dev_scorer,
            resume=resume,
            log=log,
            identity=identity,
            device=device,
            flops_per_token=_flops_per_token(config, features, "lm" in built.loss_weights),
            resume_command=resume_command,
            stop_early=None if dev_scorer is None else dev_scorer.stop_early,
        )
        if dev_scorer is not None and plan.select == "best":
            moved = put_best_in_place(folder.path, training.final, was_finished=was_finished)
            if moved:
                log.say("The best weights on dev data are kept, not the last.")
            if moved or training.resumed_from is not None:
                _take_weights(built, training.final)
                dev_scorer.predictions = None
        scores: dict[str, Any] = {}
        if dev_scorer is not None:
            dev_scorer.ensure()
            scores = dev_scorer.scores
            write_text_atomic(folder.path / "dev_scores.json", _json(scores))
            _write_predictions(folder.path / "dev_predictions.json", built.task, dev_scorer.predictions)
    return FinetuningResult(scores=scores, final=training.final, task=built.task, training=training)


def evaluate(
    task_name: str,
    *,
    model: str | Path,
    data: str | Path,
    out: str | Path | None = None,
    tokenizer: str | Path | Tokenizer | None = None,
    device: str | None = None,
    precision: Precision = "auto",
    on_overflow: str | None = None,
    errors: str = "strict",
) -> EvaluationResult:
    """Score a fine-tuned model on labelled data, with the threshold stored in it; `out` receives the scores as JSON.

    on_overflow: what is done with examples longer than the model reads, where the task has a choice ("error" refuses
    them); None: as it was fine-tuned. errors: "repair" leaves malformed rows out and counts them.
    Raises: DataError, CheckpointError (a model without a head for the task), ConfigError.
    """
    asked = {
        "tokenizer": tokenizer,
        "device": device,
        "precision": precision,
        "on_overflow": on_overflow,
        "errors": errors,
    }
    (result,) = evaluate_each(task_name, model=model, data=[data], **asked).values()  # type: ignore[arg-type]
    if out is not None:
        _write_json(Path(out), result.scores)
    return result


def evaluate_each(
    task_name: str,
    *,
    model: str | Path,
    data: Sequence[str | Path],
    out: str | Path | None = None,
    tokenizer: str | Path | Tokenizer | None = None,
    device: str | None = None,
    precision: Precision = "auto",
    on_overflow: str | None = None,
    errors: str = "strict",
) -> dict[str, EvaluationResult]:
    """`evaluate` on several files with one model, such as MNLI's matched and mismatched pairs: a result a file.

    A file is called by its name without suffixes (`dev_matched`), or by its path where two have the same. `out`
    receives the scores of all as one JSON object.
    Raises: as `evaluate`; ConfigError where a file is named twice.
    """
    loaded = load_task_model(model, task_name, tokenizer=tokenizer, device=device, precision=precision)
    loaded = with_overflow(loaded, on_overflow)
    results = {}
    for name, path in zip(_names_of(data), data, strict=True):
        labelled = read_data(task_name, loaded.task, path, purpose="score", errors=errors)
        predictions = _predict(loaded.model, labelled, loaded.tokenizer, precision)
        scores = loaded.task.score(labelled, predictions)
        num_dropped = getattr(labelled, "num_dropped", 0)
        if num_dropped:
            logger.warning("%s: %s rows are left out: malformed, or without a label.", path, f"{num_dropped:,}")
        results[name] = EvaluationResult(scores=scores, predictions=predictions, task=loaded.task)
    if out is not None:
        _write_json(Path(out), {name: result.scores for name, result in results.items()})
    return results


def predict(
    task_name: str,
    *,
    model: str | Path,
    input: str | Path,
    output: str | Path,
    tokenizer: str | Path | Tokenizer | None = None,
    device: str | None = None,
    precision: Precision = "auto",
    on_overflow: str | None = None,
) -> list[Path]:
    """Answer unlabelled data; returns the files written: `output`, and what else the task gives beside it.

    For "qa": question id to answer text in `output`, n-best lists in `*.nbest.json`, null odds in `*.null_odds.json`.
    Raises: DataError, CheckpointError (a model without a head for the task), ConfigError.
    """
    loaded = load_task_model(model, task_name, tokenizer=tokenizer, device=device, precision=precision)
    loaded = with_overflow(loaded, on_overflow)
    unlabelled = read_data(task_name, loaded.task, input, purpose="predict")
    predictions = _predict(loaded.model, unlabelled, loaded.tokenizer, precision)
    return _write_predictions(Path(output), loaded.task, predictions)


def _build(
    checkpoint: Checkpoint, recipe: FinetuningRecipe, task: Task, reset_weights: bool, log: RunLog
) -> tuple[TaskModel, dict[str, dict[str, Tensor]]]:
    """The model to train, and the heads of earlier training that are kept beside it."""
    seed = recipe.training.seed
    config = checkpoint.config
    rates = {name: getattr(recipe, name) for name in ("hidden_dropout", "attention_dropout")}
    config = dataclasses.replace(config, **{name: rate for name, rate in rates.items() if rate is not None})
    if recipe.second_token_type != "as_is" and not reset_weights:
        checkpoint = second_token_type(checkpoint, recipe.second_token_type)
    encoder = build_encoder(checkpoint, with_pooler(config, checkpoint, task), seed)
    is_there = task.head_name in checkpoint.heads and not reset_weights
    why_not = misfit(checkpoint, task, encoder) if is_there else None
    head = build_head(checkpoint, task.head_name, encoder) if is_there and why_not is None else None
    if reset_weights:
        initialize(encoder, encoder.config, seed, prefix="encoder")
        log.say("Weights reset: the encoder starts from random weights of the same shape.")
    else:
        log.say(f"Going on from {checkpoint.folder}: {checkpoint.report}.")
        if not log.is_shown:
            warn_of_misfits(checkpoint)
    if head is None:
        head = new_head(checkpoint, task, encoder, seed)
        log.say(f"The head {task.head_name!r} starts fresh{f': {why_not}' if why_not else ''}.")
    else:
        log.say(f"The model already has a head {task.head_name!r}; training goes on from it.")
    _freeze(encoder, recipe.frozen_layers)
    labelled = {name for name in checkpoint.heads if checkpoint.is_labelled(name)}
    kept = {name: tensors for name, tensors in checkpoint.heads.items() if name not in labelled and not reset_weights}
    replaced = sorted(labelled - {task.head_name})
    if replaced:
        log.say(
            f"The head {', '.join(map(repr, replaced))} of earlier fine-tuning is left out: its encoder is trained on."
        )
    if isinstance(task, AlsoLanguage) and task.lm_weight:
        kept["clm"] = {}  # the word table, which learns to guess the next token
    return TaskModel(task, encoder, head), kept


def _freeze(encoder: Encoder, num_layers: int) -> None:
    """Keep the embeddings and the lowest layers as they are. Raises: ConfigError where there are fewer layers."""
    if num_layers > len(encoder.layers):
        raise ConfigError(f"frozen_layers {num_layers} is more than the encoder's {len(encoder.layers)} layers.")
    for part in [encoder.embeddings, *encoder.layers[:num_layers]] if num_layers else []:
        part.requires_grad_(False)


def _take_weights(model: TaskModel, folder: Path) -> None:
    """Give the model the weights and the task of a folder that it was saved to."""
    kept = read_folder(folder)
    fill(model.encoder, kept.tensors, f"the encoder of {folder}")
    fill(model.head, kept.heads[model.task.head_name], f"the head of {folder}")
    model.task = stored_task(kept, model.task)


def _predict(model: TaskModel, data: Any, tokenizer: Tokenizer, precision: Precision) -> Any:
    features = model.task.featurize(data, tokenizer, model.encoder.config, training=False)
    dropped_W = getattr(features, "num_dropped_W", getattr(features, "num_dropped_Q", None))
    if dropped_W is not None and dropped_W.any():
        logger.warning(
            "%s of %s examples are longer than the model reads; %s tokens were dropped (--on-overflow error refuses).",
            *(f"{number:,}" for number in (int((dropped_W > 0).sum()), len(dropped_W), int(dropped_W.sum()))),
        )
    return model.task.decode(data, features, model.outputs(features, precision=precision))


def _write_predictions(output: Path, task: Any, predictions: Any) -> list[Path]:
    if output.is_dir():
        raise ConfigError(f"{output} is a folder; name the file to write, such as {output / 'predictions.json'}.")
    output.parent.mkdir(parents=True, exist_ok=True)
    contents = dict(task.prediction_files(predictions))
    paths = {name: _beside(output, name) for name in contents}
    if "" not in contents and output not in paths.values():
        paths[next(iter(contents))] = output  # no content has this suffix: the first is what was asked for
    for name, path in paths.items():
        content = contents[name]
        write_text_atomic(path, content if isinstance(content, str) else _json(content))
    return sorted(paths.values(), key=lambda path: path != output)


def _beside(output: Path, name: str) -> Path:
    """The file for what the task calls `name`: "" the output, ".x" one of this suffix, "x" one with it in its name."""
    if name.startswith("."):
        return output.with_suffix(name)
    return output.with_name(f"{output.stem}.{name}{output.suffix}") if name else output


def _provenance(asked: Mapping[str, Any], dev_scorer: DevScorer | None) -> dict[str, Any]:
    """What spanwise.json says about where the model comes from."""
    scores = {} if dev_scorer is None else dev_scorer.scores
    return {"finetuned": {name: value for name, value in asked.items() if value is not None}, "dev_scores": scores}


def _flops_per_token(config: EncoderConfig, features: Features, guesses_tokens: bool) -> float:
    lengths = np.asarray(getattr(features, "sequence_lengths", features.lengths_W), dtype=np.float64)
    heads = [(1.0, config.vocab_size * config.hidden_size)] if guesses_tokens else []
    return training_flops_per_token(config, float((lengths**2).sum() / lengths.sum()), heads)


def _hash_file(path: str | Path) -> str:
    """Of a file its content; of a folder the names and contents of all files in it."""
    if not Path(path).is_dir():
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    digest = hashlib.sha256()
    for part in sorted(part for part in Path(path).rglob("*") if part.is_file()):
        digest.update(f"{part.relative_to(path).as_posix()} {_hash_file(part)}\n".encode())
    return digest.hexdigest()


def _hash_tensors(tensors: Mapping[str, Tensor]) -> str:
    digest = hashlib.sha256()
    for name in sorted(tensors):
        digest.update(name.encode())
        digest.update(tensors[name].numpy().tobytes())
    return digest.hexdigest()


def _names_of(paths: Sequence[str | Path]) -> list[str]:
    plain = [Path(path).with_suffix("") if Path(path).suffix in (".gz", ".xz") else Path(path) for path in paths]
    names = [path.stem for path in plain]
    counts = Counter(names)
    found = [name if counts[name] == 1 else str(path) for name, path in zip(names, paths, strict=True)]
    if len(set(found)) < len(found):
        raise ConfigError(f"a file of data is named twice: {', '.join(found)}.")
    return found


def _write_json(path: Path, value: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text_atomic(path, _json(value))


def _json(value: Any) -> str:
    return json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
