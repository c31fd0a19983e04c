"""The loop ends what it began: killed, stopped, resumed or out of time, the numbers are the same."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import ClassVar

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from toy import ToyModel, ToySource, toy_saver

from spanwise.data.batch import Batch
from spanwise.errors import CheckpointError, ConfigError, FolderInUseError, InterruptedAndSaved, NumericsError
from spanwise.nn.config import EncoderConfig
from spanwise.nn.encoder import Encoder
from spanwise.nn.heads.lm import MaskedLMHead
from spanwise.nn.init import initialize
from spanwise.nn.vocabulary_loss import vocabulary_loss
from spanwise.runtime.device import HostCopy
from spanwise.runtime.files import verify_folder
from spanwise.runtime.progress import RunLog, read_metrics
from spanwise.training.checkpoint import training_tensors
from spanwise.training.evaluate import evaluate_batches
from spanwise.training.loop import TIMING_FIELDS, RemembersEvaluations, RunState, train
from spanwise.training.optim import build_optimizer
from spanwise.training.plan import TrainingOptions, read_plan
from spanwise.training.run_folder import claim_run_folder
from spanwise.training.step import StepSums


def test_a_state_comes_back_from_json_as_it_was_also_from_an_earlier_version():
    state = RunState(step=3, tokens=9, since_log=StepSums(losses={"next": 0.1}, num_tokens=4), logged=2)
    record = json.loads(json.dumps(state.to_record()))

    assert RunState.from_record(record) == state
    del record["logged"]
    assert RunState.from_record(record).logged == 0


class Scripted:
    """Gives scores in order, and asks to stop after two without a better one."""

    def __init__(self, scores) -> None:
        self.left = list(scores)
        self.memory = {"best": -1.0, "num_worse": 0}

    def __call__(self):
        score = self.left.pop(0)
        self.take(score)
        return {"score": score}

    def take(self, score) -> None:
        better = score >= self.memory["best"]
        num_worse = 0 if better else self.memory["num_worse"] + 1
        self.memory = {"best": max(score, self.memory["best"]), "num_worse": num_worse}

    def recall(self, evaluations) -> None:
        for evaluation in evaluations:
            self.take(evaluation["score"])

    def stop_early(self):
        return "no better score" if self.memory["num_worse"] == 2 else None


def go(folder, scores, said=None, **options):
    model, evaluate = ToyModel(), Scripted(scores)
    assert isinstance(evaluate, RemembersEvaluations)
    result = train(
        model,
        ToySource(),
        TrainingOptions(**OPTIONS, eval_every=2, save_every=2, keep=9),
        folder,
        save_model=toy_saver(model),
        evaluate=evaluate,
        stop_early=evaluate.stop_early,
        log=RunLog(folder, stream=said),
        **options,
    )
    return result, evaluate


def back_to(folder, step) -> None:
    """Take the checkpoints after `step` away, and the model."""
    for path in (folder / "checkpoints").iterdir():
        if path.name > f"step-{step:09d}":
            path.rename(folder / path.name)
    (folder / "final" / "manifest.json").unlink()


@pytest.mark.parametrize("damage", ["gone", "edited", "lines that are none"])
def test_a_log_that_was_changed_changes_no_decision_and_is_told(tmp_path, damage):
    whole, _ = go(tmp_path / "run", [0.1, 0.9, 0.5, 0.6, 0.0])
    assert whole.steps == 6  # 0.9 at step 2, then two worse ones
    back_to(tmp_path / "run", 4)
    log, said = tmp_path / "run" / "metrics.jsonl", Said()
    if damage == "gone":
        log.unlink()
    elif damage == "edited":
        log.write_text(log.read_text().replace("0.9", "0.2"))
    else:
        log.write_text('null\n{"step": "x"}\n{"losses": 5}\n' + log.read_text())

    again, evaluate = go(tmp_path / "run", [0.6, 0.0], said, resume=True)

    assert (again.resumed_from, again.steps) == (4, 6) and evaluate.memory == {"best": 0.9, "num_worse": 2}
    assert ("3 of the 3 lines logged before this checkpoint are missing" in said.text) == (damage == "gone")
    assert ("damaged lines are left out (1, 2, 3)" in said.text) == (damage == "lines that are none")


def test_a_checkpoint_of_an_earlier_version_takes_its_memory_from_the_log_and_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr("spanwise.training.loop.RemembersEvaluations", int)  # as before: nothing is kept
    go(tmp_path / "run", [0.1, 0.9, 0.5, 0.6, 0.0])
    monkeypatch.undo()
    back_to(tmp_path / "run", 4)

    said = Said()
    result, _ = go(tmp_path / "run", [0.6, 0.0], said, resume=True)

    assert result.steps == 6 and "read from metrics.jsonl, which has no checksum" in said.text


CPU = torch.device("cpu")
OPTIONS = {"learning_rate": 1e-2, "max_steps": 12, "log_every": 5, "precision": "fp32", "threads": 1}


class Said:
    """Collects what a person would read."""

    def __init__(self) -> None:
        self.text = ""

    def write(self, text: str) -> None:
        self.text += text

    def flush(self) -> None: ...

    def isatty(self) -> bool:
        return False


def run(
    folder, model=None, source=None, *, said=None, resume=False, identity=None, evaluated=False, began=None, **options
):
    model, source = model or ToyModel(), source or ToySource()
    held_out = [source.pack(10**6, 0)] if evaluated else []
    result = train(
        model,
        source,
        TrainingOptions(**{**OPTIONS, **options}),
        folder,
        save_model=toy_saver(model),
        evaluate=(lambda: evaluate_batches(model, held_out, device=CPU)) if evaluated else None,
        resume=resume,
        identity=identity,
        log=RunLog(folder, stream=said),
        flops_per_token=6.0 * 32 * 32,
        resume_command="spanwise pretrain tiny --out run --resume",
        began=began,
    )
    return model, result


def tensors_of(model) -> dict:
    return training_tensors(model, build_optimizer(model, TrainingOptions()))


def same_tensors(a, b) -> bool:
    a, b = tensors_of(a), tensors_of(b)
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)


def log_of(folder) -> list[dict]:
    records = read_metrics(folder / "metrics.jsonl")
    return [{name: value for name, value in record.items() if name not in TIMING_FIELDS} for record in records]


class StopsAt(ToySource):
    """Sends a signal to this process while the data of step `index` is made."""

    def __init__(self, index: int, action) -> None:
        super().__init__()
        self.index, self.action = index, action

    def step(self, index: int) -> list[Batch]:
        if index == self.index:
            self.action()
        return super().step(index)


def test_a_run_learns_logs_saves_and_ends_with_a_whole_model(tmp_path):
    said = Said()
    _, result = run(tmp_path / "run", max_steps=60, save_every=20, eval_every=20, evaluated=True, said=said)

    assert (result.steps, result.tokens, result.resumed_from) == (60, 60 * 2 * 24, None)
    assert result.losses["same"] < 1.6 and result.evaluation != result.first_evaluation
    verify_folder(result.final)
    steps = sorted(path.name for path in (tmp_path / "run" / "checkpoints").iterdir())
    assert steps == ["step-000000040", "step-000000060"]
    records = read_metrics(tmp_path / "run" / "metrics.jsonl")
    assert [r["step"] for r in records if "evaluation" in r] == [0, 20, 40, 60]
    last = [r for r in records if "losses" in r][-1]
    assert last["step"] == 60 and last["learning_rate"] == 0.0 and last["epoch"] == 6.0
    assert {"data", "forward", "backward", "optimizer", "other", "total"} <= last["time"].keys()
    assert sum(v for k, v in last["time"].items() if k != "total") == pytest.approx(last["time"]["total"], rel=0.05)
    assert last["tokens_per_second"] > 0 and 0 < last["flop_utilisation"] < 1
    assert "step 60/60" in said.text and "evaluation at step 60" in said.text


def test_a_run_that_says_nothing_of_saving_saves_by_the_clock(tmp_path):
    run(tmp_path / "run", save_every=None, save_minutes=1e-9, keep=100, max_steps=6)
    run(tmp_path / "end", save_every=None, max_steps=6)

    assert len(list((tmp_path / "run" / "checkpoints").iterdir())) == 6
    assert len(list((tmp_path / "end" / "checkpoints").iterdir())) == 1


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_saves_says_how_to_go_on_and_changes_no_number(tmp_path, number):
    whole, _ = run(tmp_path / "whole", evaluated=True, eval_every=4)
    with pytest.raises(InterruptedAndSaved, match=r"spanwise pretrain tiny --out run --resume") as stopped:
        run(tmp_path / "run", source=StopsAt(5, lambda: os.kill(os.getpid(), number)), evaluated=True, eval_every=4)
    assert stopped.value.exit_status == 75

    model, result = run(tmp_path / "run", resume=True, evaluated=True, eval_every=4)

    assert result.resumed_from in range(1, 12) and result.steps == 12
    assert same_tensors(whole, model) and log_of(tmp_path / "whole") == log_of(tmp_path / "run")


def test_the_first_line_after_a_resume_tells_the_speed_of_this_process_alone(tmp_path):
    """The steps before the stop are in the line's losses, and their time is not in its time."""
    with pytest.raises(InterruptedAndSaved):
        run(tmp_path / "run", source=StopsAt(5, lambda: os.kill(os.getpid(), signal.SIGINT)), log_every=12)

    _, result = run(tmp_path / "run", resume=True, log_every=12)

    (line,) = (record for record in read_metrics(tmp_path / "run" / "metrics.jsonl") if "tokens_per_second" in record)
    spent = line["time"]["total"] - line["time"]["evaluation"] - line["time"]["checkpoint"]
    assert line["tokens"] == 12 * 48 and 0 < result.resumed_from < 12
    assert line["tokens_per_second"] * spent == pytest.approx((12 - result.resumed_from) * 48)


