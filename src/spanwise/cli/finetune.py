"""`spanwise finetune`: a checkpoint and labelled data in, a run folder out."""

import sys
from pathlib import Path
from shlex import quote
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from spanwise.cli.changes import read_changes, resume_command
from spanwise.cli.console import print_json, print_table, say
from spanwise.cli.pretrain import training_record
from spanwise.cli.score import print_scores


def finetune(
    task: str,
    /,
    *,
    model: str,
    train: Path,
    out: Path,
    dev: Path | None = None,
    tokenizer: Path | None = None,
    recipe: str | None = None,
    seeds: int | None = None,
    reset_weights: bool = False,
    resume: bool = False,
    allow_edited: bool = False,
    config: Path | None = None,
    overrides: Annotated[list[str] | None, Parameter(name="--set")] = None,
    save_every: int | None = None,
    keep: int | None = None,
    errors: Literal["strict", "repair"] = "strict",
    device: str | None = None,
    tensorboard: bool = False,
    json: bool = False,
) -> None:
    """Fine-tune a checkpoint on a task; with --dev it is scored, and thresholds are tuned and stored with the model.

    Parameters
    ----------
    task
        qa, classification, multiple-choice, relation, tagging or coref.
    model
        Checkpoint folder or hub id.
    train
        Labelled data: for qa a SQuAD file, for classification a table of texts, ...
    out
        Run folder; the model will lie in OUT/final.
    dev
        Labelled data to score on.
    tokenizer
        Folder of the tokenizer. Default: the checkpoint's.
    recipe
        Which of the task's recipes; a wrong name is answered with those there are. Default: its first.
    seeds
        Run so many times, with the seeds 0, 1, ..., into OUT/seed-0, ...; mean and deviation of each score are told.
    reset_weights
        Start from random weights of the same shape: the control that says what pre-training is worth.
    resume
        Go on with the run in OUT.
    allow_edited
        Go on from --model even where its files differ from its manifest; the log names them.
    config
        YAML of changed values.
    overrides
        Change a value: path=value, for example training.learning_rate=3e-5. May be repeated.
    save_every
        Steps from one checkpoint to the next. Default: every 10 minutes (training.save_minutes).
    keep
        How many of the newest checkpoints are kept.
    errors
        What to do with malformed rows, and answers that do not stand at their offset: stop, or leave them out (answers:
        move them), counted.
    device
        cpu, cuda or cuda:1. Default: a GPU where there is one.
    tensorboard
        Write TensorBoard files too.
    json
        Print one JSON object at the end, progress to standard error.
    """
    from spanwise.runtime.progress import RunLog
    from spanwise.tasks.run import finetune as run_finetuning

    changes = read_changes(config, overrides, save_every=save_every, keep=keep)

    def make_log(folder: Path) -> RunLog:
        stream = sys.stderr if json else sys.stdout
        return RunLog(folder, stream=stream, tensorboard="on" if tensorboard else "off")

    asked: dict[str, Any] = {
        "model": model,
        "train": train,
        "dev": dev,
        "out": out,
        "tokenizer": tokenizer,
        "recipe": recipe,
        "reset_weights": reset_weights,
        "resume": resume,
        "allow_edited": allow_edited,
        "overrides": changes,
        "errors": errors,
        "device": device,
        "resume_command": resume_command(),
    }
    if seeds is not None:
        from spanwise.tasks.seeds import finetune_seeds

        several = finetune_seeds(task, seeds, **asked, make_log=make_log)
        if json:
            print_json({"scores": several.records(), "best": str(several.best)})
            return
        rows = [
            (name.replace("_", " "), f"{found.mean:.2f}", f"{found.deviation:.2f}")
            for name, found in several.scores.items()
        ]
        print_table(("score", f"mean of {seeds}", "deviation"), rows)
        say(f"Best model: {several.best}")
        return
    result = run_finetuning(task, **asked, log=make_log(out))
    if json:
        print_json({**training_record(result.training), "scores": result.scores})
        return
    if result.scores:
        print_scores(result.task, result.scores)
    say(f"Model: {result.final}")
    say(f"Next: spanwise predict {task} --model {quote(str(result.final))} --input FILE --output predictions.json")
