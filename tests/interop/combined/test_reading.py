"""A task of a combined folder is what its own folder was, and damage is refused by name."""

import json
import shutil
from dataclasses import replace

import pytest
import torch
from tests.tasks.tuned import tuned_folder
from transformers import AutoModel

import spanwise
from spanwise.errors import CheckpointError
from spanwise.interop.combined.combine import combine
from spanwise.interop.combined.reading import read_for_task, tasks_left_out, with_task
from spanwise.interop.huggingface import read_folder
from spanwise.tasks.classification.task import Classification


@pytest.fixture(scope="module")
def combined(pretrained_folder, tuned, tmp_path_factory):
    return combine(pretrained_folder, tuned.values(), tmp_path_factory.mktemp("c") / "both").folder


def same(one, two):
    return one.keys() == two.keys() and all(torch.equal(one[name], two[name]) for name in one)


def test_a_task_is_what_its_folder_was_and_the_base_is_as_before(combined, pretrained_folder, tuned):
    base = read_folder(combined)
    assert base.tasks == ("qa", "tagging") and same(base.tensors, read_folder(pretrained_folder).tensors)
    for task, folder in tuned.items():
        alone, found = read_folder(folder), read_for_task(combined, task)
        assert same(found.tensors, alone.tensors) and found.config == alone.config
        assert found.heads.keys() == alone.heads.keys()
        assert all(same(found.heads[name], alone.heads[name]) for name in alone.heads)
        for name in ("source_class", "labels", "role_ids", "report", "tasks"):
            assert getattr(found, name) == getattr(alone, name), name
        assert (
            found.record.items() >= {name: alone.record[name] for name in ("task", "finetuned", "dev_scores")}.items()
        )
    assert read_for_task(tuned["qa"], "qa").folder == tuned["qa"]
    assert "its tasks (qa, tagging) are left out" in tasks_left_out(base)
    AutoModel.from_pretrained(combined)


def test_a_pooler_and_a_dropout_that_a_task_added_come_along(pretrained_folder, tmp_path):
    task = Classification(labels=("a", "b"), kind="single_label")
    alone = tuned_folder(pretrained_folder, tmp_path / "alone", "classification", task=task)
    assert read_folder(alone).config.pooler and not read_folder(pretrained_folder).config.pooler
    both = combine(pretrained_folder, [alone], tmp_path / "both").folder
    found, expected = read_for_task(both, "classification"), read_folder(alone)
    assert found.config == expected.config and same(found.tensors, expected.tensors)
    assert not read_folder(both).config.pooler
    assert replace(found, record={}).form_of("classification") == expected.form_of("classification")


def test_load_gives_the_encoder_of_the_task_that_is_named(combined, tuned):
    ids = torch.tensor([[2, 9, 17, 3]])
    with torch.no_grad():
        expected, found = spanwise.load(tuned["tagging"])(ids), spanwise.load(combined, task="tagging")(ids)
        assert torch.equal(found, expected) and not torch.equal(found, spanwise.load(combined)(ids))
    with pytest.raises(CheckpointError, match="has no task 'coref' beside its encoder; its tasks: qa, tagging"):
        spanwise.load(combined, task="coref")


def spoil(path):
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)


def test_damage_is_refused_by_name(combined, tmp_path):
    folder = tmp_path / "m"
    shutil.copytree(combined, folder)
    file, record = folder / "tasks" / "qa" / "changes.safetensors", folder / "tasks" / "qa" / "spanwise.json"
    whole, text = file.read_bytes(), record.read_text()
    spoil(file)
    with pytest.raises(CheckpointError, match=r"tasks/qa/changes.safetensors is damaged: its SHA-256"):
        read_for_task(folder, "qa")
    assert read_for_task(folder, "tagging").labels  # the other task is whole
    file.unlink()
    with pytest.raises(CheckpointError, match=r"qa/changes.safetensors is missing, though spanwise.json lists it"):
        read_folder(folder)
    file.write_bytes(whole)
    (folder / "tasks" / "coref").mkdir()
    (folder / "tasks" / "coref" / "changes.safetensors").write_bytes(whole)
    with pytest.raises(CheckpointError, match=r"tasks/coref/changes.safetensors is not listed in spanwise.json"):
        read_folder(folder)
    shutil.rmtree(folder / "tasks" / "coref")
    record.write_text(text.replace('"doc_stride": 40', '"doc_stride": 41'))
    assert "tasks/qa/spanwise.json was changed after this folder was written" in str(read_folder(folder).report)
    for changed, told in (
        ({"format_version": 9}, "has format_version 9"),
        ({"labels": 3}, "labels"),
        ({"encoder": {"width": 3}}, "'encoder' names what no encoder has"),
        ({"architecture": None}, "architecture"),
        ({"model_type": "t5"}, "of the family 't5'"),
    ):
        record.write_text(json.dumps({**json.loads(text), **changed}))
        with pytest.raises(CheckpointError, match=told) as error:
            with_task(read_folder(folder), "qa")
        assert "tasks/qa/spanwise.json" in str(error.value)
    record.write_text(json.dumps({name: value for name, value in json.loads(text).items() if name != "role_ids"}))
    with pytest.raises(CheckpointError, match="has no 'role_ids'"):
        read_for_task(folder, "qa")
    record.unlink()
    with pytest.raises(CheckpointError, match=r"tasks/qa/spanwise.json is missing"):
        read_for_task(folder, "qa")
