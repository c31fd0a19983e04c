"""A study of two arms from first step to table: killed in the middle, called again, seen through."""

import contextlib
import json
import os
import shutil
import signal
import time
from dataclasses import asdict, replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from scipy import stats
from tests.reliability.kills import ended, start
from toy_studies import toy_recipe, toy_study

from spanwise.data.prepare import prepare
from spanwise.data.token_store import TokenStore
from spanwise.errors import ConfigError, DataError
from spanwise.interop.huggingface import read_folder
from spanwise.pretraining.system import build_model
from spanwise.studies import run_study
from spanwise.studies.plan import plan_study
from spanwise.studies.probes import MaskedTokens
from spanwise.studies.results import collect
from spanwise.studies.run import train_together
from spanwise.studies.study import changed_study


def in_subprocess(store: TokenStore, probes: Path, out: Path) -> int:
    """Begin or go on with the toy study in a process of its own; returns its process id."""

    def study() -> int:
        run_study(toy_study(), data=store.path, valid=store.path, probe_data=probes, out=out, seeds=2)
        return 0

    return start(study, out)


@pytest.fixture(scope="module")
def finished(tiny_store, probe_data, tmp_path_factory):
    """The toy study, two seeds, run in one go by a process of its own; here it is only read."""
    out = tmp_path_factory.mktemp("study") / "out"
    assert ended([in_subprocess(tiny_store, probe_data, out)]) == [0]
    return run_study(toy_study(), data=tiny_store.path, valid=tiny_store.path, probe_data=probe_data, out=out, seeds=2)


