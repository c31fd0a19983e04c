"""What holds for every task: prediction alone is the run's own, files are scored alike, pipelines agree with files,
runs resume to the same bits, seeds differ and are averaged, nothing is dropped in silence."""

import io
import json
import statistics
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import spanwise
from spanwise.errors import CheckpointError, ConfigError, DataError
from spanwise.interop.huggingface import read_folder
from spanwise.runtime.progress import RunLog
from spanwise.tasks.base import numbers_of
from spanwise.tasks.batches import EpochBatches
from spanwise.tasks.checkpoint import load_task_model
from spanwise.tasks.registry import task_names, task_recipe
from spanwise.tasks.run import evaluate, finetune, predict
from spanwise.tasks.seeds import finetune_seeds

STEPS = [
    "training.max_steps=3", "training.save_every=2", "batch_size=2", "training.precision=fp32", "training.threads=1",
    "training.learning_rate=1e-3", "training.warmup_steps=0",
]  # fmt: skip
LONG = "The Han River is long and the bridge is in Seoul . " * 16


@dataclass(frozen=True)
class Example:
    """A task's small file: the rows, one that is too long, and what its pipeline takes and says of each row."""

    pipeline: str
    file: str
    content: str
    long: str
    inputs: tuple[Any, ...]
    recipe: str | None = None
    changes: tuple[str, ...] = ()


def squad(*rows):
    paragraphs = [
        {
            "context": text,
            "qas": [{"id": f"q{n}", "question": asked, "answers": [{"text": told, "answer_start": text.index(told)}]}],
        }
        for n, (text, asked, told) in enumerate(rows)
    ]
    return json.dumps({"version": "1.1", "data": [{"title": "t", "paragraphs": paragraphs}]})


def lines(rows):
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


QUESTIONS = [
    ("The Han River (한강) is 494 km long and meets the sea.", "How long is the Han?", "494 km"),
    ("Green tea from Boseong is picked in April.", "When is tea picked?", "April"),
    ("In 1900 the first bridge opened in Seoul.", "When did the bridge open?", "1900"),
]
TEXTS = [("The Han is long", "a"), ("km km 강", "b"), ("A bridge is in Seoul", "a"), ("in and in", "b"), ("Han", "a")]
RELATIONS = [
    {"text": text, "subject": {"start": s, "end": s + 3, "type": kind}, "object": [o, o + 3], "label": label}
    for text, s, o, kind, label in (
        ("Ada is in Han", 0, 10, "PER", "in"),
        ("Ada and Bob of Han", 8, 0, "PER", "no_relation"),
        ("Bob and the Han", 12, 0, "LOC", "no_relation"),
        ("the Han is of Ada", 4, 14, "LOC", "in"),
    )
]
CHOICES = [
    {"context": "The Han is a", "choices": ["river", "bridge"], "answer": 0},
    {"context": "Seoul is", "question": "in ?", "choices": ["km", "Apr", "the Han"], "answer": 2},
    {"question": "and ?", "choices": ["the", "In"], "answer": 1},
]
TAGGED = [
    (["The", "Han", "River", "is", "long"], ["O", "B-LOC", "I-LOC", "O", "O"]),
    (["In", "Seoul"], ["O", "B-LOC"]),
    (["km", "Apr", "한강"], ["B-LEN", "O", "B-LOC"]),
]
STORIES = [
    {
        "doc_key": f"d{n}",
        "sentences": [[a, "is", "in", "Seoul"], ["she", "and", b]],
        "clusters": [[[0, 0], [4, 4]]],
    }
    for n, (a, b) in enumerate((("Ada", "Bob"), ("Bob", "Ada"), ("Han", "Ada")))
]
CASES = {
    "qa": Example(
        "question-answering", "q.json", squad(*QUESTIONS),
        squad((LONG, "Where ?", "Seoul")), tuple({"question": asked, "context": text} for text, asked, _ in QUESTIONS),
    ),
    "classification": Example(
        "text-classification", "t.tsv", "text\tlabel\n" + "".join(f"{text}\t{label}\n" for text, label in TEXTS),
        f"text\tlabel\nkm\ta\n{LONG}\tb\n", tuple(text for text, _ in TEXTS),
    ),
    "multiple-choice": Example(
        "multiple-choice", "c.jsonl", lines(CHOICES), lines([{**CHOICES[0], "context": LONG}]),
        tuple({name: value for name, value in row.items() if name != "answer"} for row in CHOICES),
    ),
    "relation": Example(
        "relation-extraction", "r.jsonl", lines(RELATIONS), lines([{**RELATIONS[0], "text": "Ada is in Han" + LONG}]),
        tuple({name: value for name, value in row.items() if name != "label"} for row in RELATIONS),
    ),
    "tagging": Example(
        "token-classification", "n.conll",
        "".join("".join(f"{word}\t{tag}\n" for word, tag in zip(*row, strict=True)) + "\n" for row in TAGGED),
        "".join(f"{word}\tO\n" for word in LONG.split()), tuple(" ".join(words) for words, _ in TAGGED),
    ),
    "coref": Example(
        "coreference", "s.jsonl", lines(STORIES),
        lines([{"doc_key": "x", "sentences": [LONG.split()], "clusters": []}]),
        ("Ada is in Seoul. She and Bob.", "Han and the River. It is long."), "small",
        ("task.ffn_size=12", "task.feature_size=4", "task.max_segment_length=32", "training.head_learning_rate=1e-3"),
    ),
}  # fmt: skip
NAMES = list(CASES)


