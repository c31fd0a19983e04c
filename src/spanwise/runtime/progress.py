"""The log of a run: one JSON object per line in `metrics.jsonl`, and a line for the person watching.

Records hold finite numbers only, so that every line is JSON other tools read. On a terminal one live line shows the
step, the losses, the speed and the time left; elsewhere (a file, a pipe, a log) plain lines do. A pipe that its reader
closed silences the lines and never stops the run.
"""

from __future__ import annotations

import contextlib
import io
import json
import logging
import math
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal, TypeGuard, TypeVar

from spanwise.runtime.disk import DISK, write_whole
from spanwise.runtime.files import JsonObject, explained_disk_errors, write_text_atomic
from spanwise.runtime.json_text import decode_json
from spanwise.runtime.tracking import Tracking

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

T = TypeVar("T")

logger = logging.getLogger(__name__)

METRICS_NAME = "metrics.jsonl"
SECONDS_BETWEEN_UPDATES = 0.1
_COUNTS = ("step", "total_steps", "tokens", "seconds")
_GROUPS = ("losses", "accuracy", "targets", "time")
_NUMBERS = (
    "loss",
    "learning_rate",
    "grad_norm",
    "padding_share",
    "tokens_per_second",
    "seconds_left",
    "flop_utilisation",
)


