"""An arm of two phases has one budget, begins its second phase with the weights of the first, and goes on exactly."""

import json
from dataclasses import replace
from types import SimpleNamespace

import pytest
from toy_studies import TOKENS, toy_recipe, toy_study

from spanwise.errors import ConfigError, NumericsError
from spanwise.interop.huggingface import read_folder
from spanwise.pretraining.objectives import MaskedLM
from spanwise.studies import run_study, units
from spanwise.studies.folder import settle
from spanwise.studies.phases import FirstPhase
from spanwise.studies.plan import Unit, plan_study
from spanwise.studies.probes import MaskedTokens
from spanwise.studies.study import changed_study, check_study, difference_from_first


def two_phases(share=0.25, **values):
    """The toy study with a third arm: MLM + SBO for a share, then MLM alone."""
    study = toy_study(**values)
    last = toy_recipe("then", objectives={"mlm": MaskedLM()})
    return replace(
        study,
        arms={**study.arms, "then": last},
        first={"then": FirstPhase(recipe=study.arms["sbo"], share=share)},
        probes=(MaskedTokens(max_tokens=200),),
    )


def plan_of(study, store, tmp_path):
    return plan_study(study, data=store.path, valid=store.path, out=tmp_path / "out")


def test_both_phases_together_have_the_budget_of_one_arm(tiny_store, tmp_path):
    plan = plan_of(two_phases(), tiny_store, tmp_path)
    assert plan.budget.tokens == {"mlm": TOKENS, "sbo": TOKENS, "then.first": 750, "then": 2250}
    plan = plan_of(two_phases(compute=1e8), tiny_store, tmp_path)
    tokens, flops = plan.budget.tokens, plan.flops
    assert sum(tokens[leg] * flops[leg] for leg in ("then.first", "then")) == pytest.approx(1e8, rel=1e-2)


def test_seconds_are_divided_and_legs_of_one_cost_have_one_rate(tiny_store, tmp_path, monkeypatch):
    rates = {"mlm": 1000.0, "sbo": 400.0}  # a trial of any other name fails

    def calibrate(recipe, *_, **__):
        return SimpleNamespace(tokens_per_second=rates[recipe.name])

    monkeypatch.setattr("spanwise.studies.budget.calibrate", calibrate)
    study = two_phases(share=0.25, seconds=8.0)
    slow = replace(study.arms["then"], training=replace(study.arms["then"].training, learning_rate=1e-3))
    plan = plan_of(replace(study, arms={**study.arms, "then": slow}), tiny_store, tmp_path)
    assert plan.budget.tokens == {"mlm": 8000, "sbo": 3200, "then.first": 800, "then": 6000}


def test_the_second_phase_reads_the_text_in_another_order_and_the_first_as_the_other_arms(tiny_store, tmp_path):
    plan, unit = plan_of(two_phases(), tiny_store, tmp_path), Unit(of="then", seed=2)
    assert plan.first_recipe(unit).training.seed == plan.recipe(Unit(of="sbo", seed=2)).training.seed == 2
    assert plan.recipe(unit).training.seed != 2
    assert plan.first_recipe(Unit(of="sbo", seed=2)) is None


def test_the_second_phase_goes_on_from_the_first_and_the_record_counts_both(tiny_store, tmp_path):
    out, study = tmp_path / "out", two_phases(tokens=800)
    record = run_study(study, data=tiny_store.path, valid=tiny_store.path, out=out, seeds=1).record
    final = read_folder(out / "then-0" / "final")
    assert {"mlm", "sbo"} <= set(final.heads)  # the head that only the first phase has trained is still there
    assert record.arms["then"].first["tokens"] == 200 and record.arms["then"].runs["0"].tokens >= 800
    assert ("first phase", "none", "sbo for 25% of the budget") in record.arms["then"].differs
    kept = json.loads((out / "study.json").read_text())
    assert kept["first"]["then"]["share"] == 0.25
    before = (out / "then-0" / "final" / "model.safetensors").stat().st_mtime_ns
    run_study(study, data=tiny_store.path, valid=tiny_store.path, out=out, seeds=1)
    assert (out / "then-0" / "final" / "model.safetensors").stat().st_mtime_ns == before


def test_a_first_phase_that_was_done_is_not_done_again_after_an_interruption(tiny_store, tmp_path, monkeypatch):
    plan, unit = plan_of(two_phases(tokens=800), tiny_store, tmp_path), Unit(of="then", seed=0)
    real, asked = units.pretrain, []

    def cut_off(recipe, **given):
        if given.get("init") is not None and len(asked) < 2:
            asked.append("second")
            raise KeyboardInterrupt
        asked.append("first")
        return real(recipe, **given)

    monkeypatch.setattr(units, "pretrain", cut_off)
    with pytest.raises(KeyboardInterrupt):
        units.train(plan, unit, stream=None)
    weights = plan.folder.first("then", 0).final / "model.safetensors"
    before = weights.stat().st_mtime_ns
    assert units.needs_training(plan, unit)
    units.train(plan, unit, stream=None)
    assert weights.stat().st_mtime_ns == before and not units.needs_training(plan, unit)


def test_a_first_phase_that_diverges_is_the_arm_diverged(tiny_store, tmp_path, monkeypatch):
    def bad(recipe, **given):
        raise NumericsError("not-a-number at step 3")

    plan, unit = plan_of(two_phases(), tiny_store, tmp_path), Unit(of="then", seed=0)
    monkeypatch.setattr(units, "pretrain", bad)
    units.train(plan, unit, stream=None)
    assert units.has_diverged(plan, unit)


def test_another_share_is_another_study(tiny_store, tmp_path):
    plan = plan_of(two_phases(), tiny_store, tmp_path)
    plan.folder.path.mkdir()
    settle(plan.folder, plan.identity)
    settle(plan.folder, plan.identity)
    other = plan_of(two_phases(share=0.5), tiny_store, tmp_path)
    with pytest.raises(ConfigError, match=r"share: 0\.25 there, 0\.5 now"):
        settle(other.folder, other.identity)
    assert "first" not in plan_of(toy_study(probes=(MaskedTokens(max_tokens=200),)), tiny_store, tmp_path).identity


def test_a_change_of_every_arm_is_one_of_first_phases_too():
    changed = changed_study(two_phases(), overrides=["encoder.num_layers=2"])
    assert changed.first["then"].recipe.encoder.num_layers == 2
    assert difference_from_first(changed, "then") == [("first phase", "none", "sbo for 25% of the budget")]


def test_a_first_phase_that_fits_no_arm_is_refused():
    study = two_phases()
    with pytest.raises(ConfigError, match="'gone' has a first phase and is no arm"):
        check_study(replace(study, first={"gone": study.first["then"]}))
    wide = toy_recipe()
    wide = replace(wide, encoder=replace(wide.encoder, hidden_size=32))
    with pytest.raises(ConfigError, match=r"differ in encoder \(hidden_size: 16 and 32\)"):
        check_study(replace(study, first={"then": FirstPhase(recipe=wide)}))
    with pytest.raises(ConfigError, match=r"'then\.first' is the name of the first phase"):
        check_study(replace(study, arms={**study.arms, "then.first": wide}))
    with pytest.raises(ConfigError, match="share"):
        FirstPhase(recipe=wide, share=1.0)
