"""What training starts from: weights of the folder or random ones, heads kept and left out."""

import dataclasses
import io
import shutil
import sys

import pytest
import torch
from safetensors.torch import load_file, save_file
from tests.tasks.conftest import FAST, SHORT
from transformers import AutoModelForTokenClassification

from spanwise.errors import ConfigError
from spanwise.interop.folder_plan import FolderContent
from spanwise.interop.huggingface import read_folder, write_folder
from spanwise.nn.encoder import Encoder
from spanwise.runtime.progress import RunLog
from spanwise.tasks.build import build_model
from spanwise.tasks.qa.task import QuestionAnswering
from spanwise.tasks.recipe import FinetuningRecipe
from spanwise.tasks.run import finetune
from spanwise.tasks.teaching.further import Further
from spanwise.training.plan import TrainingOptions
from spanwise.weights import shipped_folder

FEW = ["training.max_steps=1"]


def test_reset_weights_is_the_control_with_random_weights_of_the_same_shape(pretrained_folder, squad_files, tmp_path):
    asked = {"model": pretrained_folder, "train": squad_files["1.1"], "overrides": [*FAST[1:], "training.max_steps=1"]}
    control = finetune("qa", **asked, out=tmp_path / "control", reset_weights=True)
    start = finetune("qa", **asked, out=tmp_path / "start")
    before, random, kept = (read_folder(folder) for folder in (pretrained_folder, control.final, start.final))
    assert random.config == before.config and set(random.heads) == {"qa"} and set(kept.heads) == {"mlm", "qa"}
    for name in ("embeddings.word.weight", "layers.1.attention.output.weight"):
        if name in before.tensors:
            scale = before.tensors[name].std()
            assert (kept.tensors[name] - before.tensors[name]).abs().mean() < 0.5 * scale
            assert (random.tensors[name] - before.tensors[name]).abs().mean() > 0.8 * scale
    assert control.scores == {}  # no dev file was given


@pytest.mark.parametrize("is_shown", [True, False])
def test_what_does_not_fit_is_said_whether_or_not_a_log_is_shown(
    pretrained_folder, squad_files, tmp_path, caplog, capsys, is_shown
):
    shutil.copytree(pretrained_folder, tmp_path / "start")
    (tmp_path / "start" / "spanwise.json").unlink(missing_ok=True)
    tensors = load_file(tmp_path / "start" / "model.safetensors") | {"extra.weight": torch.zeros(1)}
    save_file(tensors, tmp_path / "start" / "model.safetensors", metadata={"format": "pt"})
    changes = [*FAST[1:], "training.max_steps=1"]
    log = RunLog(tmp_path / "run", stream=sys.stdout) if is_shown else None

    finetune("qa", model=tmp_path / "start", train=squad_files["1.1"], out=tmp_path / "run", overrides=changes, log=log)

    told = "1 tensors not used: extra.weight"
    assert (told in capsys.readouterr().out, told in caplog.text) == (is_shown, not is_shown)


def knows(folder, task, tmp_path, *, reset_weights=False, before=None, **changes):
    checkpoint = read_folder(folder)
    recipe = FinetuningRecipe(task=task, training=TrainingOptions(max_steps=1), **changes)
    log = RunLog(tmp_path, stream=io.StringIO())
    return build_model(checkpoint, recipe, Further(task, before), reset_weights, log).knows_task


def test_a_model_knows_its_questions_where_some_taught_it_in_the_same_way(
    pretrained_folder, finetuned, squad_files, tmp_path
):
    reads = finetuned.task
    assert knows(finetuned.final, reads, tmp_path)
    assert not knows(pretrained_folder, reads, tmp_path)
    assert not knows(finetuned.final, reads, tmp_path, reset_weights=True)
    assert not knows(finetuned.final, reads, tmp_path, fresh_head=True)
    theirs = shutil.copytree(finetuned.final, tmp_path / "theirs")
    for name in ("manifest.json", "spanwise.json"):  # which a folder from the hub lacks
        (theirs / name).unlink()
    marks = dataclasses.replace(reads, shared_words="marked")
    assert knows(theirs, reads, tmp_path) and not knows(theirs, marks, tmp_path)
    assert not knows(finetuned.final, marks, tmp_path)
    asked = {"train": squad_files["v2.0"], "overrides": [*FEW, "task.shared_words=marked"]}
    marked = finetune("qa", model=pretrained_folder, out=tmp_path / "marked", **asked)
    assert knows(marked.final, marks, tmp_path) and not knows(marked.final, reads, tmp_path)


