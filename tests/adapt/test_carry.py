"""What a task changed and what adaptation changed are added, tensor by tensor, and the adapted folder has the task."""

import shutil
from dataclasses import replace

import pytest
import torch
from tests.tasks.tuned import TASKS, tuned_folder

from spanwise.adapt.carry import carry_tasks, moved_to
from spanwise.errors import CheckpointError
from spanwise.interop.combined.changes import Changes, read_changes
from spanwise.interop.combined.combine import combine
from spanwise.interop.combined.reading import carried_line, with_task
from spanwise.interop.convert import rewrite
from spanwise.interop.huggingface import read_folder
from spanwise.interop.json_files import read_json_object
from spanwise.interop.record import changes_file, write_record
from spanwise.interop.token_types import TABLE
from spanwise.runtime.files import verify_folder
from spanwise.tasks.checkpoint import convert_task, load_task_model
from spanwise.weights.learned_from import learned_by

WORDS = "embeddings.word.weight"


@pytest.fixture(scope="module")
def with_tasks(start, tmp_path_factory):
    """The start as a combined folder: a reader that marks shared words stored whole, a tagger of rank 4."""
    folder = tmp_path_factory.mktemp("with-tasks")
    marked = replace(TASKS["qa"], head=None, shared_words="marked")
    qa = tuned_folder(start, folder / "qa", "qa", task=marked)
    tagging = tuned_folder(start, folder / "tagging", "tagging", seed=1)
    combine(start, [qa, tagging], folder / "combined", ranks={"tagging": 4})
    return folder / "combined"


def test_changes_are_moved_by_what_training_changed_and_new_words_by_no_task():
    start = {"bias": torch.tensor([1.0, 2.0]), WORDS: torch.arange(6.0).reshape(3, 2)}
    grown = torch.cat([start[WORDS] + 0.5, torch.full((1, 2), 9.0)])
    adapted = {"bias": torch.tensor([1.5, 2.0]), WORDS: grown}
    whole = {"bias": torch.tensor([3.0, 2.0]), WORDS: start[WORDS] * 2, "pooler.bias": torch.tensor([7.0])}

    moved = moved_to(Changes(whole=whole), start, adapted)

    torch.testing.assert_close(moved.whole["bias"], torch.tensor([3.5, 2.0]))
    torch.testing.assert_close(moved.whole[WORDS], torch.cat([start[WORDS] * 2 + 0.5, grown[3:]]))
    torch.testing.assert_close(moved.whole["pooler.bias"], whole["pooler.bias"])
    factored = Changes(up={WORDS: torch.ones(3, 1)}, down={WORDS: torch.ones(1, 2)})
    applied = moved_to(factored, start, adapted).applied(adapted, "changes.safetensors")
    torch.testing.assert_close(applied[WORDS], torch.cat([start[WORDS] + 1.5, grown[3:]]))


def test_token_types_that_a_task_added_change_as_those_that_they_began_as(with_tasks, tmp_path):
    start = read_folder(with_tasks)
    by_2E = torch.tensor([[0.25], [0.5]]).expand(2, start.tensors[TABLE].shape[1])
    rewrite(replace(start, tensors={**start.tensors, TABLE: start.tensors[TABLE] + by_2E}), tmp_path / "adapted")

    carry_tasks(start, tmp_path / "adapted", "start")

    taught, carried = (
        with_task(read_folder(folder), "qa").tensors[TABLE] for folder in (with_tasks, tmp_path / "adapted")
    )
    added = load_task_model(with_tasks, "qa").task.new_token_types(start)
    assert len(carried) == 2 + len(added) and set(added) == {0, 1}
    torch.testing.assert_close(carried, taught + by_2E[[0, 1, *added]])


