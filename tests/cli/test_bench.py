"""`spanwise bench`."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from spanwise.cli import bench as module
from spanwise.cli.main import main

SCRIPT = """
import itertools
from interleaved import rate_row, memory_row, serve, show_rows, take_turns, timing_options

class Side:
    start_memory = 0
    def __init__(self, name):
        if name == "absent":
            import no_such_package_anywhere.part
        self.amount = 400 if name == "ours" else 100
    def prepare(self, index):
        return index
    def step(self, index, prepared):
        assert index == prepared
        return self.amount
    def facts(self):
        return {"amount": self.amount}

options = timing_options("a trial", rounds=3).parse_args()
if options.work:
    serve(lambda: Side(options.work), itertools.count().__next__)
else:
    sides = ["ours", "slow", "absent"]
    own = [__file__, "--work"]
    limit = options.seconds
    told = take_turns(lambda side: [*own, side], sides, rounds=3, threads=1, slow={"slow": 1}, seconds=limit)
    assert told["ours"]["facts"] == {"amount": 400}
    assert [len(told[side]["rates"]) for side in sides] == [3, 1, 0]
    rows = [rate_row("work", "things/s", told["ours"], told[side], 2.0) for side in sides[1:]]
    rows.append(memory_row("memory", told["ours"], told["slow"], 1.5))
    show_rows(rows, as_json=options.json)
"""
KEYS = {"name", "unit", "ours", "peer", "ratio", "goal", "spread"}


@pytest.fixture
def trial(tmp_path, monkeypatch):
    """A suite of one small script beside the real `interleaved.py`."""
    (tmp_path / "trial.py").write_text(SCRIPT)
    (tmp_path / "interleaved.py").write_text((module.find_benchmarks() / "interleaved.py").read_text())
    suite = {"trial": module.Benchmark("trial.py", ("--rounds", "3"), "a trial")}
    monkeypatch.setattr(module, "SUITE", suite)
    monkeypatch.setattr(module, "find_benchmarks", lambda: tmp_path)
    return tmp_path


def test_rows_have_our_figure_the_peers_and_their_ratio(trial, capsys):
    assert main(["bench", "--json"]) == 0

    rows = json.loads(capsys.readouterr().out)
    assert all(set(row) >= KEYS for row in rows)
    fast, alone, memory = rows
    assert (fast["ours"], fast["peer"], fast["ratio"], fast["spread"]) == (400.0, 100.0, 4.0, [4.0, 4.0])
    assert alone["peer"] is None and alone["ratio"] is None and alone["absent"] == "no_such_package_anywhere"
    assert memory["lower_is_better"] and memory["ratio"] == pytest.approx(memory["ours"] / memory["peer"])


def test_the_table_names_a_peer_that_is_not_installed(trial, capsys):
    assert main(["bench", "--only", "trial"]) == 0

    printed = capsys.readouterr().out
    assert "no_such_package_anywhere is not installed" in printed
    assert "met" in printed


def test_a_benchmark_that_does_not_fit_into_the_minutes_is_named(trial, monkeypatch, capsys):
    (trial / "trial.py").write_text("import time; time.sleep(60)")
    monkeypatch.setattr(module, "SECONDS_TO_STOP", 0.1)
    assert main(["bench", "--minutes", "0.0005"]) == 0

    captured = capsys.readouterr()
    assert "trial did not fit into 0.0005 minutes" in captured.err


def test_a_stop_ends_a_side_in_the_middle_of_a_turn_and_what_it_started(trial):
    """A side that never ends (as one did whose compiler a Ctrl-C had met) holds nobody up and stays behind nowhere."""
    stuck = """
        import os, signal, subprocess, sys, time
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        with open("pids", "w") as file:
            file.write(f"{os.getpid()} {child.pid}")
        time.sleep(600)