def test_a_pointer_of_pre_training_knows_no_questions_though_another_head_does(tmp_path, squad_files):
    start = shipped_folder("spanwise-nano-ko")
    asked = {"train": squad_files["1.1"], "overrides": [*FEW, "task.head=boundary"]}
    boundary = finetune("qa", model=start, from_base=True, out=tmp_path / "run", **asked)
    points = dataclasses.replace(boundary.task, head="span_selection")
    assert not knows(start, points, tmp_path) and not knows(boundary.final, points, tmp_path)
    assert knows(boundary.final, boundary.task, tmp_path)
    abstains = dataclasses.replace(boundary.task, null_threshold=0.0)
    assert not knows(boundary.final, abstains, tmp_path)


def test_a_tagger_knows_its_task_where_no_row_of_its_head_is_fresh(pretrained_folder, tmp_path):
    train = tmp_path / "old.conll"
    train.write_text("Han B-LOC\nis O\n")
    old = finetune("tagging", model=pretrained_folder, train=train, out=tmp_path / "old", overrides=FEW)
    same = old.task
    assert knows(old.final, same, tmp_path)
    assert not knows(old.final, same.with_rows((*same.row_names, "B-PER", "I-PER"), same), tmp_path, before=same)
    assert knows(old.final, same.with_rows(same.row_names[:1], same), tmp_path, before=same)
    assert not knows(old.final, QuestionAnswering(), tmp_path)


@pytest.mark.parametrize(("frozen", "trained"), [(0, ("layers.0.", "layers.1.")), (1, ("layers.1.",))])
def test_frozen_layers_and_embeddings_stay_as_they_are(pretrained_folder, squad_files, tmp_path, frozen, trained):
    asked = {"model": pretrained_folder, "train": squad_files["1.1"]}
    before = read_folder(pretrained_folder).tensors
    run = finetune("qa", **asked, out=tmp_path / "run", overrides=[*SHORT, f"frozen_layers={frozen}"])
    after = read_folder(run.final).tensors
    changed = {name for name in before if name in after and not torch.equal(before[name], after[name])}
    assert all(name.startswith(trained) for name in changed)
    assert all(any(name.startswith(layer) for name in changed) for layer in trained)


def test_no_more_layers_can_be_frozen_than_there_are(pretrained_folder, squad_files, tmp_path):
    asked = {"model": pretrained_folder, "train": squad_files["1.1"]}
    with pytest.raises(ConfigError, match="more than the encoder's 2 layers"):
        finetune("qa", **asked, out=tmp_path / "none", overrides=[*SHORT, "frozen_layers=3"])


@pytest.mark.parametrize("sharing", ["all", "attention"])
def test_of_layers_that_share_weights_none_or_all_are_frozen(
    pretrained_folder, squad_files, tmp_path, tokenizer, sharing
):
    config = dataclasses.replace(read_folder(pretrained_folder).config, sharing=sharing)
    write_folder(tmp_path / "shared", FolderContent(Encoder(config), {}, tokenizer))
    asked = {"model": tmp_path / "shared", "train": squad_files["1.1"]}
    with pytest.raises(ConfigError, match=r"frozen_layers 1: .* layers share weights.*\. Take 0, or all 2\."):
        finetune("qa", **asked, out=tmp_path / "one", overrides=[*SHORT, "frozen_layers=1"])
    run = finetune("qa", **asked, out=tmp_path / "all", overrides=[*SHORT, "frozen_layers=2"])
    before, after = (read_folder(folder).tensors for folder in (tmp_path / "shared", run.final))
    assert all(torch.equal(before[name], after[name]) for name in before)


def test_a_new_task_of_modernberts_shape_begins_where_the_class_of_transformers_does(tmp_path):
    (tmp_path / "train.conll").write_text("Ada\tB-CAT\nsleeps\tO\n\n" * 4)
    changes = ["training.max_steps=1", "training.learning_rate=1e-9"]
    run = finetune(
        "tagging", model="spanwise-mini", train=tmp_path / "train.conll", out=tmp_path / "run", overrides=changes
    )
    folders, sizes = (run.final, shipped_folder("spanwise-mini")), {"num_labels": 3, "dtype": torch.float32}
    ours, theirs = (AutoModelForTokenClassification.from_pretrained(folder, **sizes) for folder in folders)
    for name, parameter in theirs.head.named_parameters():
        torch.testing.assert_close(ours.head.get_parameter(name), parameter, atol=1e-6, rtol=0)
    spread, theirs_spread = (model.classifier.weight.std().item() for model in (ours, theirs))
    assert spread == pytest.approx(theirs_spread, rel=0.15)  # of 768 numbers