def test_every_task_has_its_case():
    assert set(CASES) == set(task_names())


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
    answers = files[:1] if name == "qa" else files  # nbest lists and null odds are no answers
    for path in answers:
        scored = part.score_files(data, path, {}).scores
        assert run.task.main_score in numbers_of(scored)
        assert {key: value for key, value in evaluated.items() if key in scored} == scored, path.name


@pytest.mark.parametrize("name", NAMES)
def test_the_pipeline_says_of_raw_text_what_predict_says_of_the_file(runs, data_of, tmp_path, name):
    case, model = CASES[name], runs[name].final
    pipeline = spanwise.pipeline(case.pipeline, model=model, device=-1)
    if name == "qa":
        task = runs[name].task
        pipeline = spanwise.pipeline(
            case.pipeline, model=model, device=-1, max_answer_len=task.max_answer_tokens, align_to_words=False,
            max_seq_len=128, doc_stride=60,
        )  # fmt: skip
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
        if name == "qa":
            assert answer["answer"] == record == item["context"][answer["start"] : answer["end"]]
        else:
            common = answer.keys() & record.keys()
            assert common >= {"num_windows", "num_dropped_tokens"}
            assert {key: answer[key] for key in common} == {key: record[key] for key in common}


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
        assert score["mean"] == pytest.approx(statistics.mean(score["values"]))
        assert score["deviation"] == pytest.approx(statistics.stdev(score["values"]))
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
def test_what_is_longer_than_the_model_reads_is_counted_or_refused(runs, data_of, name):
    long = data_of[name].with_stem("long")
    asked = {"model": runs[name].final, "data": long, "precision": "fp32"}
    predictions = evaluate(name, **asked).predictions
    dropped = getattr(predictions, "num_dropped", ())
    windows = getattr(predictions, "num_windows", getattr(predictions, "num_segments", ()))
    if name != "qa":
        assert max(windows, default=1) > 1 or max(dropped) > 0
    if hasattr(runs[name].task, "on_overflow") and name != "qa":
        with pytest.raises(DataError, match=r"long\.\w+, (line|entry) \d+: .* fit"):
            evaluate(name, **asked, on_overflow="error")
    elif name != "qa":
        with pytest.raises(ConfigError, match="in windows"):
            evaluate(name, **asked, on_overflow="error")