def test_a_folder_of_other_things_is_left_as_it_is(tiny_store, probe_data, tmp_path):
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(ConfigError, match=r"thesis\.tex"):
        run_study(toy_study(), data=tiny_store.path, valid=tiny_store.path, probe_data=probe_data, out=tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def figure_of(record, key):
    return next(figure for figure in record.figures if figure.key == key)


def test_a_study_gives_every_figure_of_every_model_and_paired_intervals_as_scipy_has_them(finished):
    record = finished.record
    assert {run.state for _, run in record.runs} == {"finished"}
    figure = figure_of(record, "span_mlm_loss")
    ours, other = ([figure.arms[arm].values[seed] for seed in ("0", "1")] for arm in ("sbo", "mlm"))
    found = next(d for d in figure.differences if (d.ours, d.other) == ("sbo", "mlm"))
    interval = stats.ttest_rel(ours, other).confidence_interval(0.95)
    assert (found.low, found.high) == pytest.approx((interval.low, interval.high))
    assert set(figure.baselines) == {"unigram", "bigram"} and figure.controls["mlm"].mean > 0
    sbo = figure_of(record, "span_sbo_loss")
    assert sbo.arms["mlm"].mean is None and "no head" in sbo.arms["mlm"].why
    assert sbo.controls["mlm"].mean is not None  # the control has the heads of all its arms
    assert any(figure.probe == "minimal-pairs" and figure.arms["mlm"].values for figure in record.figures)


def test_the_tables_say_what_result_json_says(finished):
    kept = json.loads((finished.folder / "result.json").read_text())
    assert kept == json.loads(json.dumps(asdict(finished.record)))
    text, page = (finished.folder / "table.md").read_text(), (finished.folder / "report.html").read_text()
    mean = next(f for f in kept["figures"] if f["key"] == "span_mlm_loss")["arms"]["sbo"]["mean"]
    assert f"{mean:.3f} ± " in text and f"{mean:.3f} <small>± " in page
    for words in ("Does SBO help?", "sbo - mlm", "bigram", "random weights"):
        assert words in text and words in page


def test_the_control_has_the_very_weights_that_training_began_with(finished, tiny_store):
    control = read_folder(finished.folder / "control-mlm-1")
    recipe = toy_recipe("sbo")
    recipe = replace(recipe, training=replace(recipe.training, seed=1))
    start = build_model(recipe, tiny_store.vocabulary.size)
    weights = dict(start.encoder.named_parameters())
    assert all((control.tensors[name] == weights[name][: len(control.tensors[name])]).all() for name in control.tensors)
    assert {"mlm", "sbo"} <= set(control.heads)


def test_a_second_call_does_nothing_again(finished, tiny_store, probe_data):
    files = sorted(finished.folder.rglob("metrics.jsonl")) + sorted(finished.folder.rglob("measures/*/*.json"))
    before = {path: path.stat().st_mtime_ns for path in files}
    data = {"data": tiny_store.path, "valid": tiny_store.path, "probe_data": probe_data, "out": finished.folder}
    again = run_study(toy_study(), seeds=2, **data)
    assert again.record.figures == finished.record.figures
    assert {path: path.stat().st_mtime_ns for path in files} == before


def test_another_seed_is_added_to_those_that_are_there(finished, tiny_store, probe_data, tmp_path):
    out = shutil.copytree(finished.folder, tmp_path / "out")
    more = run_study(toy_study(), data=tiny_store.path, valid=tiny_store.path, probe_data=probe_data, out=out, seeds=3)
    for before, after in zip(finished.record.figures, more.record.figures, strict=True):
        for arm, values in after.arms.items():
            had, has = before.arms[arm].values, values.values
            assert had.items() <= has.items() and (not had or set(has) == {"0", "1", "2"})


@pytest.mark.parametrize(
    ("first_probe", "seeds", "words"),
    [
        (0, 1, r"mlm-1, sbo-1\).*--seeds 2"),
        (1, 2, r"\(masked-tokens\).*--probe minimal-pairs --probe masked-tokens"),
    ],
)
def test_fewer_seeds_or_probes_than_the_tables_have_are_refused(
    first_probe, seeds, words, finished, tiny_store, probe_data, tmp_path
):
    out = shutil.copytree(finished.folder, tmp_path / "out")
    study = replace(toy_study(), probes=toy_study().probes[first_probe:])
    with pytest.raises(ConfigError, match=words):
        run_study(study, data=tiny_store.path, valid=tiny_store.path, probe_data=probe_data, out=out, seeds=seeds)
    assert (out / "result.json").read_bytes() == (finished.folder / "result.json").read_bytes()


def test_training_text_given_as_held_out_stands_in_the_tables(finished, tiny_store, tiny_text, tmp_path):
    assert "no figure on it is of unseen text" in (finished.folder / "table.md").read_text(encoding="utf-8")
    (tmp_path / "text.txt").write_text(tiny_text.read_text(encoding="utf-8") + "One line more .\n", encoding="utf-8")
    prepare(tmp_path / "text.txt", tiny_store.tokenizer(), tmp_path / "store")
    study = replace(toy_study(), probes=toy_study().probes[:1])
    plan = plan_study(study, data=tiny_store.path, valid=tmp_path / "store", out=tmp_path / "out")
    assert collect(plan).notes == []


def test_another_text_over_an_old_folder_is_refused(finished, tiny_store, tiny_text, probe_data, tmp_path):
    (tmp_path / "text.txt").write_text(tiny_text.read_text(encoding="utf-8") + "One line more .\n", encoding="utf-8")
    prepare(tmp_path / "text.txt", tiny_store.tokenizer(), tmp_path / "store")
    with pytest.raises(ConfigError, match=f"store: {tiny_store.sha256} there"):
        run_study(
            toy_study(),
            data=tmp_path / "store",
            valid=tiny_store.path,
            probe_data=probe_data,
            out=finished.folder,
            seeds=2,
        )


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        (lambda study: replace(study, tokens=4_000), "tokens.mlm: 3000 there, 4000 now"),
        (lambda study: replace(study, control="none"), "control: random weights there, none now"),
        (
            lambda study: replace(study, arms={**study.arms, "mlm": replace(study.arms["mlm"], num_maskings=2)}),
            "arms.mlm.num_maskings",
        ),
        (lambda study: replace(study, probes=(MaskedTokens(max_tokens=700),)), "measured otherwise: probe.max_tokens"),
    ],
)
def test_another_study_over_an_old_folder_is_refused_saying_what_differs(
    changed, words, finished, tiny_store, probe_data
):
    data = {"data": tiny_store.path, "valid": tiny_store.path, "probe_data": probe_data, "out": finished.folder}
    with pytest.raises(ConfigError, match=words.replace(".", "\\.")):
        run_study(changed(toy_study()), seeds=2, **data)


@pytest.mark.slow
def test_a_study_killed_in_the_middle_goes_on_to_the_same_figures(finished, tiny_store, probe_data, tmp_path):
    out = tmp_path / "out"
    process = in_subprocess(tiny_store, probe_data, out)
    until = time.monotonic() + 60
    while not list(out.glob("measures/*/*-0.json")) and time.monotonic() < until:
        time.sleep(0.02)
    os.kill(process, signal.SIGKILL)
    assert ended([process]) == [-signal.SIGKILL]
    assert not (out / "sbo-1" / "final").exists()  # it was stopped before the end
    assert ended([in_subprocess(tiny_store, probe_data, out)]) == [0]
    data = {"data": tiny_store.path, "valid": tiny_store.path, "probe_data": probe_data, "out": out}
    resumed = run_study(toy_study(), seeds=2, **data)
    for ours, theirs in zip(resumed.record.figures, finished.record.figures, strict=True):
        assert ours == theirs


