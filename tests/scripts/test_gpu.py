"""What scripts/gpu.sh measures on a GPU, at tiny sizes on a CPU."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def own_python_first() -> str:
    """The search path on which `python3` is the one that runs this test."""
    return os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("part", "found"),
    [
        ("waits", {"waited": {"adamw": "", "muon": "", "lamb": ""}}),
        ("packs", {}),
        ("exact", {"two_runs": True, "killed": True, "replaced_tokens": True, "without_the_option": True}),
        ("base-half-compiled", {"compiled": True, "recompiled": 0}),
        ("answer", {}),
        ("teach-questions", {}),
        ("teach-coreference", {}),
    ],
)
def test_steps_wait_for_nothing_have_equal_bits_where_asked_and_are_compiled_once(tmp_path, part, found):
    subprocess.run(
        ["sh", "scripts/gpu.sh", "run", str(tmp_path), "--device", "cpu", "--tiny", "--part", part],
        check=True,
        cwd=ROOT,
        env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT / "src"), "PATH": own_python_first()},
        timeout=600,
    )
    told = json.loads((tmp_path / f"{part}.json").read_text())

    assert {name: told[name] for name in found} == found
    if part == "answer":
        assert all(rate > 0 for rates in told["sides"].values() for rate in rates) and len(told["sides"]) == 3
    if part.startswith("teach"):
        runs = list(told.values()) if part == "teach-questions" else [told]
        assert all(run["tokens_per_second"] > 0 and run["flop_utilisation"] > 0 for run in runs)
    if part == "packs":
        assert told["all"]["packs"] == 1 and told["own"]["packs"] == 4 and told["again"]["equal_bits"]
        assert told["found"]["gradients_apart"] < 0.02  # in bf16
    if part == "exact":
        assert told["killed_after"].startswith("step-")
