"""`spanwise finetune`: a checkpoint and labelled data in, a run folder out."""

import json
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from spanwise.cli.console import print_json, print_table, say
from spanwise.cli.options.origin import NO_ORIGIN, OriginOptions
from spanwise.cli.options.ranges import FewOrNone
from spanwise.cli.options.run import USUAL_RUN, RunOptions
from spanwise.cli.pretrain import training_record
from spanwise.cli.score import print_scores
from spanwise.errors import ConfigError

if TYPE_CHECKING:
    from spanwise.tasks.run import FinetuningResult
    from spanwise.tasks.seeds import SeedsResult


def finetune(
    task: str,
    /,
    *,
    model: str,
    train: Annotated[list[Path], Parameter(consume_multiple=True)],
    out: Path,
    not_from: Annotated[list[Path] | None, Parameter(consume_multiple=True)] = None,
    replay: Annotated[list[Path] | None, Parameter(consume_multiple=True)] = None,
    drop_label: list[str] | None = None,
    dev: Path | None = None,
    tokenizer: Path | None = None,
    recipe: str | None = None,
    seeds: FewOrNone = None,
    reset_weights: bool = False,
    from_base: bool = False,
    errors: Literal["strict", "repair"] = "strict",
    upload: str | None = None,
    origin: OriginOptions = NO_ORIGIN,
    run: RunOptions = USUAL_RUN,
) -> None:
    """Fine-tune a checkpoint on a task; with --dev it is scored, and thresholds are tuned and stored with the model.

    Parameters
    ----------
    task
        qa, classification, multiple-choice, relation, tagging, coref, or my_task.py:my_task.
    model
        Checkpoint folder or hub id.
    train
        Labelled data: for qa a SQuAD file, for classification a table of texts, ... Several files are read as one.
    out
        Run folder; the model will lie in OUT/final.
    not_from
        Question files (qa): training paragraphs that share eight words in a row with one of theirs are left out. May be
        repeated.
    replay
        Labelled data that the model learned from before: a fifth of every epoch is drawn from it (--set replay_share).
    drop_label
        A label that the model's head has and is to lose. May be repeated. Labels that it lacks are added by themselves.
    dev
        Labelled data to score on.
    tokenizer
        Folder or hub id of the tokenizer. Default: the checkpoint's.
    recipe
        One of spanwise show recipe TASK. Default: the first; its rate, epochs and dropout follow model and examples.
    seeds
        Run so many times, with the seeds 0, 1, ..., into OUT/seed-0, ...; prints mean and deviation of each score.
    reset_weights
        Start from random weights of the same shape: the control that says what pre-training is worth.
    from_base
        Start from the base of a folder with several tasks, also where it has weights of this one.
    errors
        What to do with malformed rows, and answers that do not stand at their offset: stop, or leave them out (answers:
        move them), counted.
    upload
        An address (s3://bucket/run, gs://, hdfs://, file://) where checkpoints and model are kept too. With --resume a
        run that is not in OUT is fetched from there. Training never waits; status 1 where the model did not arrive.
    """
    asked = {
        "model": model, "train": train, "not_from": not_from or (), "replay": replay or (), "dev": dev, "out": out,
        "tokenizer": tokenizer, "recipe": recipe, "reset_weights": reset_weights,
        "from_base": from_base, "errors": errors,
        "origins": origin.origins(), **run.training(out),
    }  # fmt: skip
    if drop_label:
        asked["overrides"] = [*asked["overrides"], f"drop_labels={json.dumps(drop_label)}"]
    if seeds is None:
        from spanwise.tasks.run import finetune as run_finetuning

        _show(task, run_finetuning(task, upload=upload, **asked), as_json=run.json)
    else:
        if upload is not None:
            raise ConfigError("--upload keeps one run and --seeds makes several; start each by --set training.seed.")
        from spanwise.tasks.seeds import finetune_seeds

        asked.pop("log")  # every seed has a log of its own
        _show_seeds(finetune_seeds(task, seeds, **asked, make_log=run.log), as_json=run.json)


def _show(task: str, result: "FinetuningResult", *, as_json: bool) -> None:
    from spanwise.config import to_record

    if as_json:
        print_json({**training_record(result.training), "scores": result.scores, "recipe": to_record(result.recipe)})
        return
    if result.scores:
        print_scores(result.task, result.scores)
    say(f"Model: {result.final}")
    say(f"Next: spanwise predict {task} --model {quote(str(result.final))} --input FILE --output predictions.json")


def _show_seeds(result: "SeedsResult", *, as_json: bool) -> None:
    from spanwise.config import to_record

    if as_json:
        recipe = to_record(result.runs[0].recipe)  # the seed alone differs
        print_json({"scores": result.records(), "best": str(result.best), "recipe": recipe})
        return
    rows = [
        (name.replace("_", " "), f"{found.mean:.2f}", f"{found.deviation:.2f}") for name, found in result.scores.items()
    ]
    print_table(("score", f"mean of {len(result.runs)}", "deviation"), rows)
    say(f"Best model: {result.best}")
