"""The best evaluation is kept, and a run without a better one ends."""

import io
import json
import shutil
from dataclasses import replace
from types import SimpleNamespace

import pytest

from spanwise.errors import CheckpointError, ConfigError
from spanwise.interop.huggingface import read_folder
from spanwise.runtime.files import atomic_folder
from spanwise.runtime.progress import RunLog, read_metrics
from spanwise.tasks.dev_scores import DevScorer, check_dev_options
from spanwise.tasks.evaluate import evaluate
from spanwise.tasks.recipe import FinetuningRecipe
from spanwise.tasks.registry import task_recipe
from spanwise.tasks.run import finetune
from spanwise.training.plan import TrainingOptions, read_plan

ROWS = "text\tlabel\nThe Han\ta\nkm km\tb\nIn Seoul\ta\nand and\tb\n"
FAST = ["training.learning_rate=3e-3", "training.precision=fp32", "training.threads=1", "training.max_steps=24"]


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    path = tmp_path_factory.mktemp("texts") / "train.tsv"
    path.write_text(ROWS)
    return path


@pytest.fixture
def scripted(monkeypatch):
    """Evaluations with given scores, whatever the model says; the weights are the run's own."""

    def script(values):
        left = list(values)

        def score(self):
            self.predictions = ()
            self.scores = {"accuracy": left.pop(0) if left else 0.0}

        monkeypatch.setattr(DevScorer, "_score", score)

    return script


def test_the_best_weights_on_dev_data_take_the_place_of_the_last(pretrained_folder, texts, tmp_path):
    changes = [*FAST, "select=best", "training.eval_every=4", "training.learning_rate=2e-2"]
    run = finetune(
        "classification", model=pretrained_folder, train=texts, dev=texts, out=tmp_path / "r", overrides=changes
    )
    records = [r["evaluation"] for r in read_metrics(tmp_path / "r" / "metrics.jsonl") if "evaluation" in r]
    best = max(record["dev_accuracy"] for record in records)
    assert run.scores["accuracy"] == best
    assert evaluate("classification", model=run.final, data=texts, precision="fp32").scores == run.scores
    again = finetune(
        "classification",
        model=pretrained_folder,
        train=texts,
        dev=texts,
        out=tmp_path / "r",
        overrides=changes,
        resume=True,
    )
    assert again.scores == run.scores  # also where the last weights are worse
    assert json.loads((run.final / "spanwise.json").read_text())["dev_scores"]["accuracy"] == best


def test_of_the_evaluations_the_best_is_saved_and_of_equal_ones_the_later(pretrained_folder, texts, tmp_path, scripted):
    scripted([10.0, 50.0, 90.0, 90.0, 20.0, 30.0, 40.0])
    changes = [*FAST, "select=best", "training.eval_every=4", "training.save_every=4", "training.keep=9"]
    out = tmp_path / "run"
    monkey = pytest.MonkeyPatch()
    monkey.setattr("spanwise.tasks.run.write_predictions", lambda *given: [])
    run = finetune("classification", model=pretrained_folder, train=texts, dev=texts, out=out, overrides=changes)
    monkey.undo()
    at_best = read_folder(out / "checkpoints" / "step-000000012").tensors
    kept, last = read_folder(run.final).tensors, read_folder(out / "checkpoints" / "step-000000024").tensors
    name = "embeddings.word.weight"
    assert (kept[name] == at_best[name]).all() and not (kept[name] == last[name]).all()


def test_weights_that_no_step_has_taught_are_never_the_best(pretrained_folder, texts, tmp_path, scripted, monkeypatch):
    """Step 0 scores highest here, as a head that says one label for everything may on a small set."""
    monkeypatch.setattr("spanwise.tasks.run.write_predictions", lambda *given: [])
    scripted([90.0, 20.0, 40.0, 30.0, 10.0, 5.0])
    changes = [*FAST, "select=best", "patience=3", "training.eval_every=4", "training.save_every=4", "training.keep=9"]
    out = tmp_path / "run"
    run = finetune("classification", model=pretrained_folder, train=texts, dev=texts, out=out, overrides=changes)
    assert run.training.steps == 20  # patience counts from the best of the trained ones, too
    kept, at_best = read_folder(run.final).tensors, read_folder(out / "checkpoints" / "step-000000008").tensors
    assert (kept["embeddings.word.weight"] == at_best["embeddings.word.weight"]).all()
    assert json.loads((out / "best" / "spanwise.json").read_text())["dev_scores"] == {"accuracy": 40.0}