def test_a_run_that_diverges_is_shown_and_leaves_its_arm_without_a_mean(tiny_store, probe_data, tmp_path):
    hot = toy_recipe("hot")
    hot = replace(hot, training=replace(hot.training, learning_rate=1e30))
    study = toy_study(arms={"cool": toy_recipe("cool"), "hot": hot}, probes=(MaskedTokens(max_tokens=300),))
    data = {"data": tiny_store.path, "valid": tiny_store.path, "probe_data": probe_data, "out": tmp_path / "out"}
    result = run_study(study, seeds=1, **data)
    assert result.record.diverged == ["hot-0"]
    figure = figure_of(result.record, "span_mlm_loss")
    assert figure.arms["hot"].mean is None and "hot-0 diverged" in figure.arms["hot"].why
    assert figure.arms["cool"].mean is not None
    assert "hot-0 diverged" in (tmp_path / "out" / "table.md").read_text()
    marked = (tmp_path / "out" / "hot-0" / "diverged.json").stat().st_mtime_ns
    run_study(study, seeds=1, **data)
    assert (tmp_path / "out" / "hot-0" / "diverged.json").stat().st_mtime_ns == marked  # and is not run again


def test_what_is_missing_is_told_before_anything_is_trained(tiny_store, tmp_path):
    data = {"data": tiny_store.path, "out": tmp_path / "out"}
    with pytest.raises(ConfigError, match="--valid STORE"):
        run_study(toy_study(), **data)
    with pytest.raises(DataError, match=r"minimal-pairs.*blimp.*--probe-data DIR.*alexwarstadt/blimp"):
        run_study(toy_study(), valid=tiny_store.path, **data)
    with pytest.raises(DataError, match=f"below {tmp_path}"):
        run_study(toy_study(), valid=tiny_store.path, probe_data=tmp_path, **data)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("probe", "file"),
    [
        ("chunks", "tagging/conll2000/train.txt"),
        ("entities", "tagging/wikiann_en/dev.txt"),
        ("questions", "qa/squad/dev-v1.1.json"),
        ("coreference", "coref/ontogum/train.conll"),
        ("span-pairs", "coref/ontogum/train.conll"),
        ("span-pairs", "coref/ontogum/dev.conll"),
        ("minimal-pairs", "blimp.jsonl"),
    ],
)
def test_a_damaged_file_of_a_probe_is_told_before_anything_is_trained(probe, file, tiny_store, probe_data, tmp_path):
    shutil.copytree(probe_data, tmp_path / "probes")
    (tmp_path / "probes" / file).write_text("{")
    study = changed_study(toy_study(), probes=[probe])
    with pytest.raises(DataError, match=Path(file).name):
        run_study(study, data=tiny_store.path, probe_data=tmp_path / "probes", out=tmp_path / "out")
    assert not list((tmp_path / "out").glob("mlm-*"))


@pytest.mark.parametrize(("probe", "held"), [("questions", "12 questions"), ("chunks", "12 sentences")])
def test_a_file_with_fewer_examples_than_a_figure_names_is_told_before_anything_is_trained(
    probe, held, tiny_store, probe_data, tmp_path
):
    study = changed_study(toy_study(), probes=[probe])
    with pytest.raises(DataError, match=rf"holds {held} and the probe asks for 1"):
        run_study(study, data=tiny_store.path, probe_data=probe_data, out=tmp_path / "out")
    assert not list((tmp_path / "out").glob("mlm-*"))


def test_several_models_at_a_time_and_several_processes_a_model_are_refused_together(
    tiny_store, probe_data, tmp_path, monkeypatch
):
    for name, value in {"WORLD_SIZE": "2", "RANK": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "1"}.items():
        monkeypatch.setenv(name, value)
    data = {"data": tiny_store.path, "valid": tiny_store.path, "probe_data": probe_data, "out": tmp_path / "out"}
    with pytest.raises(ConfigError, match="--jobs"):
        run_study(toy_study(), jobs=2, **data)
    assert not (tmp_path / "out").exists()


def test_a_device_that_does_not_share_its_packs_is_held_to_the_number_of_processes_at_once(
    tiny_store, tmp_path, monkeypatch
):
    @contextlib.contextmanager
    def joined():
        yield SimpleNamespace(world=SimpleNamespace(size=4, is_leader=True), check_device=lambda device: None)

    monkeypatch.setattr("spanwise.studies.run.join_processes", joined)
    monkeypatch.setattr(
        "spanwise.pretraining.run.choose_device", lambda name: SimpleNamespace(type="cuda" if name is None else name)
    )
    study = replace(toy_study(), probes=toy_study().probes[:1])
    plan = plan_study(study, data=tiny_store.path, valid=tiny_store.path, out=tmp_path / "out", device="cpu")
    with pytest.raises(ConfigError, match=r"is 1 pack\(s\), too few for 4 processes"):
        train_together(plan, None)
    assert not (tmp_path / "out").exists()
