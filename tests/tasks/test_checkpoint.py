"""Task models on disk: options travel with the weights."""

import json

import pytest
import torch
from safetensors.torch import load_file, save_file

from spanwise.errors import CheckpointError
from spanwise.interop.checkpoint import build_encoder
from spanwise.interop.folder_plan import FolderContent
from spanwise.interop.huggingface import read_folder, write_folder
from spanwise.nn.init import initialize
from spanwise.tasks.checkpoint import load_task_model, open_tokenizer, save_task_model, stored_task
from spanwise.tasks.heads import new_head
from spanwise.tasks.model import TaskModel
from spanwise.tasks.qa.task import QuestionAnswering
from spanwise.tasks.tagging.task import Tagging
from spanwise.text.tokenizers import Tokenizer


@pytest.fixture
def saved(pretrained_folder, tokenizer, tmp_path):
    checkpoint = read_folder(pretrained_folder)
    task = QuestionAnswering(doc_stride=17, null_threshold=-1.25)
    head = task.build_head(checkpoint.config)
    initialize(head, checkpoint.config, seed=0)
    model = TaskModel(task, build_encoder(checkpoint), head)
    save_task_model(tmp_path / "m", model, tokenizer, other_heads=checkpoint.heads, extra={"dev_scores": {"f1": 1.0}})
    return tmp_path / "m"


def test_a_saved_model_comes_back_with_its_options_and_heads(saved, tokenizer):
    loaded = load_task_model(saved, "qa", device="cpu")
    assert loaded.task == QuestionAnswering(doc_stride=17, null_threshold=-1.25)
    assert loaded.tokenizer.sha256 == tokenizer.sha256 and not loaded.model.training
    assert set(read_folder(saved).heads) == {"mlm", "qa"}


def test_a_folder_of_others_has_the_default_options(saved):
    (saved / "spanwise.json").unlink()
    (saved / "manifest.json").unlink(missing_ok=True)
    assert load_task_model(saved, "qa", device="cpu").task == QuestionAnswering(head="boundary", shared_words="auto")
    assert stored_task(read_folder(saved), QuestionAnswering(doc_stride=3)).doc_stride == 3


def test_a_record_of_other_labels_than_the_head_has_scores_is_refused(pretrained_folder, tokenizer, tmp_path):
    checkpoint = read_folder(pretrained_folder)
    task = Tagging(labels=("a", "b"), kind="classes", level="words")
    encoder = build_encoder(checkpoint)
    model = TaskModel(task, encoder, new_head(checkpoint, task, encoder, 0))
    save_task_model(tmp_path / "m", model, tokenizer, other_heads={})
    record = json.loads((tmp_path / "m" / "spanwise.json").read_text())
    assert load_task_model(tmp_path / "m", "tagging", device="cpu").task.labels == ("a", "b")

    record["task"]["labels"] = ["a", "b", "c"]
    (tmp_path / "m" / "spanwise.json").write_text(json.dumps(record))
    with pytest.raises(CheckpointError, match=r"names 3 labels \(a, b, c\), and the tagging head has 2 scores"):
        load_task_model(tmp_path / "m", "tagging", device="cpu")


def test_the_tokenizer_can_lie_in_another_folder(pretrained_folder, vocabulary_folder, tmp_path):
    checkpoint = read_folder(pretrained_folder)
    assert open_tokenizer(checkpoint, vocabulary_folder).is_cased
    own = Tokenizer.load(vocabulary_folder)
    assert open_tokenizer(checkpoint, own) is own
    write_folder(tmp_path / "bare", FolderContent(build_encoder(checkpoint), {}, None))
    with pytest.raises(CheckpointError, match="has no tokenizer"):
        open_tokenizer(read_folder(tmp_path / "bare"), None)


def test_a_tokenizer_with_more_tokens_than_the_encoder_is_refused(pretrained_folder, vocabulary_folder, tmp_path):
    text = (vocabulary_folder / "vocab.txt").read_text(encoding="utf-8")
    (tmp_path / "vocab.txt").write_text(text + "extra\n", encoding="utf-8")
    with pytest.raises(CheckpointError, match="do not belong together"):
        open_tokenizer(read_folder(pretrained_folder), tmp_path)


def test_what_does_not_fit_is_logged_before_any_answer(saved, caplog):
    (saved / "spanwise.json").unlink()
    tensors = load_file(saved / "model.safetensors") | {"extra.weight": torch.zeros(1)}
    save_file(tensors, saved / "model.safetensors", metadata={"format": "pt"})

    load_task_model(saved, "qa", device="cpu")

    assert "1 tensors not used: extra.weight" in caplog.text


def test_an_option_that_was_damaged_is_named_with_its_file(saved):
    text = (saved / "spanwise.json").read_text()
    (saved / "spanwise.json").write_text(text.replace('"doc_stride"', '"dod_stride"'))

    with pytest.raises(CheckpointError, match=r"spanwise\.json: dod_stride is unknown.*Copy the folder again"):
        load_task_model(saved, "qa")