def test_a_second_signal_stops_at_once_and_leaves_no_rest(tmp_path):
    def twice():
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.05)
        os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises((KeyboardInterrupt, InterruptedAndSaved)):
        run(tmp_path / "run", source=StopsAt(3, twice), max_steps=2000)
    assert not list((tmp_path / "run").rglob(".tmp-*"))


def test_bits_do_not_depend_on_logging_evaluation_saving_or_prefetching(tmp_path):
    plain, _ = run(tmp_path / "a", log_every=100)
    busy, _ = run(tmp_path / "b", log_every=1, save_every=1, eval_every=1, keep=1, evaluated=True)
    assert same_tensors(plain, busy)


class Watched(ToyModel):
    """Remembers how torch is set while it computes."""

    def forward(self, batch):
        self.deterministic = torch.are_deterministic_algorithms_enabled()
        return super().forward(batch)


def test_a_deterministic_run_asks_torch_for_equal_bits_says_so_in_its_checkpoint_and_may_go_on_without(tmp_path):
    said = Said()
    plain, _ = run(tmp_path / "plain")
    model, _ = run(tmp_path / "run", Watched(), deterministic=True)
    assert model.deterministic and same_tensors(plain, model) and not torch.are_deterministic_algorithms_enabled()

    state = json.loads(next((tmp_path / "run").rglob("step-000000012/training/state.json")).read_text())
    assert state["numerics"]["deterministic"] and "deterministic" not in state["identity"]["options"]
    _, result = run(tmp_path / "run", resume=True, said=said)
    assert result.resumed_from == 12 and "Same samples, not the same bits: deterministic True -> False." in said.text