def test_an_adapted_model_answers_and_tags_as_it_was_taught_and_says_that_nobody_measured_it(with_tasks, run_adapt):
    result = run_adapt(with_tasks, general_bound=0.5, new_pieces=2)
    assert result.record.outcome == "adapted" and result.record.new_pieces and result.record.tasks == ["qa", "tagging"]
    verify_folder(result.final)
    start, adapted = read_folder(with_tasks), read_folder(result.final)
    assert adapted.tasks == ("qa", "tagging")
    told = f"Carried over from {with_tasks} without training, and not measured since."
    for task in adapted.tasks:
        before, after = with_task(start, task), with_task(adapted, task)
        for name, base in start.tensors.items():
            rows = len(base)
            torch.testing.assert_close(
                after.tensors[name][:rows] - adapted.tensors[name][:rows], before.tensors[name][:rows] - base
            )
        for head, tensors in read_changes(with_tasks / changes_file(task)).heads.items():
            assert tensors.keys() == after.heads[head].keys()
            assert all(torch.equal(after.heads[head][name], tensor) for name, tensor in tensors.items())
        assert "dev_scores" in before.record and "dev_scores" not in after.record
        assert carried_line(after.record) == [told]
        assert [one.file for one in learned_by(after.record, "")] == ["store", "own.txt", "text.txt", f"{task}.json"]
        load_task_model(result.final, task)
    card = (result.final / "README.md").read_text()
    assert card.count(told) == 2 and "## Tasks in this folder" in card
    assert any("(qa, tagging) was added to the adapted encoder" in line for line in result.report)
    assert "are left out" not in run_adapt.said.getvalue()
    again = run_adapt(result.final, out="again", general_bound=0.5, steps=8)  # it was taught on the first base
    assert carried_line(with_task(read_folder(again.final), "qa").record) == [told]
    convert_task(result.final, "tagging", result.final.parent / "tagging")
    assert told in (result.final.parent / "tagging" / "README.md").read_text()


def test_a_start_that_is_kept_keeps_its_tasks_bit_for_bit_and_their_scores(with_tasks, run_adapt, tmp_path):
    start = read_folder(with_tasks)
    noise = {name: 1e-3 * torch.randn(tensor.shape) for name, tensor in start.tensors.items()}  # sums are rounded
    rewrite(replace(start, tensors={name: start.tensors[name] + by for name, by in noise.items()}), tmp_path / "base")
    tuned = tuned_folder(tmp_path / "base", tmp_path / "qa", "qa", changed=lambda name: True)
    combine(tmp_path / "base", [tuned], tmp_path / "noisy")
    result = run_adapt(tmp_path / "noisy", overrides=["training.learning_rate=1e-30"], steps=8)
    assert result.record.outcome == "unchanged"
    folder = "tasks/qa/"
    for name in ("changes.safetensors", "spanwise.json"):
        assert (result.final / folder / name).read_bytes() == (tmp_path / "noisy" / folder / name).read_bytes()
    assert "Carried over" not in (result.final / "README.md").read_text()
    assert "Its tasks (qa) are there unchanged too." in result.report


def test_heads_that_are_taught_first_leave_no_task_out(with_tasks, run_adapt, tmp_path):
    start = read_folder(with_tasks)
    rewrite(replace(start, heads={}), tmp_path / "base")
    combine(tmp_path / "base", [tuned_folder(tmp_path / "base", tmp_path / "tagging", "tagging")], tmp_path / "bare")
    result = run_adapt(tmp_path / "bare", general_bound=0.9, objective="mlm", unproven=True)
    assert result.record.fresh_heads and read_folder(result.final).tasks == ("tagging",)
    assert "are left out" not in run_adapt.said.getvalue()


def test_starts_whose_tasks_would_be_lost_are_refused_before_anything_is_written(with_tasks, run_adapt, tmp_path):
    tuned = tuned_folder(with_tasks, tmp_path / "tuned", "tagging")
    with pytest.raises(
        CheckpointError, match=r"fine-tuned for 'tagging'.*spanwise combine BASE .* --out FOLDER .*--replace"
    ):
        run_adapt(tuned)
    unknown = tmp_path / "unknown"
    shutil.copytree(with_tasks, unknown)
    (unknown / "tasks" / "qa").rename(unknown / "tasks" / "poetry")
    write_record(unknown, read_json_object(unknown / "spanwise.json"))
    (unknown / "manifest.json").unlink()
    with pytest.raises(CheckpointError, match=r"task 'poetry', which this version does not know.*spanwise convert"):
        run_adapt(unknown)
    assert not (tmp_path / "out").exists()
