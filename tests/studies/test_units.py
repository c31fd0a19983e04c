"""One model of a study: what is done is kept, what is kept is not done again."""

import json
from dataclasses import replace

import pytest
from toy_studies import toy_study

from spanwise.errors import NumericsError
from spanwise.studies.plan import Unit, plan_study
from spanwise.studies.probes import MaskedTokens
from spanwise.studies.units import measure, measure_baselines, work_on


@pytest.fixture
def plan(tiny_store, tmp_path):
    study = replace(toy_study(tokens=500), probes=(MaskedTokens(max_tokens=200),))
    (tmp_path / "out").mkdir()
    return plan_study(study, data=tiny_store.path, valid=tiny_store.path, out=tmp_path / "out")


def test_a_control_is_written_and_measured_once(plan):
    unit = Unit(of="mlm", seed=2, is_control=True)
    work_on(plan, unit, stream=None)
    kept = plan.folder.measured("masked-tokens", unit.name)
    before = kept.stat().st_mtime_ns, (plan.model(unit) / "model.safetensors").stat().st_mtime_ns
    work_on(plan, unit, stream=None)
    assert (kept.stat().st_mtime_ns, (plan.model(unit) / "model.safetensors").stat().st_mtime_ns) == before
    record = json.loads(kept.read_text())
    assert record["figures"]["span_sbo_loss"] > 0 and record["settings"]["probe"]["max_tokens"] == 200


def test_baselines_are_measured_without_a_model(plan):
    measure_baselines(plan, plan.study.found_probes[0])
    columns = json.loads(plan.folder.measured("masked-tokens", "baselines").read_text())["columns"]
    assert columns["bigram"]["span_mlm_loss"] < columns["unigram"]["span_mlm_loss"]
    assert not list(plan.folder.path.glob("*-0"))


def test_a_probe_whose_own_training_diverges_is_kept_as_that(plan):
    class Diverges(MaskedTokens):
        def measure(self, context):
            raise NumericsError("not-a-number at step 3")

    from spanwise.runtime.progress import RunLog

    unit = Unit(of="mlm", seed=0, is_control=True)
    measure(plan, unit, Diverges(max_tokens=200), RunLog(None))
    record = json.loads(plan.folder.measured("masked-tokens", unit.name).read_text())
    assert record["figures"] == {} and "step 3" in record["failed"]
