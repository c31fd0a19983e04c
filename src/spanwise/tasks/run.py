"""Labelled files in, run folder out: fine-tuning, whatever the task, in three steps: prepare, train, finish.

A fine-tuning run leaves behind: recipe.json (what was run on what), plan.jsonl, metrics.jsonl, checkpoints/, final/
(the model with its heads, tokenizer and the task's record) and, with dev data, dev_scores.json and
dev_predictions*.json.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from spanwise.config import override, to_record
from spanwise.errors import DataError
from spanwise.interop.checkpoint import Checkpoint
from spanwise.interop.combined.reading import tasks_left_out, with_task
from spanwise.interop.folder_plan import plan_folder
from spanwise.interop.grow import with_roles_for
from spanwise.interop.huggingface import read_folder
from spanwise.interop.record import descriptions_of_heads
from spanwise.interop.tensor_files import sha256_of_tensors
from spanwise.nn.config import EncoderConfig
from spanwise.nn.flops import training_flops_per_token
from spanwise.runtime.files import BEST_NAME, RECIPE_NAME, JsonObject, atomic_folder, refuse_edited, write_text_atomic
from spanwise.runtime.progress import RunLog
from spanwise.runtime.remote.fetch import fetch_lost_run
from spanwise.runtime.remote.upload import kept_elsewhere
from spanwise.tasks.base import Scores, Task, as_json
from spanwise.tasks.batches import EpochBatches, Features
from spanwise.tasks.build import build_model, take_weights
from spanwise.tasks.checkpoint import open_tokenizer, save_task_model, task_content
from spanwise.tasks.dev_scores import DevScorer, check_best, check_dev_options, put_best_in_place
from spanwise.tasks.evaluate import write_predictions
from spanwise.tasks.files.guess import read_data
from spanwise.tasks.files.text import OnError
from spanwise.tasks.free_pieces import with_pieces
from spanwise.tasks.language_loss import LANGUAGE
from spanwise.tasks.model import TaskModel
from spanwise.tasks.recipe import FinetuningRecipe
from spanwise.tasks.registry import task_recipe
from spanwise.tasks.teaching.further import going_on
from spanwise.tasks.teaching.replay import ReplayBatches, check_replay_share
from spanwise.tasks.teaching.settle import as_recorded, explained, with_epochs, with_rate_and_dropout
from spanwise.tasks.training_files import Files, TrainingFiles, hash_file
from spanwise.text.tokenizers import Tokenizer
from spanwise.training.loop import TrainingResult
from spanwise.training.loop import train as run_training
from spanwise.training.plan import with_one_length
from spanwise.training.run_folder import RunFolder, claim_run_folder
from spanwise.weights.learned_from import LEARNED_FROM, Learned, Origin, as_record, learned_by


@dataclass(frozen=True, kw_only=True)
class FinetuningResult:
    """How a run ended: `scores` on dev data (empty without), the folder of the model, the task with what was tuned, and
    the recipe with nothing left open."""

    scores: Scores
    final: Path
    task: Task
    training: TrainingResult
    recipe: FinetuningRecipe


@dataclass(frozen=True, kw_only=True)
class _Asked:
    """The request for a run: the task by name, the model, and the labelled files."""

    task: str
    model: str | Path
    train: TrainingFiles
    dev: Path | None
    errors: OnError
    reset_weights: bool
    from_base: bool
    allow_edited: bool
    replay: TrainingFiles | None = None

    def start(self, log: RunLog) -> Checkpoint:
        """Read the model to go on from: of a folder with several tasks the one of this task, if it is there."""
        checkpoint = read_folder(self.model)
        refuse_edited(checkpoint.folder, is_allowed=self.allow_edited, say=log.say)
        if self.task in checkpoint.tasks and not (self.from_base or self.reset_weights):
            log.say(f"{checkpoint.folder} has the task {self.task!r}: training goes on from its weights, not the base.")
            return with_task(checkpoint, self.task)
        if checkpoint.tasks:
            log.say(tasks_left_out(checkpoint))
        return checkpoint

    def record(self) -> dict[str, object]:
        """Return what recipe.json and spanwise.json say of it."""
        dev = None if self.dev is None else str(self.dev)
        replay = {} if self.replay is None else {"replay": self.replay.record()["train"]}
        return {"task": self.task, "model": str(self.model), **self.train.record(), **replay, "dev": dev}

    def learned(self, record: JsonObject, files: Sequence[Learned], again: Sequence[Learned]) -> list[JsonObject]:
        """Return what the model will have learned from: what its record says, unless it starts again, and the files.

        Files of replay (`again`) stand there once, as they were first listed: with their licence.
        """
        entries = [*([] if self.reset_weights else learned_by(record, str(self.model))), *files]
        listed = {(entry.file, entry.what, entry.count) for entry in entries}
        return as_record([*entries, *(one for one in again if (one.file, one.what, one.count) not in listed)])


def finetune(
    task_name: str,
    *,
    model: str | Path,
    train: Files,
    out: str | Path,
    not_from: Files = (),
    replay: Files = (),
    origins: Sequence[Origin] = (),
    dev: str | Path | None = None,
    tokenizer: str | Path | Tokenizer | None = None,
    recipe: FinetuningRecipe | str | None = None,
    overrides: Sequence[str] = (),
    reset_weights: bool = False,
    from_base: bool = False,
    resume: bool = False,
    allow_edited: bool = False,
    errors: OnError = "strict",
    device: str | None = None,
    log: RunLog | None = None,
    resume_command: str = "",
    upload: str | None = None,
) -> FinetuningResult:
    """Fine-tune the encoder of a model folder (or hub id) on labelled data and commit `out/final`.

    `task_name` is one of the package's tasks, or `file.py:function` for a task of one's own. `recipe` (a value, or the
    name of one of the task's; None: its first) is changed by `overrides` such as `"training.learning_rate=3e-5"`; a
    length among them (`training.max_steps`, ...) takes the place of the recipe's. Values that are `auto` then follow
    from the model and the number of examples (`tasks/teaching/rule.py`); the log says which and why.
    With `dev` the model is scored on it and what can be tuned on it (the null threshold) is stored with the model.
    Several files of `train` are learned from as one. Of question files `not_from` leaves out paragraphs that share
    eight words in a row with a paragraph of one of those (such as the test set); the log says how many. `origins` are
    licence and source of the files (one for all, or one for each), for the list of what the weights learned from.
    `reset_weights` starts from random weights of the same shape: the control that says what pre-training is worth. A
    head of the task that the folder already has is trained on where it shares a label with the data: labels that it
    lacks get fresh rows, and those of the recipe's `drop_labels` lose theirs; else it starts fresh. `replay` are files
    of old data, of which every epoch draws so many examples that they are the recipe's `replay_share` of it.
    Of a folder with several tasks (`spanwise combine`) training goes on from the weights of this task where it has
    them, unless `from_base`, else from the base; the log says which, and the result is a folder of this task alone.
    A folder whose files differ from its manifest is refused, unless `allow_edited`; then the log says which.
    `upload` is an address where checkpoints and model are kept too, as that of `pretraining.run.pretrain`.
    Raises: DataError, ConfigError, CheckpointError, FolderInUseError, NumericsError, InterruptedAndSaved.
    """
    named = task_recipe(task_name, recipe) if recipe is None or isinstance(recipe, str) else recipe
    plan: FinetuningRecipe = override(named, with_one_length(overrides))
    check_dev_options(plan, has_dev=dev is not None)
    check_replay_share(named.replay_share, plan.replay_share, has_replay=bool(replay))
    asked = _Asked(
        task=task_name,
        model=model,
        train=TrainingFiles.given(train, not_from, origins),
        dev=None if dev is None else Path(dev),
        errors=errors,
        reset_weights=reset_weights,
        from_base=from_base,
        allow_edited=allow_edited,
        replay=TrainingFiles.given(replay, not_from) if replay else None,
    )
    log = log or RunLog(out)
    fetch_lost_run(out, upload, resume=resume, say=log.say)
    with claim_run_folder(out, resume=resume) as folder, log, kept_elsewhere(out, upload, say=log.say):
        was_finished = folder.state == "finished"
        if resume and plan.select == "best":
            check_best(folder.path)
        if resume:
            plan = as_recorded(plan, folder.path / RECIPE_NAME)
        run = _Run(asked, plan, folder, log, tokenizer)
        training = run.train(resume=resume, device=device, resume_command=resume_command)
        return run.finish(training, was_finished=was_finished)


class _Run:
    """A fine-tuning run: made ready to train, trained, finished."""

    def __init__(
        self,
        asked: _Asked,
        recipe: FinetuningRecipe,
        folder: RunFolder,
        log: RunLog,
        tokenizer: str | Path | Tokenizer | None,
    ) -> None:
        """Read the files, build the model, and say what a person should know before training."""
        self.asked, self.folder, self.log = asked, folder, log
        checkpoint = asked.start(log)
        words = open_tokenizer(checkpoint, tokenizer)
        train_data, learned = asked.train.read(asked.task, recipe.task, asked.errors, log.say)
        whole = train_data
        self.old_data: object = None
        learned_again: list[Learned] = []
        if asked.replay is not None:
            self.old_data, learned_again = asked.replay.read(asked.task, recipe.task, asked.errors, log.say)
            whole = recipe.task.joined([train_data, self.old_data])
        is_fresh = recipe.fresh_head or asked.reset_weights
        asked_for = recipe.task.taught_by(whole).started_from(checkpoint)
        asked_for = asked_for.taught_from(checkpoint, is_fresh=is_fresh)
        further = going_on(asked_for, checkpoint, recipe.drop_labels, is_fresh=is_fresh)
        task = further.task
        dev_data = None
        if asked.dev is not None:  # read as `evaluate` will: alone it may look like another kind (whole numbers, ...)
            dev_data = read_data(asked.task, task, asked.dev, purpose="score", errors=asked.errors)
            _check_pair(task, train_data, whole, dev_data)
        task.check_encoder(checkpoint.config)
        seed = recipe.training.seed
        checkpoint, words, named = with_roles_for(checkpoint, words, task.roles, seed=seed)
        if named:
            log.say(f"The task writes {named}, which the vocabulary got for it.")
        self.checkpoint, self.tokenizer, added = with_pieces(checkpoint, words, task.pieces, seed)
        if added:
            names = ", ".join(added[:3]) + (", ..." if len(added) > 3 else "")
            log.say(f"{len(added)} pieces are added to the vocabulary, with fresh rows: {names}.")
        self.learned_before = asked.learned(checkpoint.record, [], [])
        self.learned = asked.learned(checkpoint.record, learned, learned_again)
        open_recipe, recipe = recipe, with_rate_and_dropout(recipe, checkpoint.config)
        built = build_model(self.checkpoint, recipe, further, asked.reset_weights, log)
        self.model, self.kept_heads, knows_task = built.model, built.kept_heads, built.knows_task
        self.untuned = self.model.task  # dev data change it
        content = task_content(
            self.model, self.tokenizer, other_heads=self.kept_heads, model_type=self.checkpoint.model_type
        )
        for note in plan_folder(folder.final, content).written.notes:  # told before hours are spent
            log.say(f"{folder.final}: {note}")
        self.features = task.featurize(train_data, self.tokenizer, self.model.encoder.config, training=True)
        self.batches = self._batches(recipe, log)
        num_examples = len(self.features) + getattr(self.batches, "num_old", 0)
        self.recipe = recipe = with_epochs(recipe, num_examples, knows_task=knows_task)
        if line := explained(open_recipe, recipe, checkpoint.config, num_examples, knows_task=knows_task):
            log.say(line)
        for line in [*task.describe(train_data, self.features), *_shortened(task, self.model.encoder.config)]:
            log.say(line)
        self.dev: DevScorer | None = None
        if dev_data is not None:
            precision = recipe.training.precision
            self.dev = DevScorer(self.model, dev_data, self.tokenizer, precision, recipe, knows_task)
            for line in task.describe_dev(dev_data, self.dev.features):
                log.say(line)
        self.identity = {  # what a run that goes on must share with the one that was begun
            "recipe": to_record(recipe),
            "model": sha256_of_tensors(self.checkpoint.tensors),
            "tokenizer": self.tokenizer.sha256,
            **asked.train.identity(),
            **({} if asked.replay is None else {"replay": asked.replay.identity()}),
            "dev": None if asked.dev is None else hash_file(asked.dev),
            "reset_weights": asked.reset_weights,
        }

    def _batches(self, recipe: FinetuningRecipe, log: RunLog) -> EpochBatches | ReplayBatches:
        """Return the steps on the new examples, with old ones among them where there are some."""
        size, pack_tokens, seed = recipe.batch_size, recipe.pack_tokens, recipe.training.seed
        if self.old_data is None:
            return EpochBatches(self.features, batch_size=size, pack_tokens=pack_tokens, seed=seed)
        task = self.model.task
        old = task.featurize(self.old_data, self.tokenizer, self.model.encoder.config, training=True)
        batches = ReplayBatches(
            self.features, old, share=recipe.replay_share, batch_size=size, pack_tokens=pack_tokens, seed=seed
        )
        log.say(f"{batches.num_old:,} of {len(old):,} old examples are drawn for each epoch (replay).")
        return batches

    def train(self, *, resume: bool, device: str | None, resume_command: str) -> TrainingResult:
        """Run the one training loop on the task's examples."""
        training, scorer, folder = self.recipe.training, self.dev, self.folder

        def save_best() -> None:
            with atomic_folder(folder.path / BEST_NAME, existing="replace") as temporary:
                self.save(temporary, has_learned=scorer is None or scorer.step > 0)

        if scorer is not None:
            scorer.save_best = save_best
        if not folder.plan.exists():  # a refused resume must leave the first record
            write_text_atomic(folder.path / RECIPE_NAME, as_json({**self.asked.record(), **self.identity}))
        return run_training(
            self.model,
            self.batches,
            training,
            folder.path,
            save_model=self.save,
            evaluate=scorer,
            resume=resume,
            log=self.log,
            identity=self.identity,
            device=device,
            flops_per_token=_flops_per_token(self.model, self.features),
            resume_command=resume_command,
            stop_early=None if scorer is None else scorer.stop_early,
        )

    def save(self, target: Path, *, has_learned: bool = True) -> None:
        """Write the model folder as the run has it now; spanwise.json says where the model comes from.

        has_learned: False before the first step. A checkpoint between two evaluations has no scores, nor thresholds:
        those there are belong to other weights.
        """
        model = self.model
        scores: Scores = {}
        step = _STEP.search(target.name)
        if self.dev is not None and step is not None and int(step[1]) != self.dev.step:
            model = TaskModel(self.untuned, model.encoder, model.head)
        elif self.dev is not None:
            self.dev.ensure()
            scores = self.dev.scores
        save_task_model(
            target,
            model,
            self.tokenizer,
            other_heads=self.kept_heads,
            model_type=self.checkpoint.model_type,
            extra={
                **descriptions_of_heads(self.checkpoint.record),
                "finetuned": {name: value for name, value in self.asked.record().items() if value is not None},
                LEARNED_FROM: self.learned if has_learned else self.learned_before,
                "dev_scores": scores,
            },
        )

    def finish(self, training: TrainingResult, *, was_finished: bool) -> FinetuningResult:
        """Put the best weights in place where they are asked for, and write the scores and answers on dev data."""
        scorer, folder = self.dev, self.folder.path
        if scorer is not None and self.recipe.select == "best":
            moved = put_best_in_place(folder, training.final, was_finished=was_finished)
            if moved:
                which = "" if scorer.memory.get("step", 1) else " were those before the first step; they"
                self.log.say(f"The best weights on dev data{which} are kept, not the last.")
            if moved or training.resumed_from is not None:
                take_weights(self.model, training.final)
                scorer.predictions = None
        scores: Scores = {}
        if scorer is not None:
            scorer.ensure()
            scores = scorer.scores
            write_text_atomic(folder / "dev_scores.json", as_json(scores))
            write_predictions(folder / "dev_predictions.json", self.model.task, scorer.predictions)
        return FinetuningResult(
            scores=scores, final=training.final, task=self.model.task, training=training, recipe=self.recipe
        )


_STEP = re.compile(r"step-(\d+)")  # in the name of a checkpoint, also while it is written under a hidden one


def _check_pair(task: Task, new: object, whole: object, dev: object) -> None:
    """Refuse dev data that belong neither to the training data nor to these and the data of replay together: they may
    watch what is new, or what must not be forgotten. Raises: DataError."""
    try:
        task.check_pair(new, dev)
    except DataError:
        task.check_pair(whole, dev)


def _shortened(task: Task, config: EncoderConfig) -> list[str]:
    """Return the sentence that the encoder has too few positions for the task's length; nothing where it has enough."""
    length = getattr(task, "max_length", None)
    if not isinstance(length, int) or length <= config.max_positions:
        return []
    return [
        f"task.max_length {length:,} is more than the encoder's {config.max_positions:,} positions; sequences have at "
        f"most {config.max_positions:,} tokens"
    ]


def _flops_per_token(model: TaskModel, features: Features) -> float:
    config = model.encoder.config
    lengths = np.asarray(getattr(features, "sequence_lengths", features.lengths_W), dtype=np.float64)
    heads = [(1.0, config.vocab_size * config.hidden_size)] if LANGUAGE in model.loss_weights else []
    return training_flops_per_token(config, float((lengths**2).sum() / lengths.sum()), heads)
