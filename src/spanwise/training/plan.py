"""How long a run is and how it learns: the options, and the plan they become.

A plan is a list of lines `{step, total_steps, reason, checksum}` in `plan.jsonl`. A run counted in steps, tokens or
epochs has one line, and another where it was ended early. A run with a budget in seconds begins with a guess and adds a
line whenever its measured speed says otherwise, so that the schedule is finished when the time is. Recorded lines are
never changed: a resumed run obeys them, once their checksums and the recipe agree with them.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Sequence
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Literal, Protocol

from pydantic import Field

from spanwise.config import part
from spanwise.config.ranges import Rate
from spanwise.errors import CheckpointError, ConfigError
from spanwise.runtime.files import JsonObject, append_line, write_text_atomic
from spanwise.runtime.json_text import decode_json
from spanwise.training.schedule import PlanLine, Shape, learning_rate, progress

PLAN_NAME = "plan.jsonl"
LENGTHS = ("max_steps", "max_tokens", "num_epochs", "budget")  # of a run: one of them is set
_FIRST_GUESS_SECONDS = 0.005  # a step, before any was timed: short, so that the rate can only be too low at first
_FIRST_CHECKS = (2, 5, 10, 20, 50)
_RESERVE_SHARE = 0.02  # of a budget, until evaluation and saving have been timed


MOST_STEPS = 10**9  # of any run, and between any two events of one
MOST_THREADS = 1024  # torch dies of a few ten thousand

_LEFT_OPEN = "which fine-tuning alone settles, by the encoder and the examples; give a number, such as"

Steps = Annotated[int, Field(ge=1, le=MOST_STEPS)]


@part("training")
class TrainingOptions:
    """Values of the training loop; the names are the field's."""

    learning_rate: Rate | Literal["auto"] = 1e-4  # the highest, after warm-up; auto (fine-tuning): by the encoder
    head_learning_rate: Rate | None = None  # of all but the encoder; None: as above
    layer_decay: Annotated[float, Field(gt=0, le=1)] = 1.0  # of the rate, for each layer further from the head
    warmup_steps: Annotated[int | float, Field(ge=0, le=MOST_STEPS)] = 0.06  # steps, or below 1 a share of all steps
    schedule: Literal["linear", "cosine", "constant"] = "linear"  # after warm-up
    optimizer: Literal["adamw", "muon", "lamb"] = "adamw"  # muon: for matrices of linear layers; AdamW for the rest
    weight_decay: Annotated[float, Field(ge=0, le=1e3)] = 0.01  # on matrices; never on biases and LayerNorm
    adam_beta1: Annotated[float, Field(ge=0, lt=1)] = 0.9
    adam_beta2: Annotated[float, Field(ge=0, lt=1)] = 0.999
    adam_epsilon: Annotated[float, Field(gt=0, le=1)] = 1e-6  # BERT's; SpanBERT's 1e-8 acted like 6e-6
    max_grad_norm: Annotated[float, Field(ge=0, le=1e9)] = 1.0  # global norm; 0 does not clip
    max_steps: Steps | None = None  # length of the run: one of these four
    max_tokens: Annotated[int, Field(ge=1, le=10**16)] | None = None  # real tokens
    num_epochs: Annotated[float, Field(gt=0, le=1e6)] | Literal["auto"] | None = None  # auto: by task and examples
    budget: Annotated[float, Field(gt=0, le=1e9)] | None = None  # seconds of wall-clock time, evaluation and saving too
    precision: Literal["auto", "fp32", "bf16"] = "auto"  # auto: bf16 where the machine has it
    compile: Literal["auto", "on", "graphs", "off"] = "auto"  # layers and heads by torch.compile; auto: on a GPU
    deterministic: bool = False  # equal bits on a GPU too, somewhat slower; a CPU always gives them
    sharding: Literal["none", "fsdp2"] = "none"  # fsdp2: each of several processes keeps a share of every large matrix
    exact_sums: bool = False  # gradients with the same bits for any number of processes, somewhat slower
    seed: Annotated[int, Field(ge=-(2**63), lt=2**64)] = 0
    log_every: Steps = 10  # steps
    eval_every: Annotated[int | float, Field(gt=0, le=MOST_STEPS)] | None = None  # steps, or below 1 a share of the run
    save_every: Steps | None = None  # steps; None: by the clock and at the end only
    save_minutes: Annotated[float, Field(gt=0, le=1e6)] | None = 10.0  # the most a crash may cost; None: see save_every
    keep: Annotated[int, Field(ge=1, le=10**6)] = 2  # newest checkpoints kept
    threads: Annotated[int, Field(ge=1, le=MOST_THREADS)] | None = None  # of this process; None: as torch is set

    def __post_init__(self) -> None:
        for name in ("warmup_steps", "eval_every"):
            value = getattr(self, name)
            if value is not None and value >= 1 and value % 1:
                raise ConfigError(f"training.{name} {value} is neither a number of steps nor a share below 1.")
        lengths = {name: getattr(self, name) for name in LENGTHS}
        given = [name for name, value in lengths.items() if value is not None]
        if len(given) > 1:
            raise ConfigError(
                f"training has {len(given)} lengths ({', '.join(given)}); keep one and set the others to null."
            )

    @property
    def peak_rate(self) -> float:
        """The highest learning rate. Raises: ConfigError where it is left open, which only fine-tuning closes."""
        if self.learning_rate == "auto":
            raise ConfigError(f"training.learning_rate is auto, {_LEFT_OPEN} 1e-3.")
        return self.learning_rate

    @property
    def length(self) -> tuple[str, float]:
        """The one length that is set, as (name, value). Raises: ConfigError where none is, or it is left open."""
        if self.num_epochs == "auto":
            raise ConfigError(f"training.num_epochs is auto, {_LEFT_OPEN} 3.")
        for name in LENGTHS:
            if getattr(self, name) is not None:
                return name, getattr(self, name)
        raise ConfigError(
            "the run has no length; set one of training.max_steps, training.max_tokens, training.num_epochs, "
            "or training.budget in seconds."
        )


