"""Trackers get each number of a run once, whatever happens to the run, and never stop it."""

import io
import json
import shutil

import pytest

from spanwise.cli.main import main
from spanwise.errors import ConfigError
from spanwise.runtime.progress import RunLog, read_metrics
from spanwise.runtime.tracking.tracking import Tracking


class Keeps:
    """A tracker that keeps what it gets, or fails at a step."""

    def __init__(self, run, kept, fails_at=None):
        self.run_id, self.kept, self.fails_at = run.run_id or "new", kept, fails_at

    def log(self, step, numbers):
        if step == self.fails_at:
            raise OSError("no route to host")
        self.kept += [(step, name) for name in numbers]

    def close(self): ...


@pytest.fixture
def kept(stand_in):
    """The (step, name) that a stand-in for wandb gets."""
    numbers = []
    stand_in("wandb")
    stand_in("spanwise.runtime.tracking.to_wandb", open_tracker=lambda run: Keeps(run, numbers))
    return numbers


def test_a_tracker_that_fails_is_told_once_and_left_out(tmp_path, stand_in):
    kept = []
    stand_in("wandb")
    stand_in("spanwise.runtime.tracking.to_wandb", open_tracker=lambda run: Keeps(run, kept, fails_at=2))
    said = io.StringIO()
    with RunLog(tmp_path, stream=said, trackers=["wandb"]) as log:
        for step in (1, 2, 3):
            log.write({"step": step, "loss": 1.0})
    assert kept == [(1, "loss")] and len(read_metrics(tmp_path / "metrics.jsonl")) == 3
    assert said.getvalue().count("wandb gets no more numbers of this run: no route to host") == 1


def test_a_log_with_a_tracker_leaves_its_folder_alone_until_something_is_written(tmp_path, kept):
    RunLog(tmp_path / "run", trackers=["wandb"]).close()
    assert not (tmp_path / "run").exists()


def test_a_number_that_is_not_finite_goes_to_no_tracker(tmp_path, kept):
    with RunLog(tmp_path, trackers=["wandb"]) as log:
        log.write({"step": 1, "loss": float("nan"), "seconds": 2.0, "said": "words", "is_last": True})
    assert kept == [(1, "seconds")]


def test_what_a_tracker_has_is_known_after_a_crash_too(tmp_path, kept):
    """Three processes: the second dies before it comes as far as the first was."""
    for steps in ((1, 2, 3, 4), (2,), (2, 3, 4, 5)):
        tracking = Tracking(["wandb"], tmp_path, print)
        for step in steps:
            tracking.log(step, {"loss": 1.0})  # never closed
    assert kept == [(step, "loss") for step in (1, 2, 3, 4, 5)]
    assert json.loads((tmp_path / "tracking.json").read_text()) == {"wandb": {"run_id": "new", "steps": {"loss": 5}}}


def test_a_missing_tracker_is_refused_before_the_run_begins(tmp_path, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ConfigError, match="spanwise\\[track\\]"):
        RunLog(tmp_path / "run", trackers=["trackio"])
    assert not (tmp_path / "run").exists()


def test_a_run_that_was_stopped_and_resumed_on_the_command_line_has_every_step_once(tiny_store, tmp_path, kept):
    out = tmp_path / "run"
    tiny = ["encoder.hidden_size=16", "encoder.intermediate_size=32", "encoder.num_layers=1", "training.log_every=1"]
    tiny += ["batch.max_tokens=512", "batch.tokens_per_step=512", "training.max_tokens=null", "training.max_steps=4"]
    sets = [part for change in [*tiny, "training.budget=null"] for part in ("--set", change)]
    sets += ["--log-to", "wandb"]
    command = ["pretrain", "spanbert-tiny", "--data", str(tiny_store.path), "--out", str(out), "--save-every", "2"]
    assert main([*command, *sets]) == 0
    for place in (*(out / "checkpoints").glob("step-*4"), out / "final"):
        shutil.rmtree(place)  # as if it was killed after its third step
    before = list(kept)
    assert main([*command, *sets, "--resume"]) == 0

    assert kept == before and len(set(kept)) == len(kept)
    assert {step for step, name in kept if name.startswith("losses/")} == {1, 2, 3, 4}
