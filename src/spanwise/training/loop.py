"""The only training loop. It knows packs, steps, seconds and a disk; it knows no objective and no task.

Everything random or scheduled is a pure function of the step, so a run killed anywhere goes on from its newest whole
checkpoint and, on the same machine with the same threads, computes the very same bits (on a GPU with `deterministic`).
Numbers of a step are read where a log line, an evaluation or a checkpoint needs them, and nothing waits before.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import json
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, runtime_checkable

import torch
from torch import nn

from spanwise.config import to_record
from spanwise.data.batch import Batch
from spanwise.data.prefetch import Prefetcher
from spanwise.errors import InterruptedAndSaved
from spanwise.runtime.device import choose_device, deterministic, numerics_fingerprint, resolve_precision
from spanwise.runtime.files import JsonObject, write_text_atomic
from spanwise.runtime.interrupt import StopRequested
from spanwise.runtime.processes.distributed import Group
from spanwise.runtime.progress import RunLog, read_metrics
from spanwise.training.checkpoint import Saver, check_identity, fingerprint_change, load_tensors, newest_checkpoint
from spanwise.training.compiled.graphs import graphs_of
from spanwise.training.compiled.regions import HasRegions, compiled_regions, is_wanted
from spanwise.training.optim import build_optimizer
from spanwise.training.pieces import KeptModel
from spanwise.training.plan import HARMLESS_OPTIONS, BudgetClock, Plan, TrainingOptions
from spanwise.training.reduce import Reducer, SeveralProcesses, SingleProcess
from spanwise.training.run_folder import RunFolder, claim_run_folder
from spanwise.training.schedule import PlanLine
from spanwise.training.step import BadNumbers, StepSums, Updater
from spanwise.training.threads import keep_threads
from spanwise.training.timing import SectionTimer, Stopwatch, flop_utilisation, peak_beside_others
from spanwise.training.unread import Unread, UnreadSteps


@runtime_checkable
class RemembersEvaluations(Protocol):
    """An evaluation that decides by what it measured before (the best score, how long ago it was).

    `memory` is a record that fits into JSON; the loop keeps it in every checkpoint and sets it when a run goes on.
    """

    memory: JsonObject

    def recall(self, evaluations: Sequence[JsonObject]) -> None:
        """Make the memory anew from all evaluations so far (each with its `step`), for a checkpoint of an earlier
        version that has none."""
        ...


@runtime_checkable
class KnowsStep(Protocol):
    """An evaluation that says of which step it is: the loop sets `step` before each call."""

    step: int


@dataclass
class RunState:
    """The numbers of a run after `step` updates: all that changes from step to step and decides how a run goes on.

    They are written into every checkpoint, under the checkpoint's manifest, so that a resumed run decides by numbers
    whose checksums were compared and never by the log.
    """

    step: int = 0
    tokens: int = 0  # real ones seen
    seconds: float = 0.0  # of wall-clock time, earlier parts of a resumed run included
    evaluated_step: int | None = None
    evaluation: JsonObject = field(default_factory=dict)
    first_evaluation: JsonObject = field(default_factory=dict)
    last_losses: dict[str, float] = field(default_factory=dict)
    since_log: StepSums = field(default_factory=StepSums)
    logged: int = 0  # lines of metrics.jsonl

    def to_record(self) -> JsonObject:
        """Return the state as a checkpoint keeps it."""
        return dataclasses.asdict(self)

    @classmethod
    def from_record(cls, record: JsonObject) -> RunState:
        """Read the state of a checkpoint; values that an earlier version did not keep have their defaults."""
        return cls(**{**record, "since_log": StepSums(**record["since_log"])})


# Fields of a log line that tell how long things took; all others are equal whenever the training is.
TIMING_FIELDS = frozenset({"seconds", "seconds_left", "tokens_per_second", "flop_utilisation", "time"})


class BatchSource(Protocol):
    """The data of a run as pure functions of the step; index 0 is the first step."""

    def step(self, index: int, rank: int = 0, num_ranks: int = 1) -> list[Batch]:
        """The packs of one step; of several processes that share them, those of process `rank`: pack k where
        k modulo `num_ranks` is `rank`."""
        ...

    def position(self, index: int) -> JsonObject:
        """Return what lies before that step: `epoch` (fractional), `tokens` where known ahead; others are logged."""
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
    identity: JsonObject | None = None,
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
    `eval_every` steps (or at such shares of the run) and at the end; what it remembers (`RemembersEvaluations`) is kept
    in checkpoints. `identity` is what a resumed run must share (recipe record, store and tokenizer hash); the options
    are added to it. `flops_per_token` are the model's own operations for one token, forward and backward. After each
    evaluation between the steps `stop_early()` may give a reason to end the run there, which the plan records. With
    `resume` the newest whole checkpoint is taken, or the run starts where there is none yet. The processes of `group`
    share the packs of each step; the first of them evaluates, saves and logs. With `options.sharding` each keeps a
    share of the model alone, also when the call returns. Seconds count from `began` (a moment of
    `time.perf_counter`; by default now), so that a budget can hold what came before the loop.

    Raises: ConfigError (options, a foreign folder, another identity), FolderInUseError, CheckpointError (no whole
    checkpoint, a plan that was changed), NumericsError (numbers that are not finite; nothing bad is saved),
    SpanwiseError (disk), InterruptedAndSaved (SIGINT or SIGTERM; a checkpoint was written), PeerLostError (another
    process has gone).
    """
    began = time.perf_counter() if began is None else began
    reducer = SingleProcess() if group is None else SeveralProcesses(group)
    with (
        share_run_folder(run_folder, reducer, resume=resume) as folder,
        StopRequested() as stop,
        deterministic(options.deterministic),
    ):
        loop = _Loop(
            model=model,
            source=source,
            options=options,
            folder=folder,
            log=log or RunLog(run_folder) if reducer.rank == 0 else RunLog(None),
            reducer=reducer,
            group=group,
            save_model=save_model,
            evaluate=evaluate,
            stop_early=stop_early,
            identity=dict(identity or {}),
            device=choose_device(device),
            flops_per_token=flops_per_token,
            resume_command=resume_command,
        )
        resumed_from = loop.begin(resume=resume)
        try:
            loop.run(stop, began, prefetch_depth)
            return loop.result(resumed_from)
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