class RunLog:
    """The log of one run folder; `folder=None` keeps nothing, `stream=None` shows nothing.

    `display` "auto" is a live line on a terminal and plain lines otherwise. `trackers` are named as in
    `runtime/tracking`, and get the numbers of every step.

    Raises: ConfigError for a tracker that is not known or not installed.
    """

    def __init__(
        self,
        folder: str | Path | None,
        *,
        stream: IO[str] | None = None,
        display: Literal["auto", "live", "plain"] = "auto",
        trackers: Sequence[str] = (),
    ) -> None:
        self.path = Path(folder) / METRICS_NAME if folder is not None else None
        self._stream = stream
        live = display == "live" or (display == "auto" and stream is not None and _is_terminal(stream))
        self._live = _LiveLine(stream) if live and stream is not None else None
        self._file: io.RawIOBase | None = None
        self._tracking = Tracking(trackers, self.path.parent, self.say) if trackers and self.path is not None else None

    @property
    def is_shown(self) -> bool:
        """Return whether anybody sees what is said here."""
        return self._stream is not None

    def cut_after(self, step: int, most: int | None = None) -> int:
        """Forget what was logged after `step` (a resumed run does these steps again) and say which lines are damaged.

        most: lines that there were when the step's checkpoint was written; an evaluation of the step may have followed.

        A last line that a crash cut is no damage. Returns the number of lines kept.
        """
        self._close_file()
        if self.path is None or not self.path.exists():
            return 0
        records, damaged = _records(self.path)
        if damaged:
            self.say(_left_out(self.path, damaged))
        kept = [line for line, record in records if record.get("step", 0) <= step][:most]
        write_text_atomic(self.path, "".join(kept))
        return len(kept)

    def write(self, record: Mapping[str, object]) -> None:
        """Add one line to `metrics.jsonl`. Numbers that are not finite become null."""
        clean = finite(record)
        if self.path is not None:
            with explained_disk_errors(self.path):
                if self._file is None:
                    DISK.make_folders(self.path.parent)
                    self._file = DISK.open_to_append(self.path)  # closed by `close`
                write_whole(self._file, json.dumps(clean, allow_nan=False).encode() + b"\n")
        if self._tracking is not None and "step" in clean:
            self._tracking.log(clean["step"], dict(_numbers(clean)))

    def sync(self) -> None:
        """Force the lines written so far to the disk. Raises: SpanwiseError."""
        if self._file is not None and self.path is not None:
            with explained_disk_errors(self.path):
                DISK.fsync_open(self._file)

    def show(self, record: JsonObject) -> None:
        """Tell the person where training stands, from a record of the training loop."""
        if self._live is not None:
            self._quietly(self._live.update, record)
        else:
            self.say(training_line(record))

    def say(self, text: str) -> None:
        """One line for the person."""
        if self._live is not None:
            self._quietly(self._live.print, text)
        elif self._stream is not None:
            self._quietly(_write_line, self._stream, text)

    def close(self) -> None:
        """End the live line and close the files; the log can still be written to afterwards."""
        if self._live is not None:
            self._quietly(self._live.stop)
        if self._tracking is not None:
            self._tracking.close()
        self._close_file()

    def __enter__(self) -> RunLog:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _close_file(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def _quietly(self, write: Callable[..., None], *values: object) -> None:
        try:
            write(*values)
        except (BrokenPipeError, ValueError, OSError):  # the reader has gone; training matters more
            live, self._live, self._stream = self._live, None, None
            if live is not None:
                with contextlib.suppress(Exception):
                    live.stop()


class Gauge:
    """How far a long step is that has no run folder: a bar on a terminal with rate and time left, elsewhere nothing.

    `what` is being done ("encoding") to so many `unit`s ("MB", "tokens"). Standard output is for results, so the bar
    is on standard error.
    """

    def __init__(
        self, what: str, unit: str, *, stream: IO[str] | None = None, display: Literal["auto", "live"] = "auto"
    ) -> None:
        stream = sys.stderr if stream is None else stream
        self._bar = _bar(_console(stream)) if display == "live" or _is_terminal(stream) else None
        self._what, self._unit = what, unit
        self._task: Any = None
        self._done, self._total, self._shown = 0.0, 0.0, 0.0
        self._began: float | None = None

    @property
    def is_shown(self) -> bool:
        """Return whether a person sees the bar."""
        return self._bar is not None

    def expect(self, amount: float) -> None:
        """Say that so much more is to be done; without it the bar shows no end and no time left."""
        self._total += amount
        self._begin()

    def add(self, amount: float) -> None:
        """Say that so much more is done."""
        if self._bar is None:
            return
        now, began = time.monotonic(), self._begin()
        try:
            if self._task is None:
                self._bar.start()
                self._task = self._bar.add_task(self._what, total=None, said="")
            self._done += amount
            if now - self._shown < SECONDS_BETWEEN_UPDATES:
                return
            self._shown = now
            rate = self._done / max(now - began, 1e-9)
            said = f"{_rounded(self._done)} {self._unit}  {_rounded(rate)} {self._unit}/s"
            self._bar.update(self._task, completed=self._done, total=max(self._total, self._done) or None, said=said)
        except (BrokenPipeError, ValueError, OSError):  # the reader has gone; the work matters more
            self._silence()

    def over(self, items: Iterable[T], size: Callable[[T], float]) -> Iterator[T]:
        """Give the items on, and count each once the next one is asked for."""
        self._begin()
        for item in items:
            yield item
            self.add(size(item))

    def __enter__(self) -> Gauge:
        return self

    def __exit__(self, *error: object) -> None:
        self._silence()

    def _begin(self) -> float:
        self._began = time.monotonic() if self._began is None else self._began
        return self._began

    def _silence(self) -> None:
        bar, self._bar = self._bar, None
        if bar is not None:
            with contextlib.suppress(Exception):
                bar.stop()


def _console(stream: IO[str]) -> Console:
    """Return a console that raises where its reader has gone."""
    from rich.console import Console

    class PipeSafeConsole(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError  # rich would leave the whole process; the log only falls silent

    return PipeSafeConsole(file=stream)


def _bar(console: Console) -> Progress:
    """Return a bar with a text and the time left, which is wiped away at its end."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = [TextColumn("{task.description}"), BarColumn(bar_width=24), TextColumn("{task.fields[said]}")]
    return Progress(*columns, TimeRemainingColumn(compact=True), console=console, transient=True)


def _rounded(number: float) -> str:
    return f"{number:,.1f}" if number < 100 else f"{number:,.0f}"


class _LiveLine:
    """One bar at the bottom of a terminal."""

    def __init__(self, stream: IO[str]) -> None:
        self._console = _console(stream)
        self._bar = _bar(self._console)
        self._task: Any = None

    def update(self, record: JsonObject) -> None:
        if self._task is None:
            self._bar.start()
            self._task = self._bar.add_task("training", total=None, said="")
        self._bar.update(
            self._task,
            completed=record.get("step", 0),
            total=record.get("total_steps"),
            said=training_line(record, brief=True),
        )

    def print(self, text: str) -> None:
        # lines end between words; a path or a name stays whole, so that it can be copied
        self._console.print(text, markup=False, highlight=False, overflow="ignore", crop=False)

    def stop(self) -> None:
        self._bar.stop()
        if self._task is not None:
            self._bar.remove_task(self._task)
            self._task = None


def training_line(record: JsonObject, *, brief: bool = False) -> str:
    """A record of the training loop in one line; `brief` leaves out where the time goes."""
    parts = [f"step {record.get('step', 0):,}" + (f"/{record['total_steps']:,}" if record.get("total_steps") else "")]
    losses = record.get("losses") or {}
    parts += [f"{name} {value:.3f}" for name, value in losses.items() if value is not None]
    if record.get("learning_rate") is not None:
        parts.append(f"lr {record['learning_rate']:.2e}")
    if record.get("tokens_per_second"):
        parts.append(f"{record['tokens_per_second']:,.0f} tokens/s")
    if not brief:
        parts += _effort(record)
    if record.get("seconds_left") is not None:
        parts.append(f"{_clock(record['seconds_left'])} left")
    return "  ".join(parts)


def _effort(record: JsonObject) -> list[str]:
    """Padding, the share of the matrix-product peak, and in which sections the time was spent, in percent."""
    parts = []
    if record.get("padding_share") is not None:
        parts.append(f"padding {100 * record['padding_share']:.1f} %")
    if record.get("flop_utilisation") is not None:
        parts.append(f"{100 * record['flop_utilisation']:.0f} % of peak")
    times = dict(record.get("time") or {})
    total = times.pop("total", 0.0)
    if total > 0:
        shares = {name: round(100 * seconds / total) for name, seconds in times.items()}
        parts.append("time: " + ", ".join(f"{name} {share}" for name, share in shares.items() if share) + " %")
    return parts


def read_metrics(path: str | Path) -> list[JsonObject]:
    """The records of a `metrics.jsonl` in order. Damaged lines are left out with a warning, a cut last one without."""
    records, damaged = _records(Path(path))
    if damaged:
        logger.warning("%s", _left_out(Path(path), damaged))
    return [record for _, record in records]


def _left_out(path: Path, damaged: list[int]) -> str:
    shown = ", ".join(map(str, damaged[:8])) + (", ..." if len(damaged) > 8 else "")
    return f"{path}: damaged lines are left out ({shown})."


def finite(value: Any) -> Any:
    """The same record with every number that is not finite replaced by None."""
    if isinstance(value, Mapping):
        return {str(key): finite(inner) for key, inner in value.items()}
    if isinstance(value, tuple | list):
        return [finite(inner) for inner in value]
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if hasattr(value, "item") and not isinstance(value, str | bytes):
        return finite(value.item())
    return value


def _records(path: Path) -> tuple[list[tuple[str, JsonObject]], list[int]]:
    """Each line with its record, and the numbers of the lines that are none. A cut last line is neither."""
    found, damaged = [], []
    text = path.read_text(encoding="utf-8", errors="replace")
    lines = text.split("\n")
    for number, line in enumerate(lines, 1):
        try:
            record = decode_json(line) if line.strip() else None
        except ValueError:
            record = None
        if _is_record(record):
            found.append((line + "\n", record))
        elif line.strip() and number < len(lines):
            damaged.append(number)
    return found, damaged


def _is_record(record: object) -> TypeGuard[JsonObject]:
    """Return whether a line is what `write` makes: an object whose groups hold numbers, with numbers beside them."""
    if not isinstance(record, dict):
        return False
    counts = [record[name] for name in _COUNTS if name in record]
    groups = [record[name] for name in _GROUPS if name in record]
    numbers = [record[name] for name in _NUMBERS if name in record]
    for name in ("epoch", "epochs"):  # of a mixture of stores, a group
        value = record.get(name)
        (groups if isinstance(value, dict) else numbers).append(value)
    return (
        isinstance(record.get("evaluation", {}), dict)
        and all(_is_finite(count) and count >= 0 for count in counts)
        and all(isinstance(group, dict) for group in groups)
        and all(value is None or _is_finite(value) for value in [*numbers, *(v for g in groups for v in g.values())])
    )


def _is_finite(value: object) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= sys.float_info.max


def _numbers(record: Mapping[str, object], front: str = "") -> list[tuple[str, float]]:
    found: list[tuple[str, float]] = []
    for name, value in record.items():
        if isinstance(value, Mapping):
            found += _numbers(value, f"{front}{name}/")
        elif isinstance(value, int | float) and not isinstance(value, bool) and name != "step":
            found.append((f"{front}{name}", float(value)))
    return found


def _write_line(stream: IO[str], text: str) -> None:
    stream.write(text + "\n")
    stream.flush()


def _is_terminal(stream: IO[str]) -> bool:
    try:
        return stream.isatty() and os.environ.get("TERM") != "dumb"
    except (ValueError, AttributeError):
        return False


def _clock(seconds: float) -> str:
    minutes, rest = divmod(max(0, round(seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
