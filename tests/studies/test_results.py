"""The record tells a study that is not finished as one: what is there, what is not, and why."""

from dataclasses import replace

from toy_studies import toy_study

from spanwise.studies.folder import write_record
from spanwise.studies.plan import Unit, plan_study
from spanwise.studies.probes import MaskedTokens
from spanwise.studies.results import NO_HEAD, NO_TOKEN, NOT_FINITE, collect
from spanwise.studies.units import work_on


def test_an_unfinished_study_has_no_mean_and_says_why(tiny_store, tmp_path):
    study = replace(toy_study(tokens=500), probes=(MaskedTokens(max_tokens=200),))
    (tmp_path / "out").mkdir()
    plan = plan_study(study, data=tiny_store.path, valid=tiny_store.path, out=tmp_path / "out", seeds=2)
    work_on(plan, Unit(of="mlm", seed=0), stream=None)
    record = collect(plan)
    figure = next(figure for figure in record.figures if figure.key == "span_mlm_loss")
    assert figure.arms["mlm"].mean is None and figure.arms["mlm"].why == "seed 1: not measured yet"
    assert list(figure.arms["mlm"].values) == ["0"]
    assert figure.arms["sbo"].why == "not measured yet"
    runs = record.arms["mlm"].runs
    assert (runs["0"].state, runs["1"].state) == ("finished", "new")
    assert runs["0"].tokens >= 500 and runs["0"].flops > 0 and runs["0"].probe_seconds > 0
    assert record.curves == {}  # no seed pair is whole
    assert [set(where) for where in record.measured_where] == [{"device", "torch", "spanwise"}]


def test_a_figure_that_is_no_number_is_missing_with_its_reason(tiny_store, tmp_path):
    study = replace(toy_study(tokens=500), probes=(MaskedTokens(max_tokens=200),), control="none")
    plan = plan_study(study, data=tiny_store.path, valid=tiny_store.path, out=tmp_path / "out", seeds=1)
    for arm, loss in (("mlm", 3.0), ("sbo", float("nan"))):
        path = plan.folder.measured("masked-tokens", f"{arm}-0")
        write_record(path, {"settings": {}, "figures": {"span_mlm_loss": loss}, "failed": "", "seconds": 1.0})
    figure = next(figure for figure in collect(plan).figures if figure.key == "span_mlm_loss")
    assert figure.arms["mlm"].mean == 3.0
    assert figure.arms["sbo"].mean is None and figure.arms["sbo"].why == NOT_FINITE
    assert figure.differences[0].verdict is None


def test_a_missing_figure_is_told_as_no_head_or_as_no_token_of_its_kind(tiny_store, tmp_path):
    study = replace(toy_study(tokens=500), probes=(MaskedTokens(max_tokens=200),), control="none")
    plan = plan_study(study, data=tiny_store.path, valid=tiny_store.path, out=tmp_path / "out", seeds=1)
    counted = {"span_mlm_loss": 6.0, "span_sbo_loss": 6.0}  # and nothing hidden that lies deep
    write_record(plan.folder.measured("masked-tokens", "baselines"), {"settings": {}, "columns": {"unigram": counted}})
    for arm in ("mlm", "sbo"):
        path = plan.folder.measured("masked-tokens", f"{arm}-0")
        write_record(path, {"settings": {}, "figures": {"span_mlm_loss": 3.0}, "failed": "", "seconds": 1.0})
    why = {figure.key: figure.arms["mlm"].why for figure in collect(plan).figures}
    assert why["span_sbo_loss"] == NO_HEAD and why["span_mlm_loss_at_5"] == NO_TOKEN


def test_the_record_names_the_files_of_the_probes_and_the_arms_that_begin_with_the_text(
    tiny_store, probe_data, tmp_path
):
    mlm, sbo = toy_study().arms.values()
    counted = replace(sbo, initial=replace(sbo.initial, biases="unigram"))
    study = replace(toy_study(), arms={"mlm": mlm, "sbo": counted}, probes=("chunks",))
    plan = plan_study(study, data=tiny_store.path, probe_data=probe_data, out=tmp_path / "out", seeds=1)
    record = collect(plan)
    assert record.starts_from_text == ["sbo"]
    files = record.probe_files["chunks"]
    assert {key: file["name"] for key, file in files.items()} == {"train": "train.txt", "dev": "test.txt"}
    assert all(len(file["sha256"]) == 64 for file in files.values())