@dataclass(eq=False, kw_only=True)
class _Loop:
    """One run in progress."""

    model: nn.Module
    source: BatchSource
    options: TrainingOptions
    folder: RunFolder
    log: RunLog
    reducer: Reducer
    group: Group | None
    save_model: Callable[[Path], None]
    evaluate: Callable[[], Mapping[str, float]] | None
    stop_early: Callable[[], str | None] | None
    identity: JsonObject
    device: torch.device
    flops_per_token: float | None
    resume_command: str

    def __post_init__(self) -> None:
        """Make everything that needs no checkpoint: precision, threads, optimizer."""
        options = self.options
        if options.threads is not None:
            torch.set_num_threads(options.threads)
        self.precision = resolve_precision(options.precision, self.device)
        self.model.to(self.device)
        self.optimizer = build_optimizer(self.model, options)
        self.kept = self._share_model()
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
            exact_sums=options.exact_sums,
            kept=self.kept,
            graphs=graphs_of(options.compile, self.device, self.log.say, self.reducer.any),
        )
        self.identity = json.loads(json.dumps(self.identity))
        record = to_record(options)
        self.identity["options"] = {name: record[name] for name in record if name not in HARMLESS_OPTIONS}
        wants_all = self.options.compile in ("on", "graphs") or isinstance(self.model, HasRegions)
        self.is_compiled = wants_all and is_wanted(self.options.compile, self.device) and not self.kept.is_cut
        if self.kept.is_cut and self.options.compile in ("on", "graphs"):
            self.log.say("Nothing is compiled: with training.sharding layers are gathered between their operators.")
        self.state = RunState()
        self.plan = Plan(None, [], options)
        self._saved_plan: list[PlanLine] = []  # as the checkpoint that the run goes on from knows it
        self.unread = UnreadSteps(self.device)
        self._watches: deque[Stopwatch] = deque()  # of steps that the clock doesn't know yet
        self._timed_tokens = 0  # since this process' last log line; a line that a resume cut holds older steps too
        self.saver = Saver(
            folder=self.folder,
            options=options,
            model=self.model,
            optimizer=self.optimizer,
            save_model=self.save_model,
            log=self.log,
            is_leader=self.reducer.rank == 0,
            kept=self.kept,
        )
        self.clock = self._new_clock()

    def _share_model(self) -> KeptModel:
        """Cut the model among the processes where that is asked for and there are several."""
        if self.options.sharding == "none":
            return KeptModel(self.model)
        if self.group is None:
            self.log.say("training.sharding does nothing in one process: it keeps the whole model.")
            return KeptModel(self.model)
        from spanwise.training.fsdp import ShardedModel  # with torch.distributed, which one process alone needs not

        kept = ShardedModel(self.model, self.optimizer, self.group, keeps_gradients=self.options.exact_sums)
        self.log.say(f"Each of {kept.num_parts} processes keeps {kept.shares}, with their moments.")
        return kept

    def restore(self) -> int | None:
        """Go back to the newest whole checkpoint; None where the run had not saved any."""
        is_leader = self.reducer.rank == 0
        found = newest_checkpoint(self.folder.checkpoints, self.log.say) if is_leader else None
        found = self.reducer.from_leader(found)
        if found is None:
            self.log.cut_after(-1)
            return None
        path, state = found
        check_identity(state["identity"], self.identity)
        if self.options.threads is None:
            keep_threads(state, self.reducer, self.log.say)
        changed = fingerprint_change(state["numerics"], self._fingerprint())
        if changed:
            self.log.say(changed)
        load_tensors(path, self.model, self.optimizer, self.kept)
        self.state = RunState.from_record(state["progress"])
        self._saved_plan = [PlanLine(**line) for line in state.get("plan", [])]
        self.clock = self._new_clock(self.state.seconds)
        self.saver.saved_step = self.state.step
        lines = self.log.cut_after(self.state.step, self.state.logged or None)
        if is_leader and lines < self.state.logged:
            missing = self.state.logged - lines
            self.log.say(f"{missing} of the {self.state.logged} lines logged before this checkpoint are missing.")
        if is_leader and isinstance(self.evaluate, RemembersEvaluations):
            self._remember(self.evaluate, state.get("memory"))
        self.log.say(f"Going on from step {self.state.step:,} ({path}).")
        return self.state.step

    def _remember(self, evaluation: RemembersEvaluations, memory: JsonObject | None) -> None:
        """Give an evaluation back what it knew when the checkpoint was written."""
        if memory is not None:
            evaluation.memory = memory
            return
        self.log.say(
            "This checkpoint is of an earlier version: what was scored before is read from metrics.jsonl, "
            "which has no checksum."
        )
        records = read_metrics(self.folder.metrics) if self.folder.metrics.exists() else []
        evaluation.recall([{**r["evaluation"], "step": r["step"]} for r in records if "evaluation" in r])

    def begin(self, *, resume: bool) -> int | None:
        """Start or go on; the leader's plan is every process's plan. Returns the step to go on from."""
        resumed_from = self.restore() if resume else None
        if self.reducer.rank == 0:
            self.plan = Plan.open(self.folder.plan, self.options, self.source, saved=self._saved_plan, say=self.log.say)
        self.plan.lines = self.reducer.from_leader(self.plan.lines)
        return resumed_from

    def _fingerprint(self) -> JsonObject:
        """Return what equal bits depend on; one process alone is the rule and isn't mentioned."""
        numerics = numerics_fingerprint(self.device, self.precision)
        if self.is_compiled:
            numerics["compiled"] = True
        if self.options.exact_sums:
            return {**numerics, "exact_sums": True}  # the number of processes changes nothing then
        if self.reducer.size == 1:
            return numerics
        sharding = {"sharding": self.options.sharding} if self.kept.is_cut else {}
        return {**numerics, "processes": self.reducer.size, **sharding}

    def _packs(self, index: int) -> list[Batch]:
        """The packs of a step that are computed here."""
        if self.reducer.size == 1:
            packs = self.source.step(index)
        else:
            packs = self.source.step(index, self.reducer.rank, self.reducer.size)
        packs = [self.updater.keyed(index + 1, pack) for pack in packs]
        return [pack.pinned() for pack in packs] if self.device.type == "cuda" else packs

    def run(self, stop: StopRequested, began: float, prefetch_depth: int) -> None:
        """Do every step that is left, and commit the model."""
        now = self.state
        self._counted_until = began
        if self.flops_per_token:  # measured before the clock of the first log line starts
            peak = peak_beside_others(str(self.device), self.precision, torch.get_num_threads())
            self.peak = sum(self.reducer.gather(peak))
        self.timer.take()
        if now.step == 0 and now.evaluated_step is None:
            self._evaluate(first=True)
        elif self._evaluation_is_due() and now.evaluated_step != now.step:
            self._evaluate()
            self._end_if_wanted()
        with self._compiled():
            self._run_steps(stop, prefetch_depth)
        if now.evaluated_step != now.step:
            self._evaluate()
        if self.saver.saved_step != now.step:
            self._save()
        if self.reducer.any(bool(stop)) and not self.reducer.from_leader(self.saver.final_is_whole()):
            self._leave()
        self.saver.commit_final(now.step)
        self.reducer.any(False)  # nobody leaves before the model is there

    @contextlib.contextmanager
    def _compiled(self) -> Iterator[None]:
        """Compile what this run compiles, on the first pack of its next step."""
        packs = self._packs(self.state.step) if self.is_compiled else []
        if not packs:
            self._record(packs)
            yield
            return
        self.model.train()
        first = next((pack for pack in packs if pack.is_usual), packs[0])
        rehearse = functools.partial(self.updater.rehearse, first)
        with compiled_regions(self.model, first, rehearse, self.log.say) as self.is_compiled:
            self._record(packs)
            self.timer.take()
            yield

    def _record(self, packs: Sequence[Batch]) -> None:
        """Keep steps as CUDA graphs, where that is asked for and works in every process."""
        if self.updater.graphs is not None:
            ahead = [pack for later in (1, 2) for pack in self._packs(self.state.step + later)] if packs else []
            self.updater.record([*packs, *ahead])

    def _run_steps(self, stop: StopRequested, prefetch_depth: int) -> None:
        """Do every step that is left."""
        now = self.state
        any_process = self.reducer.any  # decisions that depend on a signal or a clock are those of all processes
        with Prefetcher(self._packs, first=now.step, depth=prefetch_depth) as packs:
            self.model.train()
            while now.step < self.plan.total_after(now.step):
                self._one_step(packs)
                if self._evaluation_is_due() and not any_process(bool(stop)):
                    self._evaluate()
                    self._end_if_wanted()
                if self.reducer.from_leader(self.saver.is_due(now.step)) and not any_process(bool(stop)):
                    self._save()
                if any_process(bool(stop)):
                    self._leave()
                self._count_seconds()
                if self.options.budget is not None:
                    self._revise_plan()
            self._read_all()

    def result(self, resumed_from: int | None) -> TrainingResult:
        """How the run ended."""
        now = self.state
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
            self.plan.revise(self.state.step, self.clock)
        self.plan.lines = self.reducer.from_leader(self.plan.lines)

    def _one_step(self, packs: Prefetcher[list[Batch]]) -> None:
        """Begin the next step, and read the steps that are due."""
        now = self.state
        watch = Stopwatch(self.device)
        with self.timer.section("data"):
            batches = packs.get(now.step)
        step = now.step + 1
        rate = self.plan.learning_rate(step)
        begun = self.updater.begin(step, batches, rate)
        watch.stop()
        now.step = step
        self._watches.append(watch)
        self._time_steps()
        total = self.plan.total_after(step)
        is_logged = step % self.options.log_every == 0 or step == total
        self.unread.add(Unread(begun, rate if is_logged else None, total))
        self._read(self.unread.take_due())

    def _time_steps(self) -> None:
        """Tell the clock of the budget about the steps that the device has done since it was asked last."""
        while self._watches and self._watches[0].is_done():
            self.clock.add_step(self._watches.popleft().seconds())
        self.clock.num_untimed = len(self._watches)

    def _read(self, steps: list[Unread]) -> None:
        """Read the numbers of steps, and log those that have a line."""
        now = self.state
        try:
            found = self.updater.read([one.begun for one in steps]) if steps else []
        except BadNumbers as error:
            record = {"step": error.step, "pack": error.pack, "ids": list(error.ids), "error": str(error)}
            if self.reducer.rank == 0:
                write_text_atomic(self.folder.path / "bad_step.json", json.dumps(record, indent=1) + "\n")
            error.args = (f"{error} {self.saver.where_to_start_again()}",)
            raise
        for one, (sums, norm) in zip(steps, found, strict=True):
            now.tokens += sums.num_tokens
            now.since_log.add(sums)
            self._timed_tokens += sums.num_tokens
            if one.learning_rate is not None:
                self._log(one.begun.step, one.total_steps, one.learning_rate, norm)

    def _read_all(self) -> None:
        """Wait for the device; from here on the state is that of all steps that were begun."""
        self._read(self.unread.take_all())
        self._time_steps()

    def _log(self, step: int, total: int, rate: float, norm: float) -> None:
        now, sums = self.state, self.state.since_log
        self._count_seconds()
        times = self.timer.take()
        means = sums.means()
        weights = getattr(self.model, "loss_weights", {})
        spent = times["total"] - times.get("evaluation", 0.0) - times.get("checkpoint", 0.0)
        speed = self._timed_tokens / max(spent, 1e-9)
        record: JsonObject = {
            "step": step,
            "total_steps": total,
            **{key: value for key, value in self.source.position(step).items() if key != "tokens"},
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
            "seconds_left": (total - step) * self.clock.step_seconds(),
            "time": times,
        }
        if self.flops_per_token:
            record["flop_utilisation"] = flop_utilisation(self.flops_per_token, speed, self.peak)
        self._write(record)
        self.log.show(record)
        now.last_losses = means
        now.since_log = StepSums()
        self._timed_tokens = 0

    def _write(self, record: JsonObject) -> None:
        self.log.write(record)
        self.state.logged += 1

    def _evaluation_is_due(self) -> bool:
        return self.evaluate is not None and self.plan.evaluation_is_due(self.state.step)

    def _evaluate(self, *, first: bool = False) -> None:
        """Ask for the constant evaluation; it draws nothing and moves nothing."""
        self._read_all()
        now = self.state
        now.evaluated_step = now.step
        if self.evaluate is None:
            return
        began = time.perf_counter()
        with self.timer.section("evaluation"), self.kept.at_leader():
            measured: dict[str, float] = {}
            if self.reducer.rank == 0:
                self.model.eval()
                if isinstance(self.evaluate, KnowsStep):
                    self.evaluate.step = now.step
                measured = {name: float(value) for name, value in self.evaluate().items()}
                self.model.train()
        now.evaluation = self.reducer.from_leader(measured)
        self.clock.evaluation = time.perf_counter() - began
        if first:
            now.first_evaluation = dict(now.evaluation)
        self._count_seconds()
        self._write({"step": now.step, "evaluation": now.evaluation, "seconds": now.seconds})
        said = "  ".join(f"{name} {value:.4g}" for name, value in now.evaluation.items())
        self.log.say(f"evaluation at step {now.step:,}  {said}")

    def _end_if_wanted(self) -> None:
        """Make this step the last one, durably, where the evaluation says that more would be in vain."""
        now = self.state
        asks = self.stop_early is not None and self.reducer.rank == 0
        reason = self.reducer.from_leader(self.stop_early() if asks and self.stop_early is not None else None)
        if reason and now.step < self.plan.total_after(now.step):
            self.plan.add(now.step, now.step, reason)
            self.log.say(f"Step {now.step:,} is the last: {reason}.")

    def _save(self) -> None:
        self._read_all()
        began = time.perf_counter()
        self._count_seconds()
        state: JsonObject = {
            "progress": self.state.to_record(),
            "plan": self.plan.to_record(),
            "identity": self.identity,
            "numerics": self._fingerprint(),
            "processes": self.reducer.size,
        }
        if isinstance(self.evaluate, RemembersEvaluations):
            state["memory"] = self.evaluate.memory
        with self.timer.section("checkpoint"):
            self.saver.save(self.state.step, state)
        self.clock.saving = time.perf_counter() - began

    def _leave(self) -> None:
        """Save what there is and say how to go on."""
        if self.saver.saved_step != self.state.step:
            self._save()
        self.reducer.any(False)  # nobody leaves before it is saved
        how = f" Go on with:\n  {self.resume_command}" if self.resume_command else " Go on with --resume."
        raise InterruptedAndSaved(f"Stopped on request at step {self.state.step:,}; everything is saved.{how}")

    def _new_clock(self, used: float = 0.0) -> BudgetClock:
        every = self.options.eval_every
        steps = int(every) if every is not None and every >= 1 else None  # the plan counts those at shares of a run
        return BudgetClock(used, eval_every=0 if self.evaluate is None else steps, save_every=self.options.save_every)

    def _count_seconds(self) -> None:
        moment = time.perf_counter()
        self.state.seconds += moment - self._counted_until
        self.clock.used = self.state.seconds
        self._counted_until = moment