class Reads(TorchDispatchMode):
    """Notes the operators whose result the host waits for, with the log lines that were there before."""

    WAITING = ("_local_scalar_dense", "nonzero", "is_nonzero", "equal", "masked_select")

    def __init__(self, log: Path) -> None:
        super().__init__()
        self.log, self.found = log, []

    def __torch_dispatch__(self, function, types, arguments=(), named=None):
        if function.overloadpacket.__name__ in self.WAITING:
            self.found.append((function.overloadpacket.__name__, len(self.log.read_text().splitlines())))
        return function(*arguments, **(named or {}))


@pytest.mark.parametrize("optimizer", ["adamw", "muon", "lamb"])
def test_the_host_reads_no_number_between_two_log_lines(tmp_path, monkeypatch, optimizer):
    """A read makes a GPU run dry. What a log line is made of is read at once, when it is due."""
    real, read = HostCopy.read, []
    monkeypatch.setattr(HostCopy, "read", lambda copy: read.append(copy) or real(copy))
    watching = Reads(tmp_path / "run" / "metrics.jsonl")

    class Model(ToyModel):
        steps: ClassVar[list] = []

        def forward(self, batch):
            self.steps.append(len(read))
            return super().forward(batch)

    with watching:
        run(tmp_path / "run", Model(), max_steps=20, log_every=10, optimizer=optimizer, save_minutes=None)

    assert Model.steps == [0] * 20 + [10] * 20  # two packs a step: ten steps are read when the tenth was begun
    assert len(read) == 20 and not [name for name, lines in watching.found if lines < 2]


