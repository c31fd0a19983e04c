"""`spanwise predict`: a fine-tuned checkpoint's answers to unlabelled data."""

from pathlib import Path
from typing import Literal

from spanwise.cli.console import print_json, say


def predict(
    task: str,
    /,
    *,
    model: str,
    input: Path,
    output: Path,
    tokenizer: Path | None = None,
    device: str | None = None,
    precision: Literal["auto", "fp32", "bf16", "int8"] = "auto",
    on_overflow: str | None = None,
    json: bool = False,
) -> None:
    """Write a fine-tuned checkpoint's predictions; labels in the input are not looked at.

    Parameters
    ----------
    task
        qa, classification, multiple-choice, relation, tagging or coref.
    model
        Folder of the fine-tuned checkpoint, or a hub id.
    input
        Data as for evaluate; labels may be missing. For classification also a .txt file of texts alone, one a line.
    output
        File to write: for qa question id to answer text, with n-best lists and null odds beside it.
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
    json
        Print the names of the written files as one JSON object.
    """
    from spanwise.tasks.run import predict as run_prediction

    written = run_prediction(
        task,
        model=model,
        input=input,
        output=output,
        tokenizer=tokenizer,
        device=device,
        precision=precision,
        on_overflow=on_overflow,
    )
    if json:
        print_json({"written": [str(path) for path in written]})
    else:
        say("Wrote " + ", ".join(str(path) for path in written))
