"""Equal wall-clock time is turned into tokens once; a resumed study reads what was measured then."""

import json
from dataclasses import replace
from types import SimpleNamespace

import pytest
from toy_studies import toy_study

from spanwise.errors import ConfigError
from spanwise.studies import budget, run_study
from spanwise.studies.folder import settle
from spanwise.studies.page import facts
from spanwise.studies.plan import plan_study
from spanwise.studies.probes import MaskedTokens

PROBES = (MaskedTokens(max_tokens=200),)


def plan_of(study, store, tmp_path, **values):
    return plan_study(replace(study, probes=PROBES), data=store.path, valid=store.path, out=tmp_path / "out", **values)


@pytest.fixture
def machine(monkeypatch):
    """A machine of known rates: `machine.rates` are those of the rounds to come, `machine.calls` what was asked."""
    state = SimpleNamespace(rates={"mlm": [900.0, 1000.0, 950.0], "sbo": [500.0, 400.0, 300.0]}, calls=[])

    def calibrate(recipe, store, *, seconds, device=None):
        state.calls.append((recipe.name, recipe.training.threads))
        rounds = state.rates[recipe.name]
        rate = rounds[(sum(name == recipe.name for name, _ in state.calls) - 1) % len(rounds)]
        return SimpleNamespace(tokens_per_second=rate)

    monkeypatch.setattr(budget, "calibrate", calibrate)
    return state


def test_seconds_become_tokens_by_the_fastest_of_rounds_in_turn(machine, tiny_store, tmp_path):
    plan = plan_of(toy_study(seconds=3.0), tiny_store, tmp_path)
    assert plan.budget.tokens == {"mlm": 3000, "sbo": 1500}
    assert [name for name, _ in machine.calls] == ["mlm", "sbo"] * budget.ROUNDS
    assert {threads for _, threads in machine.calls} == {toy_study().arms["mlm"].training.threads}
    assert not (tmp_path / "out").exists()


def test_models_side_by_side_are_measured_on_the_one_thread_that_each_will_have(machine, tiny_store, tmp_path):
    plan_of(toy_study(seconds=3.0), tiny_store, tmp_path, jobs=2)
    assert {threads for _, threads in machine.calls} == {1}


def test_a_study_that_goes_on_keeps_its_tokens_on_a_machine_that_is_slower_now(machine, tiny_store, tmp_path):
    plan = plan_of(toy_study(seconds=3.0), tiny_store, tmp_path)
    plan.folder.path.mkdir()
    settle(plan.folder, plan.identity)
    machine.rates = {"mlm": [10.0], "sbo": [10.0]}
    machine.calls.clear()
    again = plan_of(toy_study(seconds=3.0), tiny_store, tmp_path)
    assert again.budget == plan.budget and machine.calls == []
    settle(again.folder, again.identity)
    other = plan_of(toy_study(seconds=4.0), tiny_store, tmp_path)
    with pytest.raises(ConfigError, match=r"seconds: 3\.0 there, 4\.0 now"):
        settle(other.folder, other.identity)


def test_another_study_or_a_full_folder_is_refused_before_anything_is_measured(machine, tiny_store, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.tex").write_text("words")
    with pytest.raises(ConfigError, match=r"thesis\.tex"):
        plan_of(toy_study(seconds=3.0), tiny_store, tmp_path)
    (tmp_path / "out" / "thesis.tex").unlink()
    by_tokens = plan_of(toy_study(), tiny_store, tmp_path)
    settle(by_tokens.folder, by_tokens.identity)
    by_time = plan_of(toy_study(seconds=3.0), tiny_store, tmp_path)
    with pytest.raises(ConfigError, match="another study"):
        settle(by_time.folder, by_time.identity)
    assert machine.calls == []


@pytest.mark.parametrize(
    ("changes", "is_alike"),
    [
        ({}, True),
        ({"log_every": 7}, True),
        ({"threads": 1}, False),
        ({"compile": "off"}, False),
        ({"deterministic": True}, False),
        ({"exact_sums": True}, False),
        ({"sharding": "fsdp2"}, False),
    ],
    ids=lambda value: next(iter(value), "rate") if isinstance(value, dict) else "",
)
def test_arms_are_of_one_cost_where_nothing_differs_that_takes_time(machine, tiny_store, tmp_path, changes, is_alike):
    one = toy_study().arms["mlm"]
    other = replace(one, name="other", training=replace(one.training, learning_rate=0.5, **changes))
    machine.rates = {"mlm": [900.0], "other": [100.0]}
    plan = plan_of(toy_study(seconds=3.0, arms={"mlm": one, "other": other}), tiny_store, tmp_path)
    assert plan.budget.rates == {"mlm": 900.0, "other": 900.0 if is_alike else 100.0}


def test_arms_whose_steps_are_cut_into_other_packs_are_measured_each(machine, tiny_store, tmp_path):
    one = toy_study().arms["mlm"]
    batch = replace(one.batch, packs=one.batch.packs_per_step)
    other = replace(one, name="other", batch=batch, training=replace(one.training, learning_rate=0.5))
    machine.rates = {"mlm": [900.0], "other": [100.0]}
    plan = plan_of(toy_study(seconds=3.0, arms={"mlm": one, "other": other}), tiny_store, tmp_path)
    assert plan.budget.rates["other"] == 100.0


def test_several_processes_do_not_measure(machine, tiny_store, tmp_path, monkeypatch):
    for name, value in {"WORLD_SIZE": "2", "RANK": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "1"}.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(ConfigError, match="leave --processes out, or give --tokens"):
        plan_of(toy_study(seconds=3.0), tiny_store, tmp_path)


def test_a_number_of_tokens_per_arm_is_kept_and_told(tiny_store, tmp_path):
    study = toy_study(tokens={"mlm": 700, "sbo": 500})
    plan = plan_of(study, tiny_store, tmp_path)
    assert plan.budget.tokens == {"mlm": 700, "sbo": 500} and plan.recipe(plan.units[1]).training.max_tokens == 500


def test_a_study_of_equal_time_trains_as_long_as_it_was_measured_and_says_so(tiny_store, tmp_path, monkeypatch):
    monkeypatch.setattr(budget, "ROUND_SECONDS", 0.0)
    study = replace(toy_study(seconds=0.05, control="none"), probes=PROBES)
    out = tmp_path / "out"
    record = run_study(study, data=tiny_store.path, valid=tiny_store.path, out=out, seeds=1).record
    kept = json.loads((out / "study.json").read_text())
    for arm, rate in kept["rates"].items():
        assert kept["tokens"][arm] == max(1, round(0.05 * rate)) <= record.arms[arm].runs["0"].tokens
    written = {"kind": "seconds", "value": 0.05, "tokens": kept["tokens"], "rates": kept["rates"]}
    assert json.loads((out / "result.json").read_text())["budget"] == written
    assert "tokens per second that were measured once" in facts(record)[0]
