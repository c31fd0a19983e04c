"""Before the first step: tokens of every arm, the controls they share, and what is missing."""

from dataclasses import replace

import pytest
from toy_studies import TOKENS, toy_recipe, toy_study

from spanwise.errors import ConfigError, DataError
from spanwise.pretraining.masking import TaggedPhrases
from spanwise.studies.plan import Unit, plan_study
from spanwise.studies.probes import MaskedTokens

PROBES = (MaskedTokens(max_tokens=300),)


def plan_of(study, store, tmp_path, **values):
    return plan_study(replace(study, probes=PROBES), data=store.path, valid=store.path, out=tmp_path / "out", **values)


def test_equal_tokens_are_equal_and_equal_compute_gives_the_dearer_arm_fewer(tiny_store, tmp_path):
    assert set(plan_of(toy_study(), tiny_store, tmp_path).budget.tokens.values()) == {TOKENS}
    assert set(plan_of(toy_study(tokens=700), tiny_store, tmp_path).budget.tokens.values()) == {700}
    plan = plan_of(toy_study(compute=1e8), tiny_store, tmp_path)
    assert plan.budget.tokens["sbo"] < plan.budget.tokens["mlm"]
    for arm in ("mlm", "sbo"):
        assert plan.budget.tokens[arm] * plan.flops[arm] == pytest.approx(1e8, rel=1e-3)
    assert not (tmp_path / "out").exists()


def test_arms_of_one_encoder_share_a_control_that_has_the_heads_of_all(tiny_store, tmp_path):
    wide = toy_recipe("wide")
    wide = replace(wide, encoder=replace(wide.encoder, hidden_size=32))
    plan = plan_of(toy_study(arms={**toy_study().arms, "wide": wide}), tiny_store, tmp_path, seeds=2)
    assert plan.control_arms == {"mlm": "mlm", "sbo": "mlm", "wide": "wide"}
    names = [unit.name for unit in plan.units]
    assert names[:5] == ["mlm-0", "sbo-0", "wide-0", "control-mlm-0", "control-wide-0"]
    assert len(names) == 10
    assert set(plan.recipe(Unit(of="mlm", seed=0, is_control=True)).objectives) == {"mlm", "sbo"}
    assert not [unit for unit in replace(plan, study=replace(plan.study, control="none")).units if unit.is_control]


def test_an_arm_that_the_store_can_not_feed_is_named(tiny_store, tmp_path):
    arms = {**toy_study().arms, "phrases": toy_recipe(masking=TaggedPhrases(tags="entities"))}
    with pytest.raises(DataError, match=r"arm 'phrases'.*entities"):
        plan_of(toy_study(arms=arms), tiny_store, tmp_path)


def test_a_device_that_is_not_there_is_told(tiny_store, tmp_path):
    with pytest.raises(ConfigError, match="tpu"):
        plan_of(toy_study(), tiny_store, tmp_path, device="tpu")


def test_no_seed_is_refused(tiny_store, tmp_path):
    with pytest.raises(ConfigError, match="--seeds 0"):
        plan_of(toy_study(), tiny_store, tmp_path, seeds=0)


def test_the_cost_of_a_token_is_that_of_the_training_log(tiny_store, tmp_path):
    from spanwise.pretraining.ready import make_ready
    from spanwise.pretraining.run import flops_per_token
    from spanwise.runtime.progress import RunLog
    from spanwise.training.run_folder import RunFolder

    plan = plan_of(toy_study(), tiny_store, tmp_path)
    ready = make_ready(toy_recipe(), RunFolder(tmp_path / "run"), {"data": tiny_store.path}, RunLog(None))
    assert flops_per_token(ready) == pytest.approx(plan.flops["sbo"])
