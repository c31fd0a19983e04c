"""What decides on a resume is in the checkpoint: the state, and what an evaluation remembers."""

import json

import pytest
from test_loop import OPTIONS, Said
from toy import ToyModel, ToySource, toy_saver

from spanwise.runtime.progress import RunLog
from spanwise.training.loop import train
from spanwise.training.plan import TrainingOptions
from spanwise.training.run_state import RemembersEvaluations, RunState
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
