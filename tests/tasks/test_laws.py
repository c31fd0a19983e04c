"""What holds for every task: prediction alone is the run's own, files are scored alike, pipelines agree with files,
runs resume to the same bits, seeds differ and are averaged, nothing is dropped in silence."""

import io
import json
import re
import statistics
from pathlib import Path

import numpy as np
import pytest
from tests.nn.int8.byte_machine import refused_here
from tests.tasks.cases import CASES, NAMES

import spanwise
from spanwise.errors import CheckpointError, ConfigError, DataError
from spanwise.interop.huggingface import read_folder
from spanwise.runtime.progress import RunLog
from spanwise.tasks.base import numbers_of
from spanwise.tasks.batches import EpochBatches
from spanwise.tasks.checkpoint import load_task_model
from spanwise.tasks.evaluate import evaluate, predict
from spanwise.tasks.registry import TASKS, task_recipe
from spanwise.tasks.run import finetune
from spanwise.tasks.seeds import finetune_seeds

STEPS = [
    "training.max_steps=3", "training.save_every=2", "batch_size=2", "training.precision=fp32", "training.threads=1",
    "training.learning_rate=1e-3", "training.warmup_steps=0",
]  # fmt: skip


def test_every_task_has_its_case():
    assert set(CASES) == set(TASKS)


