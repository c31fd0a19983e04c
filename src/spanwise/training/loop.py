"""The only training loop. It knows packs, steps, seconds and a disk; it knows no objective and no task.

Everything random or scheduled is a pure function of the step, so a run killed anywhere goes on from its newest whole
checkpoint and, on the same machine with the same threads, computes the very same bits.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import nn

from spanwise.config import to_record
from spanwise.data.batch import Batch
from spanwise.data.prefetch import Prefetcher
from spanwise.errors import CheckpointError, InterruptedAndSaved
from spanwise.runtime.device import choose_device, numerics_fingerprint, resolve_precision
from spanwise.runtime.distributed import Group
from spanwise.runtime.files import atomic_folder, require_free_space, verify_folder, write_text_atomic
from spanwise.runtime.interrupt import StopRequested
from spanwise.runtime.progress import RunLog
from spanwise.training.checkpoint import (
    check_identity,
    fingerprint_change,
    load_tensors,
    newest_checkpoint,
    require_finite,
    save_checkpoint,
    training_tensors,
)
from spanwise.training.optim import build_optimizer
from spanwise.training.plan import HARMLESS_OPTIONS, BudgetClock, Plan, TrainingOptions
from spanwise.training.reduce import Reducer, SeveralProcesses, SingleProcess
from spanwise.training.run_folder import RunFolder, claim_run_folder
from spanwise.training.step import BadNumbers, StepSums, Updater
from spanwise.training.timing import SectionTimer, flop_utilisation, matmul_peak

# Fields of a log line that tell how long things took; all others are equal whenever the training is.
TIMING_FIELDS = frozenset({"seconds", "seconds_left", "tokens_per_second", "flop_utilisation", "time"})

_BYTES_A_PARAMETER = 3 * 12  # weights and two moments in float32; two checkpoints are kept while a third is written


class BatchSource(Protocol):
    """The data of a run as pure functions of the step; index 0 is the first step."""

    def step(self, index: int, rank: int = 0, num_ranks: int = 1) -> list[Batch]:
        """The packs of one step; of several processes that share them, those of process `rank`: pack k where
        k modulo `num_ranks` is `rank`."""
        ...

    def position(self, index: int) -> dict[str, Any]:
        """What lies before that step: `epoch` (fractional), and `tokens` where known ahead; all others are logged."""
        ...


@dataclass(frozen=True, kw_only=True)
class TrainingResult:
    """How a run ended."""

    steps: int
    tokens: int  # real tokens seen
    seconds: float  # wall-clock, earlier parts of a resumed run included
    losses: dict[str, float]  # means since the log line before the last
    evaluation: dict[str, float]  # the last one; empty where there is none
    first_evaluation: dict[str, float]  # before the first step
    final: Path
    resumed_from: int | None = None  # the step a resumed run went on from


@dataclass
class _Progress:
    """What changes from step to step and is written to state.json."""

    step: int = 0
    tokens: int = 0
    seconds: float = 0.0
    evaluated_step: int | None = None
    evaluation: dict[str, Any] = field(default_factory=dict)
    first_evaluation: dict[str, Any] = field(default_factory=dict)
    last_losses: dict[str, float] = field(default_factory=dict)
    since_log: StepSums = field(default_factory=StepSums)


def train(
    model: nn.Module,
    source: BatchSource,
    options: TrainingOptions,
    run_folder: str | Path,
    *,
    save_model: Callable[[Path], None],
    evaluate: Callable[[], Mapping[str, float]] | None = None,
    resume: bool = False,
    log: RunLog | None = None,
    identity: Mapping[str, Any] | None = None,
    device: str | None = None,
    flops_per_token: float | None = None,
    resume_command: str = "",
    prefetch_depth: int = 2,
    stop_early: Callable[[], str | None] | None = None,
    group: Group | None = None,
    began: float | None = None,
) -> TrainingResult:
    """Train `model` in place to the end of the plan and commit `run_folder/final`.

    `save_model(folder)` writes the model's own folder (weights, config, tokenizer); the loop adds `training/` to
    checkpoints. `evaluate()` returns finite numbers and must be constant; it runs before the first step, every
    `eval_every` steps and at the end. `identity` is what a resumed run must share (recipe record, store and tokenizer
    hash); the options are added to it. `flops_per_token` are the model's own operations for one token, forward and
    backward. `stop_early()` is asked after each evaluation between the steps: a reason ends the run there, and the plan
    records it. With `resume` the newest whole checkpoint is taken, or the run starts where there is none yet. The
    processes of `group` share the packs of each step; the first of them evaluates, saves and logs. Seconds count from
    `began` (a moment of `time.perf_counter`; by default now), so that a budget can hold what came before the loop.

    Raises: ConfigError (options, a foreign folder, another identity), FolderInUseError, CheckpointError (no whole
    checkpoint), NumericsError (numbers that are not finite; nothing bad is saved), SpanwiseError (disk),
    InterruptedAndSaved (SIGINT or SIGTERM; a checkpoint was written), PeerLostError (another process has gone).
    """
    began = time.perf_counter() if began is None else began
    reducer = SingleProcess() if group is None else SeveralProcesses(group)
    with share_run_folder(run_folder, reducer, resume=resume) as folder, StopRequested() as stop:
        log = log or RunLog(run_folder) if reducer.rank == 0 else RunLog(None)
        loop = _Loop(model, source, options, folder, log, reducer)
        loop.save_model, loop.evaluate_now, loop.stop_early = save_model, evaluate, stop_early
        loop.prepare(dict(identity or {}), device, flops_per_token)
        resumed_from = loop.restore() if resume else None
        loop.open_plan()
        try:
            return loop.run(stop, began, resumed_from, resume_command, prefetch_depth)
        finally:
            loop.log.close()


@contextlib.contextmanager
def share_run_folder(folder: str | Path, reducer: Reducer, *, resume: bool) -> Iterator[RunFolder]:
    """The leader claims the run folder before any other process looks into it."""
    if reducer.rank == 0:
        with claim_run_folder(folder, resume=resume) as claimed:
            reducer.any(False)
            yield claimed
    else:
        reducer.any(False)
        yield RunFolder(Path(folder))


class _Loop:
    """One run in progress."""

    plan: Plan
    save_model: Callable[[Path], None]
    evaluate_now: Callable[[], Mapping[str, float]] | None
    stop_early: Callable[[], str | None] | None

    def __init__(
        self,
        model: nn.Module,
        source: BatchSource,
        options: TrainingOptions,
        folder: RunFolder,
        log: RunLog,
        reducer: Reducer,
    ) -> None:
        self.model, self.source, self.options, self.folder, self.log = model, source, options, folder, log
        self.reducer = reducer
        self.progress = _Progress()

    def prepare(self, identity: dict[str, Any], device: str | None, flops_per_token: float | None) -> None:
        """Everything that needs no checkpoint: device, precision, threads, optimizer."""
        options = self.options
        if options.threads is not None:
            torch.set_num_threads(options.threads)
        self.device = choose_device(device)
        self.precision = resolve_precision(options.precision, self.device)
        self.model.to(self.device)
        self.optimizer = build_optimizer(self.model, options)
        self.timer = SectionTimer(self.device)
        self.updater = Updater(
            model=self.model,
            optimizer=self.optimizer,
            device=self.device,
            precision=self.precision,
            seed=options.seed,
            max_grad_norm=options.max_grad_norm,
            timer=self.timer,
            reducer=self.reducer,
        )
        self.identity = json.loads(json.dumps(identity))
        record = to_record(options)
        self.identity["options"] = {name: record[name] for name in record if name not in HARMLESS_OPTIONS}
        self.flops_per_token = flops_per_token
        self._timed_tokens = 0  # since this process' last log line; a line that a resume cut holds older steps too
        self.saved_step: int | None = None
        self._saved_at = time.monotonic()
        num_parameters = sum(parameter.numel() for parameter in self.model.parameters())
        require_free_space(self.folder.path, _BYTES_A_PARAMETER * num_parameters)
        self.clock = self._new_clock()

    def restore(self) -> int | None:
        """Go back to the newest whole checkpoint; None where the run had not saved any."""
        is_leader = self.reducer.rank == 0
        found = newest_checkpoint(self.folder.checkpoints, self.log.say) if is_leader else None
        found = self.reducer.leaders(found)
        if found is None:
            self.log.cut_after(-1)
            return None
        path, state = found
        check_identity(state["identity"], self.identity)
        threads = state["numerics"]["threads"]
        if self.options.threads is None and threads != torch.get_num_threads():
            torch.set_num_threads(threads)  # the number of threads decides the last bits: keep the run's own
        changed = fingerprint_change(state["numerics"], self._fingerprint())
        if changed:
            self.log.say(changed)
        load_tensors(path, self.model, self.optimizer)
        kept = dict(state["progress"])
        since_log = StepSums(**kept.pop("since_log"))
        self.progress = _Progress(**kept, since_log=since_log)
        self.clock = self._new_clock(self.progress.seconds)
        self.saved_step = self.progress.step
        self.log.cut_after(self.progress.step)
        self.log.say(f"Going on from step {self.progress.step:,} ({path}).")
        return self.progress.step

    def open_plan(self) -> None:
        """Read or begin the plan; the leader's file is every process's plan."""
        plan = Plan.open(self.folder.plan, self.options, self.source) if self.reducer.rank == 0 else None
        lines = self.reducer.leaders(plan.lines if plan else [])
        self.plan = plan or Plan(None, lines, self.options)

    def _fingerprint(self) -> dict[str, Any]:
        """What equal bits depend on; one process alone is the rule and isn't mentioned."""
        several = {"processes": self.reducer.size} if self.reducer.size > 1 else {}
        return {**numerics_fingerprint(self.device, self.precision), **several}

    def _packs(self, index: int) -> list[Batch]:
        """The packs of a step that are computed here."""
        if self.reducer.size == 1:
            return self.source.step(index)
        return self.source.step(index, self.reducer.rank, self.reducer.size)

    def run(
        self,
        stop: StopRequested,
        began: float,
        resumed_from: int | None,
        resume_command: str,
        prefetch_depth: int,
    ) -> TrainingResult:
        now = self.progress
        self._counted_until = began
        if self.flops_per_token:  # measured before the clock of the first log line starts
            peak = matmul_peak(str(self.device), self.precision, torch.get_num_threads())
            self.peak = sum(self.reducer.told(peak))
        self.timer.take()
        if now.step == 0 and now.evaluated_step is None:
            self._evaluate(first=True)
        elif self._evaluation_is_due() and now.evaluated_step != now.step:
            self._evaluate()
        asked = self.reducer.any  # decisions that depend on a signal or a clock are those of all processes
        with Prefetcher(self._packs, first=now.step, depth=prefetch_depth) as packs:
            self.model.train()
            while now.step < self.plan.total_after(now.step):
                self._one_step(packs)
                if self._evaluation_is_due() and not asked(bool(stop)):
                    self._evaluate()
                    self._end_if_asked()
                if self.reducer.leaders(self._saving_is_due()) and not asked(bool(stop)):
                    self._save()
                if asked(bool(stop)):
                    self._leave(resume_command)
                self._count_seconds()
                if self.options.budget is not None:
                    self._revise_plan()
        if now.evaluated_step != now.step:
            self._evaluate()
        if self.saved_step != now.step:
            self._save()
        if asked(bool(stop)) and not self.reducer.leaders(self._final_is_whole()):
            self._leave(resume_command)
        if self.reducer.rank == 0:
            self._commit_final()
        self.reducer.any(False)  # nobody leaves before the model is there
        return TrainingResult(
            steps=now.step,
            tokens=now.tokens,
            seconds=now.seconds,
            losses=now.last_losses,
            evaluation=now.evaluation,
            first_evaluation=now.first_evaluation,
            final=self.folder.final,
            resumed_from=resumed_from,
        )

    def _revise_plan(self) -> None:
        """The leader's clock decides."""
        if self.reducer.rank == 0:
            known = len(self.plan.lines)
            self.plan.revise(self.progress.step, self.clock)
            self.reducer.leaders(self.plan.lines[known:])
        else:
            self.plan.lines += self.reducer.leaders([])

    def _one_step(self, packs: Prefetcher[list[Batch]]) -> None:
        now = self.progress
        began = time.perf_counter()
        with self.timer.section("data"):
            batches = packs.get(now.step)
        step = now.step + 1
        rate = self.plan.learning_rate(step)
        try:
            sums, norm = self.updater.update(step, batches, rate)
        except BadNumbers as error:
            record = {"step": error.step, "pack": error.pack, "ids": list(error.ids), "error": str(error)}
            if self.reducer.rank == 0:
                write_text_atomic(self.folder.path / "bad_step.json", json.dumps(record, indent=1) + "\n")
            error.args = (f"{error} {self._where_to_start_again()}",)
            raise
        now.step = step
        now.tokens += sums.num_tokens
        now.since_log.add(sums)
        self._timed_tokens += sums.num_tokens
        self.clock.add_step(time.perf_counter() - began)
        if step % self.options.log_every == 0 or step == self.plan.total_after(step):
            self._log(rate, norm)

    def _log(self, rate: float, norm: float) -> None:
        now, sums = self.progress, self.progress.since_log
        self._count_seconds()
        times = self.timer.take()
        means = sums.means()
        weights = getattr(self.model, "loss_weights", {})
        spent = times["total"] - times.get("evaluation", 0.0) - times.get("checkpoint", 0.0)
        speed = self._timed_tokens / max(spent, 1e-9)
        total = self.plan.total_after(now.step)
        record: dict[str, Any] = {
            "step": now.step,
            "total_steps": total,
            **{key: value for key, value in self.source.position(now.step).items() if key != "tokens"},
            "loss": sum(weights.get(name, 1.0) * mean for name, mean in means.items()),
            "losses": means,
            "accuracy": sums.accuracies(),
            "targets": dict(sums.counts),
            "learning_rate": rate,
            "grad_norm": norm,
            "tokens": now.tokens,
            "padding_share": sums.num_padding / max(1, sums.num_padding + sums.num_tokens),
            "tokens_per_second": speed,
            "seconds": now.seconds,
            "seconds_left": (total - now.step) * self.clock.step_seconds(),
            "time": times,
        }
        if self.flops_per_token:
            record["flop_utilisation"] = flop_utilisation(self.flops_per_token, speed, self.peak)
        self.log.write(record)
        self.log.show(record)
        now.last_losses = means
        now.since_log = StepSums()
        self._timed_tokens = 0

    def _evaluation_is_due(self) -> bool:
        every = self.options.eval_every
        return self.evaluate_now is not None and every is not None and self.progress.step % every == 0

    def _saving_is_due(self) -> bool:
        every, minutes = self.options.save_every, self.options.save_minutes
        if every is not None and self.progress.step % every == 0:
            return True
        return minutes is not None and time.monotonic() - self._saved_at >= 60 * minutes

    def _evaluate(self, *, first: bool = False) -> None:
        """Ask for the constant evaluation; it draws nothing and moves nothing."""
        now = self.progress
        now.evaluated_step = now.step
        if self.evaluate_now is None:
            return
        began = time.perf_counter()
        with self.timer.section("evaluation"):
            measured: dict[str, float] = {}
            if self.reducer.rank == 0:
                self.model.eval()
                measured = {name: float(value) for name, value in self.evaluate_now().items()}
                self.model.train()
            now.evaluation = self.reducer.leaders(measured)
        self.clock.evaluation = time.perf_counter() - began
        if first:
            now.first_evaluation = dict(now.evaluation)
        self._count_seconds()
        self.log.write({"step": now.step, "evaluation": now.evaluation, "seconds": now.seconds})
        said = "  ".join(f"{name} {value:.4g}" for name, value in now.evaluation.items())
        self.log.say(f"evaluation at step {now.step:,}  {said}")

    def _end_if_asked(self) -> None:
        """Make this step the last one, durably, where the evaluation says that more would be in vain."""
        now = self.progress
        asks = self.stop_early is not None and self.reducer.rank == 0
        reason = self.reducer.leaders(self.stop_early() if asks and self.stop_early is not None else None)
        if reason and now.step < self.plan.total_after(now.step):
            self.plan.add(now.step, now.step, reason)
            self.log.say(f"Step {now.step:,} is the last: {reason}.")

    def _save(self) -> None:
        now = self.progress
        self.saved_step = now.step
        self._saved_at = time.monotonic()
        if self.reducer.rank != 0:
            return
        began = time.perf_counter()
        self._count_seconds()
        state = {
            "progress": dataclasses.asdict(now),
            "identity": self.identity,
            "numerics": self._fingerprint(),
        }
        with self.timer.section("checkpoint"):
            save_checkpoint(
                self.folder.checkpoints,
                now.step,
                self.model,
                self.optimizer,
                state,
                self.save_model,
                keep=self.options.keep,
            )
        self._saved_at = time.monotonic()
        self.clock.saving = time.perf_counter() - began

    def _leave(self, resume_command: str) -> None:
        """Save what there is and say how to go on."""
        if self.saved_step != self.progress.step:
            self._save()
        self.reducer.any(False)  # nobody leaves before it is saved
        how = f" Go on with:\n  {resume_command}" if resume_command else " Go on with --resume."
        raise InterruptedAndSaved(f"Stopped on request at step {self.progress.step:,}; everything is saved.{how}")

    def _where_to_start_again(self) -> str:
        found = newest_checkpoint(self.folder.checkpoints, self.log.say)
        if found is None:
            return "No checkpoint was saved before: start a new run."
        return f"The last good checkpoint is {found[0]}; start a new run from it (pretrain --init, finetune --model)."

    def _final_is_whole(self) -> bool:
        try:
            verify_folder(self.folder.final)
        except CheckpointError:
            return False
        return True

    def _commit_final(self) -> None:
        """Write the trained model once; a finished run that is resumed finds it and changes nothing."""
        if self._final_is_whole():
            return
        require_finite(training_tensors(self.model, self.optimizer), self.progress.step)
        self.model.eval()
        with atomic_folder(self.folder.final, existing="replace") as temporary:
            self.save_model(temporary)

    def _new_clock(self, used: float = 0.0) -> BudgetClock:
        eval_every = 0 if self.evaluate_now is None else self.options.eval_every
        return BudgetClock(used, eval_every=eval_every, save_every=self.options.save_every)

    def _count_seconds(self) -> None:
        moment = time.perf_counter()
        self.progress.seconds += moment - self._counted_until
        self.clock.used = self.progress.seconds
        self._counted_until = moment