def test_an_infinite_perplexity_is_saved_and_gone_on_with(tmp_path):
    options = {"save_model": lambda folder: None, "evaluate": lambda: {"perplexity": float("inf")}}
    for resume in (False, True):
        result = train(ToyModel(), ToySource(), TrainingOptions(**OPTIONS), tmp_path / "run", resume=resume, **options)
        assert result.evaluation == {"perplexity": float("inf")}
    assert read_metrics(tmp_path / "run" / "metrics.jsonl")[0]["evaluation"] == {"perplexity": None}


def test_a_finished_run_resumed_changes_nothing(tmp_path):
    model, first = run(tmp_path / "run")
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "run" / "final").iterdir()}

    again, second = run(tmp_path / "run", resume=True)

    assert same_tensors(model, again) and second.losses == first.losses and second.resumed_from == 12
    assert before == {path: path.stat().st_mtime_ns for path in (tmp_path / "run" / "final").iterdir()}
    assert len(log_of(tmp_path / "run")) == 3
    with pytest.raises(ConfigError, match="finished run"):
        run(tmp_path / "run")


def test_resume_of_a_run_that_saved_nothing_starts_it(tmp_path):
    with claim_run_folder(tmp_path / "run"):
        pass
    _, result = run(tmp_path / "run", resume=True)
    assert result.steps == 12 and result.resumed_from is None


def test_resume_with_another_recipe_or_option_is_refused_with_the_list(tmp_path):
    run(tmp_path / "run", identity={"recipe": {"p": 0.2}, "store": "abc"})

    run(tmp_path / "run", identity={"recipe": {"p": 0.2}, "store": "abc"}, resume=True, log_every=3, keep=5)
    with pytest.raises(ConfigError, match=r"recipe\.p: 0\.2 -> 0\.3(.|\n)*options\.learning_rate: 0\.01 -> 0\.02"):
        run(tmp_path / "run", identity={"recipe": {"p": 0.3}, "store": "abc"}, resume=True, learning_rate=0.02)


