"""A tracker is known by its name, and one that is missing is told before a run begins."""

from pathlib import Path

import pytest

from spanwise.errors import ConfigError
from spanwise.runtime.tracking.tracker import TRACKERS, TrackedRun, check_trackers, open_tracker, readable_name


def test_an_unknown_and_a_missing_tracker_are_refused(monkeypatch):
    with pytest.raises(ConfigError, match="tensorboard, wandb, mlflow, trackio"):
        check_trackers(["neptune"])
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    for name in TRACKERS:
        with pytest.raises(ConfigError, match=rf"{name}.*pip install 'spanwise\[track\]'"):
            check_trackers([name])


def test_every_tracker_has_its_file(stand_in, tmp_path):
    opened = []
    for name in TRACKERS:
        stand_in(f"spanwise.runtime.tracking.to_{name}", open_tracker=lambda run: opened.append(run) or run)
        open_tracker(name, TrackedRun(folder=tmp_path, name="x", recipe={}, run_id=None))
    assert len(opened) == len(TRACKERS)
    package = Path(check_trackers.__code__.co_filename).parent
    assert {path.stem for path in package.glob("to_*.py")} == {f"to_{name}" for name in TRACKERS}


def test_a_name_is_made_of_the_last_two_folders():
    assert readable_name(Path("/x/runs/my qa")) == "runs-my-qa"
