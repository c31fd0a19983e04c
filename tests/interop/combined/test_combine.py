"""Folders of one base put into one."""

import json
import os

import pytest
import torch
from safetensors.torch import load_file
from tests.interop.auto.models import auto_model
from tests.tasks.tuned import tuned_folder

from spanwise.errors import CheckpointError, ConfigError
from spanwise.interop.combined import combine as module
from spanwise.interop.combined.combine import combine, stored_task
from spanwise.interop.combined.reading import read_for_task
from spanwise.interop.convert import convert
from spanwise.interop.huggingface import read_folder
from spanwise.runtime.files import verify_folder


def files_of(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_nothing_is_stored_twice_and_everything_is_in_the_manifest_and_on_the_card(pretrained_folder, tuned, tmp_path):
    made = combine(pretrained_folder, [tuned["tagging"], tuned["qa"]], tmp_path / "m")
    qa, tagging = made.tasks
    assert (qa.task, tagging.task, made.dtype) == ("qa", "tagging", "fp32")
    assert qa.num_unchanged == 5 and tagging.num_unchanged == 0 and qa.num_bytes < 0.7 * tagging.num_bytes
    verify_folder(made.folder)
    names = {name for name in files_of(made.folder) if name.startswith("tasks/")}
    assert names == {f"tasks/{task}/{file}" for task in tuned for file in ("changes.safetensors", "spanwise.json")}
    card = (made.folder / "README.md").read_text()
    assert "## Tasks in this folder" in card and "`qa`: 0.1 MB, changed tensors whole" in card
    assert "tagging.json (tagging, 3 rows). Licence: CC BY 4.0" in card
    assert stored_task(made.folder, "qa") == qa


def test_the_error_falls_with_the_rank_which_each_task_may_have_for_itself(pretrained_folder, tuned, tmp_path):
    expected = read_folder(tuned["qa"]).tensors
    errors, sizes = [], []
    for rank in (1, 4, 12):
        ranks = {"": rank, "tagging": None}
        made = combine(pretrained_folder, tuned.values(), tmp_path / f"m{rank}", ranks=ranks)
        found = read_for_task(made.folder, "qa").tensors
        errors.append(sum(float((found[name] - expected[name]).square().sum()) for name in expected))
        sizes.append(made.tasks[0].num_bytes)
        assert made.tasks[0].rank == rank and made.tasks[1].rank is None and made.tasks[0].num_factored > 0
        assert made.tasks[0].kept_share < 1 and made.tasks[1].kept_share is None
    assert errors == sorted(errors, reverse=True) and sizes == sorted(sizes) and errors[-1] < 0.5 * errors[0]
    base = read_folder(pretrained_folder).tensors
    assert errors[0] < sum(float((base[name] - expected[name]).square().sum()) for name in expected)


def test_in_bf16_the_base_is_rounded_first_and_a_whole_task_is_its_weights_rounded(pretrained_folder, tuned, tmp_path):
    made = combine(pretrained_folder, [tuned["qa"]], tmp_path / "m", dtype="bf16")
    convert(tuned["qa"], tmp_path / "alone", dtype="bf16")
    found, alone = read_for_task(made.folder, "qa"), read_folder(tmp_path / "alone")
    assert all(torch.equal(found.tensors[name], alone.tensors[name]) for name in alone.tensors)
    assert all(torch.equal(found.heads["qa"][name], alone.heads["qa"][name]) for name in alone.heads["qa"])
    stored = load_file(made.folder / "tasks/qa/changes.safetensors")
    assert stored and not any("embeddings" in name for name in stored)  # rounded alike, so the same: not a change
    again = combine(made.folder, [tuned["tagging"]], tmp_path / "again")
    assert (
        made.is_rounded
        and again.is_rounded
        and not combine(made.folder, [tmp_path / "alone"], tmp_path / "e", replace=True).is_rounded
    )
    assert again.dtype == "bf16" and made.tasks[0] == again.tasks[0]  # the type of the base; its task is taken over
    before, after = files_of(made.folder), files_of(again.folder)
    same = ["model.safetensors", "tasks/qa/changes.safetensors", "tasks/qa/spanwise.json"]
    assert all(before[name] == after[name] for name in same)
    with pytest.raises(ConfigError, match="are stored as changes of its numbers in bf16; leave --dtype out"):
        combine(made.folder, [tuned["tagging"]], tmp_path / "other", dtype="fp32")


def test_in_fp32_nothing_is_rounded(pretrained_folder, tuned, tmp_path):
    assert not combine(pretrained_folder, [tuned["qa"]], tmp_path / "m").is_rounded


def test_a_task_is_replaced_only_when_asked_for(pretrained_folder, tuned, tmp_path):
    first = combine(pretrained_folder, [tuned["qa"]], tmp_path / "first").folder
    other = tuned_folder(pretrained_folder, tmp_path / "other", "qa", seed=7)
    with pytest.raises(ConfigError, match="has the task 'qa' already; --replace"):
        combine(first, [other], tmp_path / "second")
    second = combine(first, [other], tmp_path / "second", replace=True).folder
    new, expected = (folder.heads["qa"] for folder in (read_for_task(second, "qa"), read_folder(other)))
    assert new.keys() == expected.keys() and all(torch.equal(new[name], expected[name]) for name in new)


def test_what_cannot_be_combined_is_refused_and_leaves_nothing(pretrained_folder, tuned, tmp_path):
    out = tmp_path / "m"
    for folders, ranks, told in (
        ([], {}, "nothing to combine"),
        ([tuned["qa"], tuned["qa"]], {}, "are both fine-tuned for 'qa'"),
        ([tuned["qa"]], {"tagging": 3}, "a rank is given for 'tagging', and the folders are of qa"),
        ([tuned["qa"]], {"": 0}, "whole number of at least 1, got 0"),
    ):
        with pytest.raises(ConfigError, match=told):
            combine(pretrained_folder, folders, out, ranks=ranks)
    with pytest.raises(ConfigError, match="was itself fine-tuned for 'qa'"):
        combine(tuned["qa"], [tuned["qa"]], out)
    auto_model("DebertaV2").save_pretrained(tmp_path / "foreign")
    for base, folder in ((tmp_path / "foreign", tuned["qa"]), (pretrained_folder, tmp_path / "foreign")):
        with pytest.raises(CheckpointError, match="combining tasks needs an encoder that this package computes itself"):
            combine(base, [folder], out)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["foreign"]
    out.mkdir()
    with pytest.raises(ConfigError, match="exists already"):
        combine(pretrained_folder, [tuned["qa"]], out)


def test_a_base_that_was_fine_tuned_takes_other_tasks(tuned, tmp_path):
    both = combine(tuned["qa"], [tuned_folder(tuned["qa"], tmp_path / "t", "tagging", seed=3)], tmp_path / "m").folder
    base, tagging = read_folder(both), read_for_task(both, "tagging")
    assert set(base.heads) == {"mlm", "qa"} and set(tagging.heads) == {"mlm", "tagging"}
    assert tagging.record["task"]["part"] == "tagging" and base.record["task"]["part"] == "question_answering"


def test_a_run_that_dies_leaves_no_folder_and_the_next_one_clears_up(pretrained_folder, tuned, tmp_path):
    child = os.fork()
    if child == 0:
        module.add_tasks = lambda *given: os._exit(9)  # as a kill, with all weights written
        combine(pretrained_folder, [tuned["qa"]], tmp_path / "m")
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    left = list(tmp_path.iterdir())
    assert len(left) == 1 and left[0].name.startswith(".tmp-m-")
    combine(pretrained_folder, [tuned["qa"]], tmp_path / "m")
    assert [path.name for path in tmp_path.iterdir()] == ["m"]


def test_a_task_record_without_its_storage_is_named(pretrained_folder, tuned, tmp_path):
    folder = combine(pretrained_folder, [tuned["qa"]], tmp_path / "m").folder
    path = folder / "tasks" / "qa" / "spanwise.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "stored": {"rank": 3}}))
    with pytest.raises(CheckpointError, match="'stored' does not say how the task is stored"):
        stored_task(folder, "qa")
