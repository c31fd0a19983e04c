"""One folder that serves several tasks: each is answered as by its own folder, and training starts where it says."""

import json

import pytest
import torch
from tests.tasks.cases import CASES
from tests.tasks.conftest import SHORT
from tests.tasks.tuned import tuned_folder

import spanwise
from spanwise.errors import CheckpointError
from spanwise.interop.combined.combine import combine
from spanwise.interop.huggingface import read_folder
from spanwise.runtime.device import has_int8
from spanwise.runtime.progress import RunLog
from spanwise.tasks.checkpoint import convert_task, load_task_model
from spanwise.tasks.classification.task import Classification
from spanwise.tasks.evaluate import evaluate, predict
from spanwise.tasks.qa.task import QuestionAnswering
from spanwise.tasks.run import finetune


@pytest.fixture(scope="module")
def alone(pretrained_folder, tmp_path_factory):
    folder = tmp_path_factory.mktemp("alone")
    return {
        name: tuned_folder(pretrained_folder, folder / name, name, seed=seed)
        for seed, name in enumerate(("qa", "tagging"))
    }


@pytest.fixture(scope="module")
def combined(pretrained_folder, alone, tmp_path_factory):
    return combine(pretrained_folder, alone.values(), tmp_path_factory.mktemp("combined") / "m").folder


@pytest.mark.parametrize("precision", ["fp32", *(["int8"] if has_int8(torch.device("cpu")) else [])])
@pytest.mark.parametrize("name", ["qa", "tagging"])
def test_answers_and_scores_are_those_of_the_folder_of_the_task(name, precision, combined, alone, tmp_path):
    case = CASES[name]
    data = tmp_path / case.file
    data.write_text(case.content, encoding="utf-8")
    scores, written, answers = [], [], []
    for folder in (alone[name], combined):
        options = {"model": folder, "device": "cpu", "precision": precision}
        scores.append(evaluate(name, data=data, **options).scores)
        paths = predict(name, input=data, output=tmp_path / "out.json", **options)
        written.append([path.read_text(encoding="utf-8") for path in paths])
        answers.append(spanwise.pipeline(case.pipeline, folder, precision=precision)(list(case.inputs)))
    assert scores[0] == scores[1] and written[0] == written[1] and answers[0] == answers[1]
    task = load_task_model(combined, name)
    assert task.is_recorded and task.task == load_task_model(alone[name], name).task


def test_a_task_that_is_not_there_is_told_the_others(combined):
    with pytest.raises(CheckpointError, match="has no head for 'coref'; the folder's tasks: qa, tagging"):
        load_task_model(combined, "coref")


def test_the_masks_are_those_of_the_base(combined, pretrained_folder):
    one, two = (spanwise.pipeline("fill-mask", folder)("The Han [MASK]") for folder in (combined, pretrained_folder))
    assert one == two


def started(model, squad_files, out, **options):
    """Fine-tune for no step that changes anything, and return the encoder with which it began, and the log."""
    still = [*SHORT[:1], *SHORT[2:-1], "training.learning_rate=1e-30", "training.max_steps=1"]
    path, log = squad_files["1.1"], RunLog(None)
    lines = []
    log.say = lines.append
    result = finetune("qa", model=model, train=path, out=out, overrides=still, log=log, **options)
    return read_folder(result.final), "\n".join(map(str, lines))


def test_fine_tuning_goes_on_from_the_task_or_the_base(combined, alone, pretrained_folder, squad_files, tmp_path):
    def same(one, folder, head=None):
        two = read_folder(folder)
        pairs = (one.heads[head], two.heads[head]) if head else (one.tensors, two.tensors)
        return all(torch.allclose(pairs[0][name], pairs[1][name], atol=1e-6) for name in pairs[0])

    found, said = started(combined, squad_files, tmp_path / "on")
    assert "has the task 'qa': training goes on from its weights, not the base" in said
    assert same(found, alone["qa"]) and same(found, alone["qa"], "qa") and not found.tasks
    assert [one["file"] for one in found.record["learned_from"]] == ["qa.json", squad_files["1.1"].name]
    found, said = started(combined, squad_files, tmp_path / "base", from_base=True)
    assert "its tasks (qa, tagging) are left out" in said and same(found, pretrained_folder)
    only = combine(pretrained_folder, [alone["tagging"]], tmp_path / "only").folder
    found, said = started(only, squad_files, tmp_path / "other")
    assert "its tasks (tagging) are left out" in said and same(found, pretrained_folder)


def test_a_task_becomes_a_plain_folder_again(combined, alone, tmp_path):
    convert_task(combined, "tagging", tmp_path / "t")
    one, two = read_folder(tmp_path / "t"), read_folder(alone["tagging"])
    assert one.source_class == two.source_class == "BertForTokenClassification" and one.labels == two.labels
    assert all(torch.equal(one.tensors[name], two.tensors[name]) for name in two.tensors)
    assert load_task_model(tmp_path / "t", "tagging").task == load_task_model(alone["tagging"], "tagging").task
    with pytest.raises(CheckpointError, match="has no head for 'relation'"):
        convert_task(combined, "relation", tmp_path / "r")


def test_the_kind_of_labels_comes_along_with_a_classifier(pretrained_folder, tmp_path):
    task = Classification(labels=("a", "b"), kind="multi_label")
    alone = tuned_folder(pretrained_folder, tmp_path / "alone", "classification", task=task)
    both = combine(pretrained_folder, [alone], tmp_path / "both").folder
    convert_task(both, "classification", tmp_path / "plain")
    convert_task(alone, "classification", tmp_path / "again")
    folders = (alone, tmp_path / "plain", tmp_path / "again")
    assert {read_folder(folder).problem_type for folder in folders} == {"multi_label_classification"}


def test_a_pointing_task_becomes_a_folder_whose_tokenizer_asks(selection_folder, tmp_path):
    task = QuestionAnswering(head="span_selection", doc_stride=40)
    alone = tuned_folder(selection_folder, tmp_path / "alone", "qa", task=task)
    both = combine(selection_folder, [alone], tmp_path / "both").folder
    convert_task(both, "qa", tmp_path / "plain")
    template = [
        json.loads((folder / "tokenizer.json").read_text())["post_processor"] for folder in (tmp_path / "plain", alone)
    ]
    assert template[0] == template[1] and "[QUESTION]" in json.dumps(template[0])
    one, two = (spanwise.pipeline("question-answering", folder) for folder in (both, alone))
    asked = CASES["qa"].inputs[0]
    assert one(**asked) == two(**asked)
