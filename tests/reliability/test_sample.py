"""A few seconds of every promise; `run.py test --reliability` tries more, the slow tier most (docs/reliability.md)."""

import json
import shutil

import pytest
from tests.reliability import __main__ as tier
from tests.reliability.bugs import BUGS, ROOT, changed
from tests.reliability.damage import MUTATIONS, damaged_files
from tests.reliability.disks import failing_disks
from tests.reliability.figure import Figure
from tests.reliability.hostile import hostile_files
from tests.reliability.kills import killed_commands, killed_groups, killed_toys
from tests.reliability.order import order_of_samples
from tests.reliability.power import losses_of_power, weaker_protocols
from tests.reliability.strategies import one_hash_for_all_strategies
from tests.reliability.toy_run import train_toy

from spanwise.runtime.progress import read_metrics

SEED = 7


def kept(figure: Figure, at_least: int) -> Figure:
    assert figure.failures == []
    assert figure.tried >= at_least
    return figure


def test_no_power_cut_in_a_real_run_loses_a_save_or_passes_a_wrong_one(tmp_path):
    kept(losses_of_power(tmp_path / "power", SEED, per_operation=6, resumed=10), 250)


def test_a_weaker_protocol_is_caught(tmp_path):
    kept(weaker_protocols(tmp_path, SEED, only=3), 3)


def test_a_disk_that_fails_leaves_the_last_checkpoint_whole(tmp_path):
    kept(failing_disks(tmp_path / "disks", SEED, only=8), 20)


def test_no_damaged_file_is_silent(tmp_path):
    figure = kept(damaged_files(tmp_path / "damage", SEED, cases=60), 60)
    assert figure.facts["outcomes"]["refused"] > 20 and len(MUTATIONS) == 6


def test_samples_come_in_one_order_however_they_are_dealt_out(tmp_path):
    kept(order_of_samples(tmp_path, SEED, cases=40), 43)


def test_hostile_files_execute_nothing_and_end_with_a_sentence(tmp_path):
    kept(hostile_files(tmp_path / "hostile", SEED, cases=40), 40)


def test_the_real_command_killed_ends_with_the_same_weights_moments_and_log(tmp_path):
    figure = kept(killed_commands(tmp_path, SEED, kills=3), 2)
    assert figure.facts["kills"] >= 3


def test_a_run_killed_anywhere_ends_with_the_same_weights_moments_and_log(tmp_path):
    figure = kept(killed_toys(tmp_path, SEED, kills=16), 2)
    assert figure.facts["kills"] >= 16


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.what)
def test_every_seeded_bug_still_finds_its_line(bug):
    source = (ROOT / "src" / "spanwise" / bug.file).read_text("utf-8")
    assert changed(source, bug) != source
    file, _, name = bug.test.partition("::")
    assert f"def {name}(" in (ROOT / file).read_text("utf-8") or not name


def test_a_broken_promise_ends_with_status_1_and_says_what_broke_it(monkeypatch, capsys):
    broken = Figure("kept", tried=2, failures=["it was not"])
    monkeypatch.setattr(tier, "PROMISES", {"one": lambda *_: broken, "two": lambda *_: Figure("fine", tried=1)})
    monkeypatch.setattr(tier, "GOALS", {"one": (1, 9), "two": (1, 9)})
    monkeypatch.setattr("sys.argv", ["reliability", "--seed", "5"])

    assert tier.main() == 1
    first, second = map(json.loads, capsys.readouterr().out.splitlines())
    assert first["failures"] == ["it was not"] and first["failed"] == 1 and first["seed"] == 5
    assert second["failed"] == 0


def test_a_promise_that_was_tried_less_often_than_its_goal_is_broken(monkeypatch, capsys):
    monkeypatch.setattr(tier, "PROMISES", {"one": lambda *_: Figure("kept", tried=9, facts={"kills": 2})})
    monkeypatch.setattr(tier, "GOALS", {"one": (3, 300)})
    monkeypatch.setattr("sys.argv", ["reliability"])

    assert tier.main() == 1
    assert json.loads(capsys.readouterr().out)["failures"] == ["tried less often than 3 times"]


@pytest.mark.slow
def test_every_strategy_gives_one_hash(tmp_path):
    kept(one_hash_for_all_strategies(tmp_path, SEED, cases=4), 4)


@pytest.mark.slow
def test_groups_of_processes_killed_and_restarted_agree(tmp_path):
    kept(killed_groups(tmp_path, SEED, kills=6), 2)


@pytest.mark.slow
@pytest.mark.parametrize("name", list(tier.PROMISES))
def test_soak(name, tmp_path):
    """The numbers of the slow tier."""
    figure = kept(tier.PROMISES[name](tmp_path, SEED, True), 1)
    assert not tier.falls_short(name, figure, True)


def test_a_run_that_ended_between_its_last_evaluation_and_its_model_logs_it_once(tmp_path):
    """The checkpoint of the last step is older than the evaluation of that step, which a resume does again."""
    folder = tmp_path / "run"
    train_toy(folder, steps=8)
    wanted = [record["step"] for record in read_metrics(folder / "metrics.jsonl") if "evaluation" in record]
    shutil.rmtree(folder / "final")
    train_toy(folder, steps=8, resume=True)
    found = [record["step"] for record in read_metrics(folder / "metrics.jsonl") if "evaluation" in record]
    assert wanted[-1] == 8 and found == wanted