def test_resume_keeps_the_threads_of_the_run_and_warns_where_others_are_asked(tmp_path):
    said, threads = Said(), torch.get_num_threads()
    with pytest.raises(InterruptedAndSaved):
        run(tmp_path / "run", source=StopsAt(3, lambda: os.kill(os.getpid(), signal.SIGTERM)))
    (state,) = (tmp_path / "run" / "checkpoints").glob("step-*/training/state.json")
    assert json.loads(state.read_text())["processes"] == 1
    try:
        torch.set_num_threads(2)
        run(tmp_path / "run", resume=True, threads=None, max_steps=12, said=said)
        assert torch.get_num_threads() == 1 and "not the same bits" not in said.text
        run(tmp_path / "run", resume=True, threads=2, said=said)
        assert "Same samples, not the same bits: threads 1 -> 2." in said.text
    finally:
        torch.set_num_threads(threads)


def test_damage_to_the_newest_checkpoint_is_said_and_the_one_before_it_gives_the_same_end(tmp_path):
    said = Said()
    whole, _ = run(tmp_path / "run", save_every=5)
    file = tmp_path / "run" / "checkpoints" / "step-000000012" / "model.safetensors"
    file.write_bytes(file.read_bytes()[:-1])

    model, result = run(tmp_path / "run", resume=True, save_every=5, said=said)
    assert result.resumed_from == 10 and str(file) in said.text and same_tensors(whole, model)

    for path in (tmp_path / "run" / "checkpoints").glob("step-*/training/state.json"):
        path.write_text("{}")
    with pytest.raises(CheckpointError, match="none of the 2"):
        run(tmp_path / "run", resume=True)


def test_an_edited_plan_is_refused_and_leaves_the_run_as_it_was(tmp_path):
    run(tmp_path / "run", save_every=5)
    plan = tmp_path / "run" / "plan.jsonl"
    (tmp_path / "run" / "final" / "manifest.json").unlink()
    plan.write_text(plan.read_text().replace('"total_steps": 12', '"total_steps": 17'))

    with pytest.raises(CheckpointError, match=r"plan\.jsonl, line 1 does not agree with its checksum"):
        run(tmp_path / "run", resume=True, save_every=5)
    plan.unlink()
    with pytest.raises(CheckpointError, match="checkpoint knows 1"):
        run(tmp_path / "run", resume=True, save_every=5)


class Explodes(ToyModel):
    """Gives a loss that is not a number for the pack of one block."""

    def forward(self, batch):
        found = super().forward(batch)
        if 700 in batch.ids:
            found["next"] = type(found["next"])(sum=found["next"].sum * float("nan"), num_correct=torch.tensor(0))
        return found


def test_a_bad_number_stops_the_run_names_the_pack_and_keeps_the_last_good_checkpoint(tmp_path):
    with pytest.raises(NumericsError, match=r"step 8, pack 0 \(blocks 700\)"):
        run(tmp_path / "run", Explodes(), save_every=5)

    assert json.loads((tmp_path / "run" / "bad_step.json").read_text())["ids"] == [700]
    assert [path.name for path in (tmp_path / "run" / "checkpoints").iterdir()] == ["step-000000005"]
    assert not (tmp_path / "run" / "final").exists()
    _, result = run(tmp_path / "run", resume=True, save_every=5)
    assert result.resumed_from == 5 and result.steps == 12


def test_a_second_run_in_the_same_folder_is_refused_while_the_first_works(tmp_path):
    code = (
        "import sys, time; from spanwise.training.run_folder import claim_run_folder\n"
        "with claim_run_folder(sys.argv[1]): print('held', flush=True); time.sleep(60)"
    )
    owner = subprocess.Popen([sys.executable, "-c", code, str(tmp_path / "run")], stdout=subprocess.PIPE, text=True)
    try:
        assert owner.stdout.readline() == "held\n"
        with pytest.raises(FolderInUseError, match=str(owner.pid)):
            run(tmp_path / "run", resume=True)
    finally:
        owner.kill()
        owner.wait()
        owner.stdout.close()
    run(tmp_path / "run", resume=True)


def test_an_error_of_the_data_side_arrives_and_no_thread_stays(tmp_path):
    def fail():
        raise KeyError("no such block")

    before = threading.active_count()
    with pytest.raises(KeyError, match="no such block"):
        run(tmp_path / "run", source=StopsAt(4, fail))
    assert threading.active_count() == before


