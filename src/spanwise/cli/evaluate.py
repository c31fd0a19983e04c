"""`spanwise evaluate`: the score of a fine-tuned checkpoint on labelled data."""

from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from spanwise.cli.console import print_json, say
from spanwise.cli.score import print_scores


def evaluate(
    task: str,
    /,
    *,
    model: str,
    data: Annotated[list[Path], Parameter(consume_multiple=True)],
    out: Path | None = None,
    tokenizer: Path | None = None,
    device: str | None = None,
    precision: Literal["auto", "fp32", "bf16", "int8"] = "auto",
    on_overflow: str | None = None,
    errors: Literal["strict", "repair"] = "strict",
    json: bool = False,
) -> None:
    """Score a fine-tuned checkpoint, with the thresholds that are stored in it.

    Parameters
    ----------
    task
        qa, classification, multiple-choice, relation, tagging or coref.
    model
        Folder of the fine-tuned checkpoint, or a hub id.
    data
        Labelled data: for qa a SQuAD file, for classification a table of texts, ... Several files (MNLI's matched and
        mismatched) are scored one by one, each under its name.
    out
        File that receives the scores as JSON.
    tokenizer
        Folder of the tokenizer. Default: the checkpoint's.
    device
        cpu, cuda or cuda:1. Default: a GPU where there is one.
    precision
        Of the computation; auto is bf16 where the machine has it. int8 makes bytes of the layers' weights: the
        fastest way on a CPU that multiplies bytes.
    on_overflow
        What is done with texts longer than the model reads, where the task has a choice: truncate, windows, error.
        Default: as it was fine-tuned.
    errors
        What to do with malformed rows: stop, or leave them out, counted.
    json
        Print one JSON object with the official script's keys, at full precision.
    """
    from spanwise.tasks.run import evaluate as run_evaluation
    from spanwise.tasks.run import evaluate_each

    asked: dict[str, Any] = {
        "model": model,
        "out": out,
        "tokenizer": tokenizer,
        "device": device,
        "precision": precision,
        "on_overflow": on_overflow,
        "errors": errors,
    }
    if len(data) == 1:
        results = {"": run_evaluation(task, data=data[0], **asked)}
    else:
        results = evaluate_each(task, data=data, **asked)
    if json:
        print_json(results[""].scores if "" in results else {name: found.scores for name, found in results.items()})
        return
    for name, result in results.items():
        if name:
            print(f"{name}:")
        print_scores(result.task, result.scores)
    if out is not None:
        say(f"Wrote {out}")
