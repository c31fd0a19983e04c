"""What both ways of a quickstart share: the folder, the clock, the words, the bundle and the machine."""

import platform
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar

import torch

from spanwise.errors import ConfigError
from spanwise.quickstart.adapting.record import AdaptedRecord
from spanwise.quickstart.bundle import BundledCorpus
from spanwise.quickstart.clock import StageClock
from spanwise.quickstart.language import FoundLanguage
from spanwise.quickstart.record import QuickstartRecord
from spanwise.quickstart.terminal import Terminal
from spanwise.quickstart.texts import Language
from spanwise.runtime.device import Precision, choose_device, resolve_precision
from spanwise.runtime.lock import LOCK_NAME
from spanwise.runtime.machine import num_usable_cores

DEFAULT_OUT = "quickstart-out"
R = TypeVar("R", QuickstartRecord, AdaptedRecord)


@dataclass(frozen=True, kw_only=True)
class Job:
    """One quickstart in progress; each way of doing it has a method per stage."""

    folder: Path
    clock: StageClock
    terminal: Terminal
    bundle: BundledCorpus
    language: Language  # of the page
    text_language: FoundLanguage | None  # of a person's own text; None for the bundled one


class Done(NamedTuple, Generic[R]):
    """What a way of doing it leaves: its record, not yet timed, and the folders of the models."""

    record: R
    model: Path
    qa_model: Path  # answers questions


def free_folder() -> Path:
    """Return the default folder, with a number where the name is taken."""
    folder, number = Path(DEFAULT_OUT), 1
    while folder.exists() and any(path.name != LOCK_NAME for path in folder.iterdir()):
        number += 1
        folder = Path(f"{DEFAULT_OUT}-{number}")
    return folder


def refuse_full(folder: Path) -> None:
    """Raises: ConfigError where the folder holds anything."""
    found = sorted(path.name for path in folder.iterdir() if path.name != LOCK_NAME)
    if found:
        raise ConfigError(f"{folder} is not empty ({', '.join(found[:3])}); give a new folder with --out.")


def machine_facts(precision: Precision) -> dict[str, str | int]:
    """Return what the page says about the machine; `precision` is the recipe's."""
    device = choose_device(None)
    return {
        "processor": processor_name(),
        "cores": num_usable_cores(),
        "threads": torch.get_num_threads(),
        "device": str(device),
        "precision": resolve_precision(precision, device),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "system": f"{platform.system()} {platform.machine()}",
    }


def processor_name() -> str:
    """Return the model of the processor, as the system calls it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()
