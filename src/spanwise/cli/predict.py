"""`spanwise predict`: a fine-tuned checkpoint's answers to unlabelled data."""

from dataclasses import asdict
from pathlib import Path
from typing import Literal

from spanwise.cli.console import print_json, say
from spanwise.cli.options.asking import USUAL_ASKING, AskingOptions


def predict(
    task: str,
    /,
    *,
    model: str,
    input: Path,
    output: Path,
    asking: AskingOptions = USUAL_ASKING,
    errors: Literal["strict", "repair"] = "strict",
    json: bool = False,
) -> None:
    """Write a fine-tuned checkpoint's predictions; labels in the input are not looked at.

    Parameters
    ----------
    task
        qa, classification, multiple-choice, relation, tagging, coref, or my_task.py:my_task.
    model
        Folder of the fine-tuned checkpoint, or a hub id.
    input
        Data as for evaluate; labels may be missing. For classification also a .txt file of texts alone, one per line.
    output
        File to write: for qa question id to answer text, with n-best lists and null odds beside it.
    errors
        What to do with malformed rows: stop, or leave them out, counted and named; nothing is written for those.
    json
        Print the names of the written files as one JSON object.
    """
    from spanwise.runtime.progress import Gauge
    from spanwise.tasks.evaluate import predict as run_prediction

    with Gauge("reading", "tokens") as gauge:
        written = run_prediction(
            task, model=model, input=input, output=output, errors=errors, gauge=gauge, **asdict(asking)
        )
    if json:
        print_json({"written": [str(path) for path in written]})
    else:
        say("Wrote " + ", ".join(str(path) for path in written))
