"""The folder of a study: what lies where, and whether an old one may be gone on with.

study.json                       what must stay equal: arms, tokens, text, control
ARM-SEED/                        a pre-training run; diverged.json in it where its numbers went bad
control-ARM-SEED/                the weights that training of the arm began with
measures/PROBE/MODEL.json        the figures of one model; MODEL/ holds runs of the probe's own, cuts/ its cut files
measures/PROBE/baselines.json    figures that need no model
result.json table.md report.html what came of it

Seeds and probes may be added to a finished study: what is there already is not done again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spanwise.config import difference
from spanwise.errors import ConfigError
from spanwise.runtime.files import write_text_atomic
from spanwise.runtime.lock import LOCK_NAME
from spanwise.runtime.progress import finite
from spanwise.training.run_folder import RunFolder

STUDY_NAME, RESULT_NAME, TABLE_NAME, REPORT_NAME = "study.json", "result.json", "table.md", "report.html"
DIVERGED_NAME = "diverged.json"
SHOWN_CHANGES = 6
_CURE = "delete it, and the same command makes it again."


@dataclass(frozen=True)
class StudyFolder:
    """Paths inside one folder."""

    path: Path

    def run(self, arm: str, seed: int) -> RunFolder:
        return RunFolder(self.path / f"{arm}-{seed}")

    def control(self, arm: str, seed: int) -> Path:
        return self.path / f"control-{arm}-{seed}"

    def measured(self, probe: str, model: str) -> Path:
        """The figures of a model, or of "baselines"."""
        return self.path / "measures" / probe / f"{model}.json"

    def work(self, probe: str, model: str) -> Path:
        return self.path / "measures" / probe / model

    def cuts(self, probe: str) -> Path:
        return self.path / "measures" / probe / "cuts"

    def diverged(self, arm: str, seed: int) -> str | None:
        """What a run ended with whose numbers went bad; None where they did not."""
        found = read_record(self.run(arm, seed).path / DIVERGED_NAME, "error")
        return None if found is None else str(found["error"])


def settle(folder: StudyFolder, identity: Mapping[str, Any]) -> None:
    """Write what the study is, or hold it against what is there.

    Raises: ConfigError saying what differs, or that the folder holds something else.
    """
    there = read_record(folder.path / STUDY_NAME)
    if there is None:
        others = sorted(p.name for p in folder.path.iterdir() if p.name != LOCK_NAME and not p.name.startswith("."))
        if others:
            raise ConfigError(
                f"{folder.path} is not empty ({', '.join(others[:3])}) and holds no study; give a new folder."
            )
        write_record(folder.path / STUDY_NAME, identity)
        return
    changes = difference(there, json.loads(json.dumps(identity)))
    if changes:
        raise ConfigError(
            f"{folder.path} holds another study; {told(changes)}. Give a new folder, or the study as it was "
            "(more seeds and other probes are welcome here)."
        )


def settle_measure(path: Path, settings: Mapping[str, Any]) -> None:
    """Refuse figures that were measured otherwise. Raises: ConfigError saying what differs."""
    there = read_record(path, "settings")
    if there is None:
        return
    changes = difference(there["settings"], json.loads(json.dumps(settings)))
    if changes:
        raise ConfigError(
            f"{path} was measured otherwise: {told(changes)}. Delete the folder {path.parent} to measure all models "
            "again, or give what was given before."
        )


def told(changes: Sequence[tuple[str, Any, Any]]) -> str:
    """What differs, the first few of them in words."""
    shown = [f"{path}: {before} there, {now} now" for path, before, now in changes[:SHOWN_CHANGES]]
    more = len(changes) - len(shown)
    return "; ".join(shown) + (f"; and {more} more" if more else "")


def read_record(path: Path, *keys: str) -> dict[str, Any] | None:
    """A JSON object that this package wrote whole, with these keys; None where there is none.

    Raises: ConfigError for a file that something else has damaged.
    """
    if not path.exists():
        return None
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        missing = [key for key in keys if key not in record]
    except (ValueError, TypeError) as cause:
        raise ConfigError(f"{path} is damaged ({cause}); {_CURE}") from cause
    if missing:
        raise ConfigError(f"{path} is damaged: it has no {' and no '.join(missing)}; {_CURE}")
    return record


def write_record(path: Path, record: Mapping[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text_atomic(path, json.dumps(finite(dict(record)), indent=1, ensure_ascii=False) + "\n")