"""
    marker = "        assert index == prepared\n"
    (trial / "trial.py").write_text(SCRIPT.replace(marker, stuck.replace('"pids"', repr(str(trial / "pids")))))
    begin = time.monotonic()
    with pytest.raises(subprocess.TimeoutExpired):
        module.run_benchmark(trial, module.SUITE["trial"], 60.0, 4.0)
    assert time.monotonic() - begin < 100.0  # the side would sleep for 600 seconds
    for pid in map(int, (trial / "pids").read_text().split()):
        assert not is_alive(pid)


def is_alive(pid: int) -> bool:
    """Return whether a process runs, a moment from now at the latest; one that nobody has waited for yet does not."""
    for _ in range(50):
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return False
        if state == "Z":
            return False
        time.sleep(0.02)
    return True


def test_what_people_ask_for_comes_first_and_the_list_of_names_is_whole():
    assert list(module.SUITE)[:3] == ["step", "qa", "prepare"]
    told = module.bench.__doc__.split("may be repeated:")[1].partition("minutes")[0]
    assert [name.strip(" .\n") for name in told.split(",")] == list(module.SUITE)


def test_a_script_ends_with_the_rounds_that_fit_into_its_share_and_has_rows_all_the_same(trial, monkeypatch, capsys):
    slow = SCRIPT.replace("        assert index == prepared", "        import time; time.sleep(0.2)")
    assert slow != SCRIPT
    (trial / "trial.py").write_text(slow.replace("rounds=3", "rounds=100").replace("== [3, 1, 0]", "== [1, 1, 0]"))
    rows = module.run_benchmark(trial, module.SUITE["trial"], 0.3, 60.0)
    assert rows[0]["ours"] == 400.0 and rows[0]["ratio"] == 4.0


def test_every_benchmark_may_take_its_share_of_what_is_left(trial, monkeypatch):
    given = []

    def run(folder, benchmark, seconds, most):
        given.append((seconds, most))
        return []

    monkeypatch.setattr(module, "run_benchmark", run)
    monkeypatch.setattr(module, "_speed", lambda: 1e12)
    suite = {
        name: module.Benchmark("trial.py", (), name, share) for name, share in (("a", 3.0), ("b", 1.0), ("c", 1.0))
    }
    monkeypatch.setattr(module, "SUITE", suite)
    assert main(["bench", "--minutes", "5"]) == 0
    assert [round(seconds) for seconds, _ in given] == [180, 150, 300]  # nothing was spent: the next have more
    assert all(seconds <= most <= 300 for seconds, most in given)


@pytest.mark.parametrize(
    ("seconds", "speed", "memory", "number"),
    [(150, 1e12, None, 32), (150, 50e9, None, 16), (150, 1e12, 4e9, 8), (10, 1e9, None, 4), (150, 1e12, 1e8, 4)],
)
def test_batches_are_smaller_where_a_machine_is_slow_or_has_little_memory(seconds, speed, memory, number):
    found = module.fitted(module.SUITE["step"], seconds, speed, memory)
    if number == 32:
        assert found == module.SUITE["step"]
    else:
        assert found.arguments[-2:] == ("--sequences", str(number)) and f"batches of {number}" in found.what


def test_a_script_that_fails_is_named_with_what_it_said(trial, capsys):
    (trial / "trial.py").write_text("raise SystemExit('the sides disagree')")

    assert main(["bench"]) == 1
    captured = capsys.readouterr()
    assert "the sides disagree" in captured.err and "trial failed" in captured.err


def test_a_side_that_the_system_killed_is_told_as_that(trial, capsys):
    dies = "        if name == 'slow':\n            import os; os.kill(os.getpid(), 9)\n        self.amount ="
    killed = SCRIPT.replace("        self.amount =", dies)
    (trial / "trial.py").write_text(killed)

    assert main(["bench"]) == 1
    assert "the side 'slow' was killed, as the system does where memory runs out" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments", [["--only", "sbo-heat"], ["--minutes", "0"], ["--minutes", "nan"], ["--minutes", "inf"]]
)
def test_a_wrong_request_is_refused_before_anything_runs(arguments, capsys):
    assert main(["bench", *arguments]) == 2
    said = capsys.readouterr().err
    assert "sbo-head" in said or "from 0.0001 to" in said


def test_goals_are_met_from_the_right_side():
    faster = {"ratio": 3.0, "goal": 2.0, "ours": 1.0}
    assert module.is_met(faster) and not module.is_met(faster | {"lower_is_better": True})
    seconds = {"ratio": None, "goal": 0.5, "ours": 0.4, "lower_is_better": True}
    assert module.is_met(seconds) and module.is_met(seconds | {"ours": 0.6}) is False
    assert module.is_met({"ratio": None, "goal": 2.0, "ours": 9.0, "absent": "transformers"}) is None
    assert module.is_met({"ratio": 3.0, "goal": None, "ours": 9.0}) is None


def test_every_script_of_the_suite_is_there():
    folder = module.find_benchmarks()
    assert all((folder / benchmark.script).is_file() for benchmark in module.SUITE.values())


@pytest.fixture
def without_peers(tmp_path):
    """The variables of a process that finds no transformers and no datasets installed."""
    absent = "import sys\nsys.modules.update(transformers=None, datasets=None)\n"
    (tmp_path / "sitecustomize.py").write_text(absent)
    return os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])}


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [
        ["training_step.py", "--size", "2x128", "--rounds", "1"],
        ["sbo_head.py", "--sequences", "2", "--length", "128", "--hidden-size", "64", "--rounds", "1"],
        ["startup.py", "--rounds", "1"],
        ["masking.py", "--rounds", "1"],
        ["collator.py", "--rounds", "1"],
        ["prepare.py", "--rounds", "1"],
        ["coreference.py", "--sizes", "2x128", "--documents", "2", "--ffn", "64", "--rounds", "1"],
        ["qa_prediction.py", "--rounds", "1"],
    ],
    ids=lambda words: words[0],
)
def test_every_script_gives_rows_also_where_its_peer_is_not_installed(arguments, without_peers):
    command = [sys.executable, str(module.find_benchmarks() / arguments[0]), *arguments[1:], "--json"]
    for environment in (None, without_peers):
        done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
        rows = json.loads(done.stdout)
        assert rows and all(set(row) >= KEYS for row in rows)
    ours_alone = arguments[0] in ("startup.py", "sbo_head.py")  # beside nothing, and beside PyTorch
    assert any(row.get("absent") for row in rows) != ours_alone
