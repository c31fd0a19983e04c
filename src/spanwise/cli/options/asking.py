"""Options of the commands that ask a fine-tuned model: tokenizer, device, precision, and texts that are long."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from cyclopts import Parameter


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class AskingOptions:
    """How a fine-tuned model is loaded and asked."""

    tokenizer: Path | None = None
    """Folder or hub id of the tokenizer. Default: the checkpoint's."""
    device: str | None = None
    """cpu, cuda or cuda:1. Default: a GPU where there is one."""
    precision: Literal["auto", "fp32", "bf16", "int8"] = "auto"
    """Precision of the computation; auto is bf16 where the machine has it. int8 makes bytes of the layers' weights: the
    fastest way on a CPU that multiplies bytes."""
    on_overflow: str | None = None
    """What is done with texts longer than the model reads, where the task has a choice: truncate, windows, error.
    Default: as it was fine-tuned."""


USUAL_ASKING = AskingOptions()