class Slow(ToySource):
    def step(self, index: int) -> list[Batch]:
        time.sleep(0.01)
        return super().step(index)


def test_a_budget_ends_on_time_with_the_schedule_finished_and_every_number_from_the_recorded_plan(tmp_path):
    began = time.perf_counter()
    options = {"max_steps": None, "budget": 3.0, "log_every": 1, "save_every": 20}
    model, result = run(tmp_path / "run", source=Slow(), evaluated=True, **options)
    took = time.perf_counter() - began

    records = [r for r in read_metrics(tmp_path / "run" / "metrics.jsonl") if "losses" in r]
    assert 2.2 < took < 12 and result.steps > 20  # four times the budget: other work may hold the machine
    assert records[-1]["learning_rate"] == pytest.approx(0.0, abs=1e-12)
    assert read_plan(tmp_path / "run" / "plan.jsonl")[0][-1].total_steps == result.steps

    (tmp_path / "run" / "checkpoints" / f"step-{result.steps:09d}" / "manifest.json").unlink()
    again, second = run(tmp_path / "run", source=Slow(), evaluated=True, resume=True, **options)
    assert second.resumed_from < result.steps == second.steps and same_tensors(model, again)


def test_a_budget_holds_what_came_before_the_loop(tmp_path):
    options = {"max_steps": None, "budget": 1_000.0}
    _, result = run(tmp_path / "run", began=time.perf_counter() - 990.0, **options)
    assert result.seconds >= 990
    plan = read_plan(tmp_path / "run" / "plan.jsonl")[0]
    assert plan[0].total_steps > result.steps == plan[-1].total_steps


class TinyEncoderModel(torch.nn.Module):
    """The real encoder and head, dropout on."""

    def __init__(self) -> None:
        super().__init__()
        config = EncoderConfig(vocab_size=40, hidden_size=32, num_layers=1, num_heads=2, intermediate_size=64)
        self.encoder = Encoder(config)
        self.head = MaskedLMHead(config, self.encoder.embeddings.word.weight)
        initialize(self, config, 3)
        self.loss_weights = {"next": 1.0}

    def forward(self, batch):
        hidden = self.encoder(batch.input_ids, batch.token_type_ids, batch.sequences)
        targets = batch.targets["next"]
        rows = self.head.transform(hidden[targets.positions])
        table = self.encoder.embeddings.word.weight
        return {"next": vocabulary_loss(rows, table, self.head.bias, targets.ids, 40)}


def test_the_real_encoder_resumes_bit_for_bit(tmp_path):
    whole, result = run(tmp_path / "whole", TinyEncoderModel())
    with pytest.raises(InterruptedAndSaved):
        run(
            tmp_path / "run",
            TinyEncoderModel(),
            source=StopsAt(5, lambda: os.kill(os.getpid(), signal.SIGTERM)),
        )
    model, again = run(tmp_path / "run", TinyEncoderModel(), resume=True)

    assert same_tensors(whole, model) and again.losses == result.losses
    assert log_of(tmp_path / "whole") == log_of(tmp_path / "run")


def test_a_run_that_is_asked_to_stop_early_ends_there_and_its_plan_says_why(tmp_path):
    model, asked = ToyModel(), []

    def stop_early():
        asked.append(1)
        return "no better score" if len(asked) == 3 else None

    def go(**options):
        return train(
            model,
            ToySource(),
            TrainingOptions(**OPTIONS, eval_every=2),
            tmp_path / "run",
            save_model=toy_saver(model),
            evaluate=lambda: {"score": 1.0},
            stop_early=stop_early,
            **options,
        )

    assert go().steps == 6
    last = read_plan(tmp_path / "run" / "plan.jsonl")[0][-1]
    assert (last.step, last.total_steps, last.reason) == (6, 6, "no better score")
    assert go(resume=True).steps == 6