@pytest.fixture(scope="module")
def data_of(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")

    def make(name: str) -> Path:
        (folder / name).mkdir(exist_ok=True)
        path = folder / name / CASES[name].file
        path.write_text(CASES[name].content, encoding="utf-8")
        path.with_stem("long").write_text(CASES[name].long, encoding="utf-8")
        return path

    return {name: make(name) for name in NAMES}


@pytest.fixture(scope="module")
def asked(pretrained_folder, data_of):
    """What `finetune` is asked for, by task."""
    return {
        name: {
            "model": pretrained_folder, "train": data_of[name], "dev": data_of[name], "recipe": case.recipe,
            "overrides": [*STEPS, *case.changes],
        }
        for name, case in CASES.items()
    }  # fmt: skip


@pytest.fixture(scope="module")
def runs(asked, tmp_path_factory):
    """One finished run a task."""
    return {name: finetune(name, **asked[name], out=tmp_path_factory.mktemp(name) / "run") for name in NAMES}


@pytest.mark.parametrize("name", NAMES)
def test_the_folder_alone_says_what_the_run_said_and_its_files_score_alike(runs, data_of, tmp_path, name):
    run, data = runs[name], data_of[name]
    evaluated = evaluate(name, model=run.final, data=data, precision="fp32").scores
    assert evaluated == run.scores == json.loads((run.final.parent / "dev_scores.json").read_text())
    files = predict(name, model=run.final, input=data, output=tmp_path / "dev_predictions.json", precision="fp32")
    assert {path.name for path in files} == {path.name for path in run.final.parent.glob("dev_predictions*")}
    for path in files:
        assert path.read_bytes() == (run.final.parent / path.name).read_bytes(), path.name
    part = task_recipe(name, CASES[name].recipe).task
    named = {name if name.startswith(".") else f".{name}.json" for name in part.prediction_names(data)[1:]}
    assert named <= {path.name.removeprefix("dev_predictions") for path in files}  # `predict` refuses these early
    answers = files[:1] if name == "qa" else files  # nbest lists and null odds are no answers
    for path in answers:
        scored = part.score_files(data, path, {}).scores
        assert run.task.main_score in numbers_of(scored)
        assert {key: value for key, value in evaluated.items() if key in scored} == scored, path.name


@pytest.mark.parametrize("name", NAMES)
def test_the_pipeline_says_of_raw_text_what_predict_says_of_the_file(runs, data_of, tmp_path, name):
    case, model = CASES[name], runs[name].final
    pipeline = spanwise.pipeline(case.pipeline, model=model, device=-1)
    answers = pipeline(list(case.inputs))
    assert len(answers) == len(case.inputs)
    assert [pipeline(item) for item in case.inputs] == answers == list(pipeline(item for item in case.inputs))
    data = data_of[name]
    if name == "coref":  # the file of raw text
        data = tmp_path / "s.txt"
        data.write_text(case.inputs[0])
    files = predict(name, model=model, input=data, output=tmp_path / "p.json", precision="fp32")
    if name == "coref":
        (record,) = [json.loads(line) for line in files[0].read_text().splitlines()]
        ours = [[(m["start"], m["end"]) for m in cluster] for cluster in answers[0]["clusters"]]
        assert sorted(map(sorted, ours)) == sorted(
            sorted((m["start"], m["end"]) for m in cluster) for cluster in record["clusters"]
        )
        return
    told = json.loads(files[0].read_text())
    told = list(told.values()) if isinstance(told, dict) else told
    for item, answer, record in zip(case.inputs, answers, told, strict=True):
        assert answer["num_windows"] == 1 and answer["num_dropped_tokens"] == 0
        if name == "qa":
            assert answer["answer"] == record == item["context"][answer["start"] : answer["end"]]
        else:
            common = answer.keys() & record.keys()
            assert {key: answer[key] for key in common} == {key: record[key] for key in common}


@pytest.mark.parametrize("name", NAMES)
def test_in_int8_every_task_says_nearly_the_same_of_an_example_whatever_shares_its_pack(runs, data_of, name):
    if refused_here():
        return
    case, run, data = CASES[name], runs[name], data_of[name]
    assert evaluate(name, model=run.final, data=data, precision="int8").scores.keys() == run.scores.keys()
    pipeline = spanwise.pipeline(case.pipeline, model=run.final, precision="int8")
    answers = pipeline(list(case.inputs))
    assert [pipeline(item) for item in case.inputs] == answers
    if name == "coref":  # its outputs are decisions
        return
    said = {}
    for precision in ("fp32", "int8"):
        loaded = load_task_model(run.final, name, precision=precision)
        read = loaded.task.read(data, purpose="score")
        features = loaded.task.featurize(read, loaded.tokenizer, loaded.model.encoder.config, training=False)
        outputs = loaded.model.outputs(features, precision=precision)
        said[precision] = np.concatenate([np.ravel(getattr(output, "logits_L2", output)) for output in outputs])
    assert 0 < np.abs(said["int8"] - said["fp32"]).max() < 0.05 * max(1.0, np.abs(said["fp32"]).max())


@pytest.mark.parametrize("name", NAMES)
def test_a_run_that_was_cut_off_goes_on_to_the_same_bits(runs, asked, tmp_path, monkeypatch, name):
    make_step = EpochBatches.step

    def power_cut(self, index):
        if index == 2:
            raise RuntimeError("power cut")
        return make_step(self, index)

    with monkeypatch.context() as patch:
        patch.setattr(EpochBatches, "step", power_cut)
        with pytest.raises(RuntimeError, match="power cut"):
            finetune(name, **asked[name], out=tmp_path / "run")
    resumed = finetune(name, **asked[name], out=tmp_path / "run", resume=True)
    assert resumed.training.resumed_from == 2 and resumed.scores == runs[name].scores
    for file in ("model.safetensors", "heads.safetensors"):
        assert (resumed.final / file).read_bytes() == (runs[name].final / file).read_bytes()


@pytest.mark.parametrize("name", NAMES)
def test_two_seeds_are_two_runs_with_mean_and_deviation(runs, asked, tmp_path, name):
    found = finetune_seeds(name, 2, **asked[name], out=tmp_path / "seeds")
    first, second = (run.final / "model.safetensors" for run in found.runs)
    assert first.read_bytes() != second.read_bytes()
    assert first.read_bytes() == (runs[name].final / "model.safetensors").read_bytes()  # seeds count from 0
    for score in found.scores.values():
        assert score.mean == pytest.approx(statistics.mean(score.values))
        assert score.deviation == pytest.approx(statistics.stdev(score.values))
    assert runs[name].task.main_score in found.scores


@pytest.mark.parametrize(("before", "name"), list(zip(NAMES, [*NAMES[1:], NAMES[0]], strict=True)))
def test_another_task_takes_the_place_of_the_head_and_says_so(runs, asked, tmp_path, before, name):
    said = io.StringIO()
    log = RunLog(tmp_path / "run", stream=said, display="plain")
    run = finetune(name, **{**asked[name], "model": runs[before].final, "dev": None}, out=tmp_path / "run", log=log)
    head, old = run.task.head_name, runs[before].task.head_name
    assert f"The head {head!r} starts fresh" in said.getvalue()
    checkpoint = read_folder(run.final)
    assert set(checkpoint.heads) == {"mlm", head} and checkpoint.record["task"]["part"] == run.task.part_name
    if old != head:
        assert f"The head {old!r} of earlier fine-tuning is left out" in said.getvalue()
        with pytest.raises(CheckpointError, match="no head for"):
            load_task_model(run.final, before)


@pytest.mark.parametrize("name", NAMES)
def test_what_is_longer_than_the_model_reads_is_told_or_refused(runs, data_of, caplog, name):
    asked = {"model": runs[name].final, "data": data_of[name].with_stem("long"), "precision": "fp32"}
    predictions = evaluate(name, **asked).predictions
    if name == "coref":
        assert max(predictions.num_segments) > 1
        assert evaluate(name, **asked, on_overflow="error").predictions == predictions  # it reads texts of any length
        with pytest.raises(ConfigError, match="in windows"):
            evaluate(name, **asked, on_overflow="truncate")
        return
    if name == "tagging":
        assert max(predictions.num_windows) > 1
    else:
        assert re.search(r"1 of \d examples are longer than the model reads; \d+ tokens were dropped", caplog.text)
    with pytest.raises(DataError, match=r"long\.\w+, (line|entry|question) .*(fit|too long)"):
        evaluate(name, **asked, on_overflow="error")


ODD_TEXTS = (
    "Han é נהר 한강 👩‍👩‍👧 🇰🇷 km",
    "שלום Seoul عالم",
    "e\u0301e\u0301 n\u0303 Han\u200b River\u00a0km",
    "\u202eHan\u202c\r\nriver\tkm\u2028Seoul",
    "\ufeffThe Han",
    "[CLS] [MASK] Han [SEP] [unused1] <mask>",
    "𝔗𝔥𝔢 ℌ𝔞𝔫 ﬁﬂ Å ²",
    "한강",
    "a",
)


@pytest.mark.parametrize("name", NAMES)
def test_odd_signs_come_through_with_their_places(runs, name):
    """Right-to-left and combining letters, emoji, separators, specials written in a text: offsets are the text's."""
    inputs = {
        "qa": lambda text: {"question": text, "context": text},
        "relation": lambda text: {"text": text + " and " + text, "subject": [0, 1], "object": [len(text) + 5, -1]},
        "multiple-choice": lambda text: {"context": text, "question": text, "choices": [text, "Han"]},
    }.get(name, lambda text: text)
    items = [inputs(text) for text in ODD_TEXTS]
    if name == "relation":
        for item in items:
            item["object"][1] = len(item["text"])
    for text, answer in zip(ODD_TEXTS, spanwise.pipeline(CASES[name].pipeline, runs[name].final)(items), strict=True):
        found = [answer] if name == "qa" else answer.get("spans", [m for c in answer.get("clusters", ()) for m in c])
        for span in found:
            assert text[span["start"] : span["end"]] == span.get("text", span.get("answer"))
        if name == "relation":
            whole = text + " and " + text
            assert [whole[m["start"] : m["end"]] for m in (answer["subject"], answer["object"])] == [text[0], text]
