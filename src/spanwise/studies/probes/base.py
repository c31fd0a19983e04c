"""The protocol of a probe: its name, the files it needs, its figures, and how a model is measured by it.

A probe is a frozen part, so that a study records the values it was measured with. It measures one model folder at a
time; that the control (random weights) is measured alike is the study's business. Baselines need no model at all.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal, Protocol, runtime_checkable

from spanwise.data.token_store import TokenStore
from spanwise.errors import DataError
from spanwise.pretraining.recipe import PretrainingRecipe
from spanwise.runtime.progress import RunLog

Figures = dict[str, float]  # by key; a figure that a model can't have (no such head) is left out


@dataclass(frozen=True, kw_only=True)
class Figure:
    """One number of a probe. `main` figures stand in the first table, the others in the details."""

    key: str
    label: str
    unit: str
    better: Literal["higher", "lower"]
    main: bool = True


@dataclass(frozen=True, kw_only=True)
class ProbeFile:
    """A file a probe needs: where it may lie below the folder of probe data (patterns, the first that fits), what it
    is, and how to get it."""

    patterns: tuple[str, ...]
    what: str
    how: str


@dataclass(frozen=True, kw_only=True)
class Material:
    """The text and the files that all models of a study are measured on."""

    store: TokenStore
    valid: TokenStore | None
    files: Mapping[str, Path]  # by the names in the probe's `files`
    cuts: Path  # a folder for cuts of those files, the same for all models
    max_length: int  # of a sequence: the shortest that all arms were trained with


@dataclass(frozen=True, kw_only=True)
class Context:
    """One model to measure."""

    material: Material
    model: Path  # a Hugging Face folder
    recipe: PretrainingRecipe  # what the model was, or would be, trained by
    seed: int
    out: Path  # a folder for runs of the probe's own
    log: RunLog
    device: str | None = None
    resume_command: str = ""  # said where a run of the probe's own is stopped


@runtime_checkable
class Probe(Protocol):
    """One way to measure a pre-trained model."""

    name: ClassVar[str]
    what: ClassVar[str]  # in a line
    needs_valid: ClassVar[bool]  # whether it reads the held-out store

    @property
    def files(self) -> Mapping[str, ProbeFile]:
        """The files it needs, by names of its own."""
        ...

    @property
    def figures(self) -> tuple[Figure, ...]:
        """All figures that it may give."""
        ...

    def measure(self, context: Context) -> Figures:
        """Measure one model."""
        ...

    def baselines(self, material: Material) -> dict[str, Figures]:
        """Return columns that need no model, such as "bigram"; {} where there is none.

        This is called before anything is trained and reads the probe's files, so that a damaged one is refused then.
        """
        ...


def find_files(probe: Probe, folder: Path | None) -> dict[str, Path]:
    """Find the files of a probe below the folder of probe data.

    Raises: DataError naming the file that is missing and how to get it.
    """
    found = {}
    for key, wanted in probe.files.items():
        places = [place for pattern in wanted.patterns for place in sorted(folder.glob(pattern))] if folder else []
        if not places:
            where = f"below {folder}" if folder else "and no folder was given (--probe-data DIR)"
            shown = " or ".join(wanted.patterns)
            raise DataError(f"probe '{probe.name}' needs {shown} {where}: {wanted.what}. {wanted.how}")
        found[key] = places[0]
    return found