def with_one_length(overrides: Sequence[str]) -> list[str]:
    """The overrides of a recipe, where a length among them takes the place of the recipe's own."""
    paths = [f"training.{name}" for name in LENGTHS]
    given = {assignment.partition("=")[0].strip() for assignment in overrides}
    replaced = [f"{path}=null" for path in paths if given & set(paths) and path not in given]
    return [*replaced, *overrides]


# Values that never change a number that is trained by more than rounding: they may differ when a run goes on.
HARMLESS_OPTIONS = frozenset(
    {
        "log_every",
        "eval_every",
        "save_every",
        "save_minutes",
        "keep",
        "threads",
        "compile",
        "deterministic",
        "exact_sums",
        "sharding",
    }
)


class Positions(Protocol):
    """A batch source as the plan sees it: it says where the run stands before step `index` (0 is the first)."""

    def position(self, index: int) -> JsonObject: ...


def count_steps(options: TrainingOptions, source: Positions) -> int | None:
    """Steps of a run whose length is known before it starts; None for a budget.

    Tokens and epochs are looked up in `source.position(index)` ("tokens", "epoch": how much lies before that step),
    by doubling and halving, so the count is exact. Raises: ConfigError.
    """
    name, value = options.length
    if name == "budget":
        return None
    if name == "max_steps":
        return int(value)
    key = "tokens" if name == "max_tokens" else "epoch"
    if key not in source.position(0):
        raise ConfigError(f"training.{name} needs a source that counts {key}; use training.max_steps instead.")

    def reached(index: int) -> bool:
        return source.position(index)[key] >= value - 1e-9

    high = 1
    while not reached(high):
        high *= 2
        if high > 2 * MOST_STEPS:
            raise ConfigError(f"training.{name} {value} is never reached; is the data empty?")
    low = high // 2
    while low + 1 < high:
        middle = (low + high) // 2
        low, high = (low, middle) if reached(middle) else (middle, high)
    return high


def first_line(options: TrainingOptions, source: Positions) -> PlanLine:
    """The line that a run's plan begins with. Raises: ConfigError."""
    total = count_steps(options, source)
    name, value = options.length
    if total is None:
        guess = max(8, math.ceil(value / _FIRST_GUESS_SECONDS))
        return PlanLine(step=0, total_steps=guess, reason=f"budget of {value:g} s, before any step was timed")
    if options.warmup_steps >= 1 and options.warmup_steps >= total and options.schedule != "constant":
        raise ConfigError(
            f"training.warmup_steps {options.warmup_steps} leaves no step of the run's {total:,}; "
            "use fewer, or a share such as 0.06."
        )
    return PlanLine(step=0, total_steps=total, reason=f"{name}={value:g}" if name != "max_steps" else "max_steps")


