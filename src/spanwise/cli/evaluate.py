"""`spanwise evaluate`: the score of a fine-tuned checkpoint on labelled data."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from spanwise.cli.console import print_json, say
from spanwise.cli.options.asking import USUAL_ASKING, AskingOptions
from spanwise.cli.score import print_scores


def evaluate(
    task: str,
    /,
    *,
    model: str,
    data: Annotated[list[Path], Parameter(consume_multiple=True)],
    out: Path | None = None,
    asking: AskingOptions = USUAL_ASKING,
    errors: Literal["strict", "repair"] = "strict",
    json: bool = False,
) -> None:
    """Score a fine-tuned checkpoint, with the thresholds that are stored in it.

    Parameters
    ----------
    task
        qa, classification, multiple-choice, relation, tagging, coref, or my_task.py:my_task.
    model
        Folder of the fine-tuned checkpoint, or a hub id.
    data
        Labelled data: for qa a SQuAD file, for classification a table of texts, ... Several files (MNLI's matched and
        mismatched) are scored one by one, each under its name.
    out
        File that receives the scores as JSON.
    errors
        What to do with malformed rows: stop, or leave them out, counted.
    json
        Print one JSON object with the official script's keys, at full precision.
    """
    from spanwise.runtime.progress import Gauge
    from spanwise.tasks import evaluate as tasks

    with Gauge("reading", "tokens") as gauge:
        given = {"model": model, "out": out, "errors": errors, "gauge": gauge, **asdict(asking)}
        if len(data) == 1:
            results = {"": tasks.evaluate(task, data=data[0], **given)}
        else:
            results = tasks.evaluate_each(task, data=data, **given)
    if json:
        print_json(results[""].scores if "" in results else {name: found.scores for name, found in results.items()})
        return
    for name, result in results.items():
        if name:
            print(f"{name}:")
        print_scores(result.task, result.scores)
    if out is not None:
        say(f"Wrote {out}")
