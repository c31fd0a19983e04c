"""The log of a run: one JSON object per line in `metrics.jsonl`, and a line for the person watching.

Records hold finite numbers only, so that every line is JSON other tools read. On a terminal one live line shows the
step, the losses, the speed and the time left; elsewhere (a file, a pipe, a log) plain lines do. A pipe that its reader
closed silences the lines and never stops the run.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import json
import math
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any, Literal, TypeGuard

from spanwise.runtime.disk import DISK, write_whole
from spanwise.runtime.files import JsonObject, explained_disk_errors, write_text_atomic
from spanwise.runtime.json_text import decode_json

METRICS_NAME = "metrics.jsonl"
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

    `display` "auto" is a live line on a terminal and plain lines otherwise. `tensorboard` also writes event files to
    `<folder>/tensorboard` where the extra is installed, and says so where it is not.
    """

    def __init__(
        self,
        folder: str | Path | None,
        *,
        stream: IO[str] | None = None,
        display: Literal["auto", "live", "plain"] = "auto",
        tensorboard: Literal["off", "on"] = "off",
    ) -> None:
        self.path = Path(folder) / METRICS_NAME if folder is not None else None
        self._stream = stream
        live = display == "live" or (display == "auto" and stream is not None and _is_terminal(stream))
        self._live = _LiveLine(stream) if live and stream is not None else None
        self._file: io.RawIOBase | None = None
        self._writer: Any = None  # made at the first number: a run folder must be empty when the run takes it
        self._wants_writer = tensorboard == "on" and self.path is not None
        if self._wants_writer and importlib.util.find_spec("tensorboard") is None:
            self._wants_writer = False
            self.say("TensorBoard is not installed: pip install 'spanwise[tensorboard]'. metrics.jsonl has everything.")

    @property
    def is_shown(self) -> bool:
        """Return whether anybody sees what is said here."""
        return self._stream is not None

    def cut_after(self, step: int) -> int:
        """Forget what was logged after `step` (a resumed run does these steps again) and say which lines are damaged.

        A last line that a crash cut is no damage. Returns the number of lines kept.
        """
        self._close_file()
        if self.path is None or not self.path.exists():
            return 0
        records, damaged = _records(self.path)
        if damaged:
            shown = ", ".join(map(str, damaged[:8])) + (", ..." if len(damaged) > 8 else "")
            self.say(f"{self.path}: damaged lines are left out ({shown}).")
        kept = [line for line, record in records if record.get("step", 0) <= step]
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
        if self._wants_writer and self.path is not None and self._writer is None:
            self._writer = _tensorboard_writer(self.path.parent)
        if self._writer is not None and "step" in clean:
            for name, value in _numbers(clean):
                self._writer.add_scalar(name, value, clean["step"])

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
        if self._writer is not None:
            self._writer.flush()
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


class _LiveLine:
    """One bar at the bottom of a terminal."""

    def __init__(self, stream: IO[str]) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        class PipeSafeConsole(Console):
            def on_broken_pipe(self) -> None:
                raise BrokenPipeError  # rich would leave the whole process; the log only falls silent

        self._console = PipeSafeConsole(file=stream)
        columns = [TextColumn("{task.description}"), BarColumn(bar_width=24), TextColumn("{task.fields[said]}")]
        self._bar = Progress(*columns, TimeRemainingColumn(compact=True), console=self._console, transient=True)
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
    """The records of a `metrics.jsonl` in order, without damaged lines and a last line cut by a crash."""
    return [record for _, record in _records(Path(path))[0]]


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


def _tensorboard_writer(folder: Path) -> Any:
    from torch.utils.tensorboard import SummaryWriter

    return SummaryWriter(str(folder / "tensorboard"))


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
