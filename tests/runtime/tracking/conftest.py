"""What tests of trackers share: stand-ins for packages that the default tests don't install, and a run that stops and
goes on."""

import sys
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from spanwise.runtime.progress import RunLog


@pytest.fixture
def stand_in(monkeypatch) -> Callable[..., ModuleType]:
    """Put a module of our own in the place of a package, for this test."""

    def put(name: str, **content: object) -> ModuleType:
        module = ModuleType(name)
        module.__spec__ = ModuleSpec(name, None)
        module.__dict__.update(content)
        monkeypatch.setitem(sys.modules, name, module)
        return module

    return put


@pytest.fixture
def stopped_and_resumed() -> Callable[[Path, str], None]:
    """Log as a run does that is stopped after its third step and goes on from the checkpoint of its first."""

    def go(folder: Path, tracker: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "recipe.json").write_text('{"seed": 3}')
        with RunLog(folder, trackers=[tracker]) as log:
            for step in (1, 2, 3):
                log.write({"step": step, "losses": {"mlm": 6.0 - step}, "seconds": 1.0 * step})
        again = RunLog(folder, trackers=[tracker])
        again.cut_after(1)
        for step in (2, 3, 4):
            again.write({"step": step, "losses": {"mlm": 6.0 - step}, "seconds": 1.0 * step})
        again.write({"step": 4, "evaluation": {"f1": 71.5}, "seconds": 4.5})
        again.close()

    return go


EXPECTED = {
    **{(step, "losses/mlm"): 6.0 - step for step in (1, 2, 3, 4)},
    **{(step, "seconds"): 1.0 * step for step in (1, 2, 3, 4)},
    (4, "evaluation/f1"): 71.5,
}


@pytest.fixture
def expected() -> dict[tuple[int, str], float]:
    """Every number of that run, by step and name: once each."""
    return dict(EXPECTED)


@pytest.fixture
def rows() -> SimpleNamespace:
    """What a stand-in was told: runs in order of their opening, and (run, step, name, value)."""
    return SimpleNamespace(opened=[], numbers=[], closed=[])