def test_what_is_recalled_from_a_log_leaves_step_0_out_too():
    scorer = object.__new__(DevScorer)
    scorer.model, scorer.knows_task = SimpleNamespace(task=task_recipe("classification").task), False
    scores = [(0, 90.0), (4, 20.0), (8, 40.0), (12, 30.0)]
    scorer.recall([{"dev_accuracy": score, "step": step} for step, score in scores])
    assert scorer.memory == {"best": 40.0, "step": 8, "num_worse": 1}
    scorer.recall([{"dev_accuracy": 90.0, "step": 0}])
    assert scorer.memory["best"] == 90.0  # where nothing else was measured
    scorer.knows_task, scorer.recipe = True, FinetuningRecipe(task=scorer.model.task, training=TrainingOptions())
    scorer.recall([{"dev_accuracy": score, "step": step} for step, score in scores])
    assert scorer.memory["best"] == 40.0  # patience counts as it does of any other model
    scorer.recipe = replace(scorer.recipe, select="best")
    scorer.recall([{"dev_accuracy": score, "step": step} for step, score in scores])
    assert scorer.memory == {"best": 90.0, "step": 0, "num_worse": 3}


def test_of_a_model_that_knew_the_task_step_0_counts_too(pretrained_folder, texts, tmp_path, scripted, monkeypatch):
    first = finetune("classification", model=pretrained_folder, train=texts, out=tmp_path / "first", overrides=FAST)
    monkeypatch.setattr("spanwise.tasks.run.write_predictions", lambda *given: [])
    changes = [*FAST, "select=best", "training.eval_every=4"]
    others = tmp_path / "others.tsv"
    others.write_text(ROWS)
    for name, start, is_kept in (("again", first.final, True), ("new", pretrained_folder, False)):
        scripted([90.0, 20.0, 40.0, 30.0])
        out = tmp_path / name
        run = finetune("classification", model=start, train=others, dev=texts, out=out, overrides=changes)
        before, after = (read_folder(folder).tensors["embeddings.word.weight"] for folder in (start, run.final))
        assert (before == after).all() == is_kept
        best, before = (json.loads((at / "spanwise.json").read_text()) for at in (out / "best", first.final))
        assert best["dev_scores"] == {"accuracy": 90.0 if is_kept else 40.0}
        assert not is_kept or best["learned_from"] == before["learned_from"]  # no step has read the texts


def test_patience_ends_a_run_without_a_better_score(pretrained_folder, texts, tmp_path, scripted, monkeypatch):
    monkeypatch.setattr("spanwise.tasks.run.write_predictions", lambda *given: [])
    scripted([10.0, 50.0, 40.0, 30.0, 20.0, 90.0])
    changes = [*FAST, "patience=2", "training.eval_every=4"]
    out = tmp_path / "run"
    run = finetune("classification", model=pretrained_folder, train=texts, dev=texts, out=out, overrides=changes)
    assert run.training.steps == 12
    assert read_plan(out / "plan.jsonl")[0][-1].reason == "2 evaluations without a better accuracy"


@pytest.mark.parametrize("name", ["tokenizer.json", "model.safetensors"])
def test_best_weights_that_were_damaged_are_refused_before_anything_is_trained_on(
    pretrained_folder, texts, tmp_path, name
):
    out, options = tmp_path / "r", {"model": pretrained_folder, "train": texts, "dev": texts}
    changes = [*FAST, "select=best", "training.max_steps=4", "training.eval_every=2"]
    finetune("classification", **options, out=out, overrides=changes)
    shutil.rmtree(out / "final")
    before = sorted(out.iterdir())
    file = out / "best" / name
    content = bytearray(file.read_bytes())
    content[-20] ^= 1
    file.write_bytes(content)

    with pytest.raises(CheckpointError, match=rf"{name} has the right size but other content.*best weights"):
        finetune("classification", **options, out=out, overrides=changes, resume=True)
    assert sorted(out.iterdir()) == before


