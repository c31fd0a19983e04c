"""The folder of a study: what lies where, and whether an old one may be gone on with.

study.json                       what must stay equal: arms, tokens, text, control
ARM-SEED/                        a pre-training run; diverged.json in it where its numbers went bad
ARM-SEED.first/                  the run of the arm's first phase, where it has one
control-ARM-SEED/                the weights that training of the arm began with
measures/PROBE/MODEL.json        the figures of one model; MODEL/ holds runs of the probe's own, cuts/ its cut files
measures/PROBE/baselines.json    figures that need no model
result.json table.md report.html what came of it; PROBE.svg, the chart of a probe of three sizes or more

Seeds and probes may be added to a finished study: what is there already is not done again, nor left out.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from spanwise.config import difference
from spanwise.errors import ConfigError
from spanwise.runtime.files import write_text_atomic
from spanwise.runtime.json_text import CHECKSUM, checksum_of, decode_json
from spanwise.runtime.lock import LOCK_NAME
from spanwise.runtime.progress import finite
from spanwise.studies.phases import FIRST
from spanwise.training.run_folder import RunFolder

STUDY_NAME, RESULT_NAME, TABLE_NAME, REPORT_NAME = "study.json", "result.json", "table.md", "report.html"
DIVERGED_NAME = "diverged.json"
BASELINES = "baselines"  # stands where a model's name does
SHOWN_CHANGES = 6
OWN_NAME = "file"  # of a record, under its checksum
_CURE = "delete it, and the same command makes it again."


@dataclass(frozen=True)
class StudyFolder:
    """Paths inside one folder."""

    path: Path

    def run(self, arm: str, seed: int) -> RunFolder:
        """Return the folder of an arm trained from a seed."""
        return RunFolder(self.path / f"{arm}-{seed}")

    def first(self, arm: str, seed: int) -> RunFolder:
        """Return the folder of the first phase of an arm."""
        return RunFolder(self.path / f"{arm}-{seed}{FIRST}")

    def control(self, arm: str, seed: int) -> Path:
        """Return the folder of the weights that training of an arm began with."""
        return self.path / f"control-{arm}-{seed}"

    def measured(self, probe: str, model: str) -> Path:
        """Return the file with the figures of a model, or of "baselines"."""
        return self.path / "measures" / probe / f"{model}.json"

    def work(self, probe: str, model: str) -> Path:
        """Return the folder for runs of a probe's own."""
        return self.path / "measures" / probe / model

    def cuts(self, probe: str) -> Path:
        """Return the folder for cuts of a probe's files."""
        return self.path / "measures" / probe / "cuts"

    def seeds_begun(self, arm: str) -> set[int]:
        """Return the seeds from which an arm was trained, or began to be."""
        ends = (path.name.removeprefix(f"{arm}-") for path in self.path.glob(f"{arm}-*") if path.is_dir())
        return {int(end) for end in ends if end.isdecimal()}

    def probes_measured(self) -> set[str]:
        """Return the probes that have figures of a model."""
        return {path.parent.name for path in self.path.glob("measures/*/*.json") if path.stem != BASELINES}

    def diverged(self, arm: str, seed: int) -> str | None:
        """Return the error that ended a run whose numbers went bad, or None."""
        found = read_record(self.run(arm, seed).path / DIVERGED_NAME, "error")
        return None if found is None else str(found["error"])


@dataclass(frozen=True, kw_only=True)
class Measure:
    """The figures of one model, or the columns that need none, with the settings they depend on."""

    settings: Mapping[str, object]
    figures: Mapping[str, float | None] = field(default_factory=dict)
    failed: str = ""  # the probe's own training diverged
    seconds: float = 0.0
    where: Mapping[str, str] = field(default_factory=dict)  # device and versions
    columns: Mapping[str, Mapping[str, float]] = field(default_factory=dict)  # of baselines, by name


def read_measure(path: Path) -> Measure | None:
    """Read what was measured; None where nothing was. Raises: ConfigError for a damaged file."""
    record = read_record(path, "settings")
    if record is None:
        return None
    return Measure(**{name: record[name] for name in Measure.__dataclass_fields__ if name in record})


def recorded_study(folder: StudyFolder) -> dict[str, Any] | None:
    """Read what the study of a folder is; None where the folder is new or empty.

    Raises: ConfigError for a folder with other things.
    """
    there = read_record(folder.path / STUDY_NAME)
    if there is None and folder.path.is_dir():
        others = sorted(p.name for p in folder.path.iterdir() if p.name != LOCK_NAME and not p.name.startswith("."))
        if others:
            raise ConfigError(
                f"{folder.path} is not empty ({', '.join(others[:3])}) and holds no study; give a new folder."
            )
    return there


