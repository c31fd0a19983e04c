"""What a task changed and what adaptation changed are added, tensor by tensor, and the adapted folder has the task."""

from dataclasses import replace

import pytest
import torch
from tests.tasks.tuned import TASKS, tuned_folder

from spanwise.adapt.carry import carry_tasks, moved_to
from spanwise.interop.combined.changes import Changes
from spanwise.interop.combined.combine import combine
from spanwise.interop.combined.reading import with_task
from spanwise.interop.convert import rewrite
from spanwise.interop.huggingface import read_folder
from spanwise.interop.token_types import TABLE
from spanwise.runtime.files import verify_folder
from spanwise.tasks.checkpoint import load_task_model
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

    carry_tasks(start, tmp_path / "adapted", name="start")

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
    for task in adapted.tasks:
        before, after = with_task(start, task), with_task(adapted, task)
        for name, base in start.tensors.items():
            rows = len(base)
            torch.testing.assert_close(
                after.tensors[name][:rows] - adapted.tensors[name][:rows], before.tensors[name][:rows] - base
            )
        assert after.heads[load_task_model(with_tasks, task).task.head_name].keys()
        assert "dev_scores" in before.record and "dev_scores" not in after.record
        assert [one.file for one in learned_by(after.record, "")] == ["store", "own.txt", "text.txt", f"{task}.json"]
        load_task_model(result.final, task)
    card = (result.final / "README.md").read_text()
    assert card.count("Carried over from") == 2 and "## Tasks in this folder" in card
    assert any("(qa, tagging) was added to the adapted encoder" in line for line in result.report)
    assert "are left out" not in run_adapt.said.getvalue()


def test_a_start_that_is_kept_keeps_its_tasks_bit_for_bit(with_tasks, run_adapt):
    result = run_adapt(with_tasks, overrides=["training.learning_rate=1e-30"], steps=8)
    assert result.record.outcome == "unchanged"
    for task in ("qa", "tagging"):
        before, after = (with_task(read_folder(folder), task) for folder in (with_tasks, result.final))
        assert all(torch.equal(after.tensors[name], tensor) for name, tensor in before.tensors.items())
        assert before.heads.keys() == after.heads.keys()
    assert "Its tasks (qa, tagging) are there unchanged too." in result.report