def test_best_weights_keep_their_manifest_and_are_missed_where_they_are_gone(pretrained_folder, texts, tmp_path):
    out, options = tmp_path / "r", {"model": pretrained_folder, "train": texts, "dev": texts}
    changes = [*FAST, "select=best", "training.max_steps=4", "training.eval_every=2", "training.save_every=2"]
    finetune("classification", **options, out=out, overrides=changes)
    assert (out / "best" / "manifest.json").read_bytes() == (out / "final" / "manifest.json").read_bytes()

    shutil.rmtree(out / "best")
    finetune("classification", **options, out=out, overrides=changes, resume=True)  # finished: it is not needed
    shutil.rmtree(out / "final")
    with pytest.raises(CheckpointError, match="best is gone"):
        finetune("classification", **options, out=out, overrides=changes, resume=True)


def test_a_log_without_lines_changes_neither_the_best_nor_the_end(pretrained_folder, texts, tmp_path, scripted):
    """What was scored before is in the checkpoint."""
    monkey = pytest.MonkeyPatch()
    monkey.setattr("spanwise.tasks.run.write_predictions", lambda *given: [])
    changes = [*FAST, "select=best", "patience=2", "training.eval_every=4", "training.save_every=4", "training.keep=9"]
    out, options = tmp_path / "r", {"model": pretrained_folder, "train": texts, "dev": texts}
    scripted([10.0, 90.0, 50.0, 40.0])
    whole = finetune("classification", **options, out=out, overrides=changes)
    assert whole.training.steps == 12
    (out / "checkpoints" / "step-000000012" / "manifest.json").unlink()
    shutil.rmtree(out / "final")
    (out / "metrics.jsonl").unlink()

    scripted([40.0])
    again = finetune("classification", **options, out=out, overrides=changes, resume=True)
    monkey.undo()
    assert (again.training.resumed_from, again.training.steps) == (8, 12)
    kept, at_best = read_folder(again.final).tensors, read_folder(out / "checkpoints" / "step-000000004").tensors
    assert (kept["embeddings.word.weight"] == at_best["embeddings.word.weight"]).all()


def test_a_folder_whose_files_were_changed_is_refused_unless_that_is_asked_for(pretrained_folder, texts, tmp_path):
    model = tmp_path / "model"
    with atomic_folder(model) as folder:
        shutil.copytree(pretrained_folder, folder, dirs_exist_ok=True)
    config = json.loads((model / "config.json").read_text())
    (model / "config.json").write_text(json.dumps({**config, "hidden_dropout_prob": 0.3}))
    options = {"train": texts, "overrides": [*FAST, "training.max_steps=1"]}

    with pytest.raises(CheckpointError, match=r"config\.json differ.*--allow-edited"):
        finetune("classification", model=model, out=tmp_path / "r", **options)
    said = io.StringIO()
    log = RunLog(tmp_path / "s", stream=said)
    finetune("classification", model=model, out=tmp_path / "s", log=log, allow_edited=True, **options)
    assert "config.json differs from what manifest.json says; going on all the same" in said.getvalue()


def test_what_needs_dev_data_or_evaluations_says_so():
    from spanwise.config import override

    recipe = task_recipe("classification")
    check_dev_options(recipe, has_dev=False)
    with pytest.raises(ConfigError, match="give --dev FILE"):
        check_dev_options(override(recipe, ["select=best"]), has_dev=False)
    with pytest.raises(ConfigError, match=r"patience needs .*training\.eval_every"):
        check_dev_options(override(recipe, ["patience=2"]), has_dev=True)
    check_dev_options(override(recipe, ["patience=2", "training.eval_every=5"]), has_dev=True)


def test_a_main_score_that_is_not_among_the_scores_is_named(pretrained_folder, texts, tmp_path, monkeypatch):
    monkeypatch.setattr(type(task_recipe("classification").task), "main_score", "nope")
    with pytest.raises(ConfigError, match=r"main_score 'nope', and `score` returned accuracy.*; name one of them"):
        finetune("classification", model=pretrained_folder, train=texts, dev=texts, out=tmp_path / "r", overrides=FAST)