def settle(folder: StudyFolder, identity: Mapping[str, object]) -> None:
    """Write what the study is, or hold it against what is there.

    Raises: ConfigError saying what differs, or that the folder holds something else.
    """
    there = recorded_study(folder)
    if there is None:
        write_record(folder.path / STUDY_NAME, identity)
        return
    as_kept = json.loads(json.dumps(identity))
    changes = difference(there, as_kept)
    if changes:
        arms, now = list(there.get("arms", {})), list(as_kept["arms"])
        what = in_words(changes) if set(arms) == set(now) else f"arms {', '.join(arms)} there, {', '.join(now)} now"
        raise ConfigError(
            f"{folder.path} holds another study; {what}. Give a new folder, or the study as it was "
            "(more seeds and further probes are welcome here)."
        )


def refuse_less(folder: StudyFolder, arms: Iterable[str], seeds: Iterable[int], probes: Iterable[str]) -> None:
    """Refuse to write tables without seeds or probes that the folder has: a bad seed could be dropped that way.

    Raises: ConfigError naming what would be lost.
    """
    begun = {arm: folder.seeds_begun(arm) - set(seeds) for arm in arms}
    if lost := sorted(set().union(*begun.values())):
        runs = [folder.run(arm, seed).path.name for arm, more in begun.items() for seed in sorted(more)]
        raise ConfigError(
            f"{folder.path} has runs from more seeds ({', '.join(runs)}), which the tables would lose; ask for "
            f"--seeds {lost[-1] + 1}, or delete their folders."
        )
    wanted = list(probes)
    if more := sorted(folder.probes_measured() - set(wanted)):
        options = " ".join(f"--probe {name}" for name in (*wanted, *more))
        raise ConfigError(
            f"{folder.path} has figures of other probes ({', '.join(more)}), which the tables would lose; ask for them "
            f"too ({options}), or delete their folders in {folder.path / 'measures'}."
        )


def settle_measure(path: Path, settings: Mapping[str, object]) -> None:
    """Refuse figures that were measured otherwise. Raises: ConfigError saying what differs."""
    there = read_measure(path)
    changes = [] if there is None else difference(there.settings, json.loads(json.dumps(settings)))
    if changes:
        raise ConfigError(
            f"{path} was measured otherwise: {in_words(changes)}. Delete the folder {path.parent} to measure all "
            "models again, or give what was given before."
        )


def in_words(changes: Sequence[tuple[str, object, object]]) -> str:
    """Say what differs, the first few changes one by one."""
    shown = [f"{path}: {before} there, {now} now" for path, before, now in changes[:SHOWN_CHANGES]]
    more = len(changes) - len(shown)
    return "; ".join(shown) + (f"; and {more} more" if more else "")


def read_record(path: Path, *keys: str) -> dict[str, Any] | None:
    """Read a JSON object that this package wrote whole, with these keys; None where there is no file.

    Raises: ConfigError for a file that something else has damaged.
    """
    if not path.exists():
        return None
    try:
        record = decode_json(path.read_text(encoding="utf-8"))
        missing = [key for key in keys if key not in record]
        checksum = record.pop(CHECKSUM, None)  # records of earlier versions have none
    except (ValueError, TypeError, AttributeError) as cause:
        raise ConfigError(f"{path} is damaged ({cause}); {_CURE}") from cause
    if missing:
        raise ConfigError(f"{path} is damaged: it has no {' and no '.join(missing)}; {_CURE}")
    if (checksum is not None or OWN_NAME in record) and checksum != checksum_of(record):
        raise ConfigError(f"{path} does not agree with its checksum: it was edited or damaged; {_CURE}")
    own = record.pop(OWN_NAME, path.name)  # records of earlier versions don't say theirs
    if own != path.name:
        raise ConfigError(f"{path} is the record {own}, which was put in its place; {_CURE}")
    return record


def write_record(path: Path, record: Mapping[str, object], *, is_read_again: bool = True) -> None:
    """Write a JSON object whole; numbers that are not finite become null.

    What a study reads again has its file's name and a checksum among its values, so that the figures of one model
    can't take the place of another's; its results are for others, and have neither.
    """
    content = finite(dict(record))
    content |= {OWN_NAME: path.name} if is_read_again else {}
    content |= {CHECKSUM: checksum_of(content)} if is_read_again else {}
    write_text_atomic(path, json.dumps(content, indent=1, ensure_ascii=False) + "\n")
