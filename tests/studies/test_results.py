"""The record tells a study that is not finished as one: what is there, what is not, and why."""

from dataclasses import replace

from toy_studies import toy_study

from spanwise.studies.plan import Unit, plan_study
from spanwise.studies.probes import MaskedTokens
from spanwise.studies.results import collect
from spanwise.studies.units import work_on


def test_an_unfinished_study_has_no_mean_and_says_why(tiny_store, tmp_path):
    study = replace(toy_study(tokens=500), probes=(MaskedTokens(max_tokens=200),))
    (tmp_path / "out").mkdir()
    plan = plan_study(study, data=tiny_store.path, valid=tiny_store.path, out=tmp_path / "out", seeds=2)
    work_on(plan, Unit(of="mlm", seed=0), stream=None)
    record = collect(plan)
    figure = next(figure for figure in record["figures"] if figure["key"] == "span_mlm_loss")
    assert figure["arms"]["mlm"]["mean"] is None and figure["arms"]["mlm"]["why"] == "seed 1: not measured yet"
    assert list(figure["arms"]["mlm"]["values"]) == ["0"]
    assert figure["arms"]["sbo"]["why"] == "not measured yet"
    runs = record["arms"]["mlm"]["runs"]
    assert (runs["0"]["state"], runs["1"]["state"]) == ("finished", "new")
    assert runs["0"]["tokens"] >= 500 and runs["0"]["flops"] > 0 and runs["0"]["probe_seconds"] > 0
    assert record["curves"] == {}  # no seed pair is whole