class Plan:
    """The lines of one run, on disk and in memory; with `path=None` (not the leader's process) in memory alone."""

    def __init__(self, path: Path | None, lines: list[PlanLine], options: TrainingOptions) -> None:
        self._path = path
        self._options = options
        self.lines = lines

    @classmethod
    def open(
        cls,
        path: Path,
        options: TrainingOptions,
        source: Positions,
        *,
        saved: Sequence[PlanLine] = (),
        say: Callable[[str], None] = print,
    ) -> Plan:
        """Read the recorded plan, or begin one. `saved` are the lines that the checkpoint to go on from has.

        Raises: ConfigError; CheckpointError where lines were changed, or contradict the checkpoint or the options.
        """
        lines, is_protected = read_plan(path)
        plan = cls(path, lines, options)
        begins = first_line(options, source)
        written = path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""
        whole = "".join(f"{text}\n" for text in _texts_of(written)[: len(lines)])
        if written != whole:  # a last line was cut by a crash
            write_text_atomic(path, whole)
        if not lines and not saved:
            plan.add(begins.step, begins.total_steps, begins.reason)
            return plan
        wrong = _disagreement(lines, begins, saved, is_counted=options.budget is None)
        if wrong:
            raise CheckpointError(
                f"{path} {wrong}; it was changed, or belongs to another run. Restore it, or start a new run in "
                "another folder."
            )
        if not is_protected:
            say(f"{path.name} is of an earlier version and has no checksums: it was compared with the recipe alone.")
        return plan

    @property
    def total_steps(self) -> int:
        return self.lines[-1].total_steps

    def total_after(self, step: int) -> int:
        """The length in force once `step` steps are done."""
        return [line for line in self.lines if line.step <= step][-1].total_steps

    def add(self, step: int, total_steps: int, reason: str) -> None:
        """Record a revision, durably, before it is obeyed."""
        line = PlanLine(step=step, total_steps=total_steps, reason=reason)
        if self._path is not None:
            append_line(self._path, _text(line, self.lines))
        self.lines.append(line)

    def to_record(self) -> list[JsonObject]:
        """The lines as a checkpoint keeps them."""
        return [asdict(line) for line in self.lines]

    def learning_rate(self, step: int) -> float:
        """The rate of update number `step` (from 1)."""
        options = self._options
        shape: Shape = options.schedule
        return learning_rate(step, self.lines, peak=options.peak_rate, warmup=options.warmup_steps, shape=shape)

    def evaluation_is_due(self, step: int) -> bool:
        """Return whether an evaluation follows update number `step`: every so many steps, or at shares of the run.

        A share below 1 counts progress as it was planned at each step, so a later revision moves no evaluation.
        """
        every = self._options.eval_every
        if every is None or step < 1:
            return False
        return step % every == 0 if every >= 1 else self._passed(step, every) > self._passed(step - 1, every)

    def _passed(self, step: int, share: float) -> int:
        """How many evaluations lie before or at a step."""
        return math.floor(progress(step, self.lines) / share + 1e-9)

    def _evaluations_left(self, step: int) -> int:
        """How many evaluations at shares of the run lie between a step and the end, which has its own."""
        every = self._options.eval_every
        if every is None or every >= 1:
            return 0
        return max(0, math.ceil(1.0 / every - 1e-9) - 1 - self._passed(step, every))

    def revise(self, step: int, clock: BudgetClock) -> None:
        """After `step` steps, change the plan where the measured speed asks for it. Counted runs never change."""
        budget = self._options.budget
        if budget is None or step <= self.lines[-1].step or not clock.num_timed:
            return
        total = self.total_steps
        left = total - step
        if left <= 0:
            self.add(step, step, "finished")  # a later resume must not find time for more steps
            return
        due = step in _FIRST_CHECKS or step % max(1, min(50, total // 50)) == 0 or left <= max(4, total // 100)
        if not due:
            return
        steps_left = clock.steps_left(budget, evaluations=self._evaluations_left(step))
        wanted = step + max(1, steps_left)  # at least one last step, at rate 0, ends the schedule
        if abs(wanted - total) > max(0.5, 0.02 * left):
            self.add(
                step, wanted, f"{clock.step_seconds():.3g} s a step, {budget - clock.used:.1f} s of the budget left"
            )


class BudgetClock:
    """Wall-clock seconds of a run, with what steps, evaluation and saving cost.

    `eval_every` and `save_every` are in steps; None where they happen at the end only, 0 for no evaluation at all.
    """

    def __init__(self, used: float = 0.0, *, eval_every: int | None = None, save_every: int | None = None) -> None:
        self.used = used  # seconds before this process took over, and all since
        self.evaluation = 0.0  # seconds of the last one
        self.saving = 0.0  # seconds of the last one
        self.num_timed = 0
        self.num_untimed = 0  # steps that were begun and aren't in `used` yet: a GPU still computes them
        self._mean = 0.0
        self._eval_every = eval_every
        self._save_every = save_every

    def add_step(self, seconds: float) -> None:
        """A moving mean: exact over the first steps, then a memory of about 50. The very first (compilation, cold
        caches) is forgotten once there is a second."""
        self.num_timed += 1
        weight = 1.0 if self.num_timed <= 2 else max(1.0 / (self.num_timed - 1), 0.02)
        self._mean += weight * (seconds - self._mean)

    def step_seconds(self) -> float:
        """One step, with its share of the evaluations and saves between the steps."""
        seconds = max(self._mean, 1e-9)
        if self._eval_every:
            seconds += self.evaluation / self._eval_every
        if self._save_every:
            seconds += self.saving / self._save_every
        return seconds

    def steps_left(self, budget: float, *, evaluations: int = 0) -> int:
        """Whole steps that still fit, with time set aside for so many evaluations that are not counted in steps, and
        for the last one, checkpoint and model folder: at most a third of what one evaluation leaves, so that a slow
        one can't end the training."""
        at_end = 0.0 if self._eval_every == 0 else self.evaluation * (1 + evaluations)
        at_end += 2 * self.saving if self.saving else _RESERVE_SHARE * budget
        at_end = min(at_end, max(0.0, budget - self.evaluation) / 3)
        return max(0, math.floor((budget - self.used - at_end) / self.step_seconds()) - self.num_untimed)


def read_plan(path: Path) -> tuple[list[PlanLine], bool]:
    """The lines of a `plan.jsonl`, and whether they have checksums; none where there is no file; a last line cut by a
    crash is left out.

    Raises: CheckpointError for a damaged line before the last, or one that its checksum does not agree with.
    """
    lines: list[PlanLine] = []
    if not path.exists():
        return lines, True
    is_protected = True
    texts = _texts_of(path.read_text(encoding="utf-8", errors="replace"))
    for number, text in enumerate(texts, 1):
        damaged = CheckpointError(f"{path}, line {number} is damaged; restore the file or start a new run.")
        try:
            record = decode_json(text)
            step, total_steps, reason = (record[name] for name in ("step", "total_steps", "reason"))
        except (ValueError, KeyError, TypeError) as cause:
            if number == len(texts):
                break
            raise damaged from cause
        if type(step) is not int or type(total_steps) is not int or type(reason) is not str or step < 0:
            raise damaged
        line = PlanLine(step=step, total_steps=total_steps, reason=reason)
        had_checksums = is_protected and bool(lines)
        is_protected = "checksum" in record
        if (is_protected and record["checksum"] != _checksum([*lines, line])) or (had_checksums and not is_protected):
            raise CheckpointError(
                f"{path}, line {number} does not agree with its checksum: it was edited or damaged. Restore the file, "
                "or start a new run in another folder."
            )
        lines.append(line)
    return lines, is_protected


def _texts_of(written: str) -> list[str]:
    """Return the lines of a file that are not blank."""
    return [text for text in written.split("\n") if text.strip()]


def _checksum(lines: Sequence[PlanLine]) -> str:
    """A hash of the last line and of all before it, so that none can be changed, left out or moved."""
    text = json.dumps([list(asdict(line).values()) for line in lines])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _text(line: PlanLine, before: Sequence[PlanLine]) -> str:
    return json.dumps({**asdict(line), "checksum": _checksum([*before, line])})


def _disagreement(lines: Sequence[PlanLine], begins: PlanLine, saved: Sequence[PlanLine], *, is_counted: bool) -> str:
    """Return what is wrong with the lines of a plan, as the end of a sentence; "" where nothing is."""
    if len(lines) < len(saved) or not lines:
        return f"has {len(lines)} line(s), and the run's checkpoint knows {len(saved)}"
    for line, known in zip(lines, saved, strict=False):
        if line != known:
            return f"says {line.total_steps:,} steps at step {line.step:,}, the run's checkpoint {known.total_steps:,}"
    first = lines[0]
    if (first.step, first.total_steps) != (begins.step, begins.total_steps):
        return (
            f"begins at step {first.step:,} with {first.total_steps:,} steps, and the recipe ({begins.reason}) with "
            f"{begins.total_steps:,} at step 0"
        )
    for before, line in pairwise(lines):
        ended = line.total_steps == line.step < first.total_steps  # all that a counted run can add
        if line.step <= before.step or line.total_steps < line.step or (is_counted and not ended):
            return f"says {line.total_steps:,} steps at step {line.step:,}, which no run of this recipe does"
    return ""
