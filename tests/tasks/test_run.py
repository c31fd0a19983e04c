"""Files in, run folder out: fine-tune, evaluate, predict, resume."""

import io
import json

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from tests.tasks.conftest import FAST, SHORT

from spanwise.errors import ConfigError, DataError
from spanwise.interop.folder_plan import FolderContent
from spanwise.interop.huggingface import read_folder, write_folder
from spanwise.nn.config import EncoderConfig
from spanwise.nn.encoder import Encoder
from spanwise.nn.init import initialize
from spanwise.runtime.progress import RunLog
from spanwise.tasks.checkpoint import load_task_model
from spanwise.tasks.evaluate import evaluate
from spanwise.tasks.qa.reader import read_questions
from spanwise.tasks.run import finetune

SHORT_TEXTS = ["training.max_steps=1", "training.precision=fp32", "training.threads=1"]


def test_fine_tuning_learns_its_questions_and_keeps_its_threshold(finetuned, squad_files):
    assert finetuned.scores["exact"] == finetuned.scores["best_f1"] == 100.0
    record = json.loads((finetuned.final / "spanwise.json").read_text())["task"]
    assert record["null_threshold"] > finetuned.scores["best_f1_thresh"]  # no question stands on it
    out = finetuned.final.parent
    assert json.loads((out / "dev_scores.json").read_text()) == finetuned.scores
    assert json.loads((out / "recipe.json").read_text())["task"] == "qa"
    assert json.loads((out / "dev_predictions.json").read_text())["length"] == "494 km"


FORMS = {
    "classifier": (["task.answerability=classifier"], "BertForQuestionAnswering", {"mlm", "qa"}),
    "joint": (["task.answerability=classifier", "task.spans=joint"], "BertForMaskedLM", {"mlm", "qa"}),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_head_is_learnt_saved_and_loaded(form, pretrained_folder, squad_files, tmp_path):
    changes, stock_class, heads = FORMS[form]
    path = squad_files["v2.0"]
    run = finetune("qa", model=pretrained_folder, train=path, dev=path, out=tmp_path / "run", overrides=FAST + changes)
    assert run.scores["exact"] == 100.0 and run.scores["NoAns_exact"] == 100.0
    checkpoint = read_folder(run.final)
    assert (checkpoint.source_class, checkpoint.heads.keys()) == (stock_class, heads)
    assert evaluate("qa", model=run.final, data=path, precision="fp32").scores == run.scores
    classifier = {name for name in checkpoint.heads["qa"] if name.startswith("answerable.")}
    assert classifier and classifier <= checkpoint.heads["qa"].keys() != classifier
    # on 1.1 data there is nothing to classify: the plain head takes its place
    plain = finetune("qa", model=run.final, train=squad_files["1.1"], out=tmp_path / "plain", overrides=SHORT + changes)
    assert plain.task.answerability == "null_score" and plain.task.null_threshold is None
    assert not any(name.startswith("answerable") for name in load_file(plain.final / "heads.safetensors"))


def test_a_classifier_lies_beside_the_stock_class_whose_logits_stay_the_same(pretrained_folder, squad_files, tmp_path):
    from transformers import AutoModelForQuestionAnswering

    changes = ["task.answerability=classifier", *SHORT]
    run = finetune("qa", model=pretrained_folder, train=squad_files["v2.0"], out=tmp_path / "run", overrides=changes)
    theirs, report = AutoModelForQuestionAnswering.from_pretrained(run.final, output_loading_info=True)
    assert not report["missing_keys"] and not report["unexpected_keys"]
    ours = load_task_model(run.final, "qa", device="cpu")
    model, words = ours.model, ours.tokenizer
    data = read_questions(squad_files["v2.0"])
    windows = ours.task.featurize(data, words, model.encoder.config, training=False)
    for row, said in enumerate(ours.model.outputs(windows)):
        batch = windows.assemble(np.array([row]))
        with torch.no_grad():
            found = theirs.eval()(batch.input_ids[None], token_type_ids=batch.token_type_ids[None])
        expected = torch.stack([found.start_logits[0], found.end_logits[0]], dim=1)
        torch.testing.assert_close(torch.from_numpy(said.logits_L2), expected, atol=1e-5, rtol=1e-5)
    assert "answerable.out.weight" in load_file(run.final / "heads.safetensors")


def test_the_final_folder_is_a_hugging_face_folder_with_all_heads(finetuned, tokenizer, squad20):
    from transformers import AutoModelForQuestionAnswering

    theirs, report = AutoModelForQuestionAnswering.from_pretrained(finetuned.final, output_loading_info=True)
    assert type(theirs).__name__ == "BertForQuestionAnswering"
    assert not report["missing_keys"] and not report["unexpected_keys"]
    ours = load_task_model(finetuned.final, "qa", device="cpu")
    windows = ours.task.featurize(squad20, ours.tokenizer, ours.model.encoder.config, training=False)
    for row, logits in enumerate(ours.model.outputs(windows)):
        batch = windows.assemble(np.array([row]))
        with torch.no_grad():
            said = theirs.eval()(batch.input_ids[None], token_type_ids=batch.token_type_ids[None])
        expected = torch.stack([said.start_logits[0], said.end_logits[0]], dim=1)
        torch.testing.assert_close(torch.from_numpy(logits), expected, atol=1e-5, rtol=1e-5)
    assert "cls.predictions.transform.dense.weight" in load_file(finetuned.final / "heads.safetensors")
    assert set(read_folder(finetuned.final).heads) == {"mlm", "qa"}


def test_a_run_killed_between_checkpoints_goes_on_to_the_same_bits(
    pretrained_folder, squad_files, tmp_path, monkeypatch
):
    asked = {"model": pretrained_folder, "train": squad_files["1.1"], "dev": squad_files["1.1"]}
    overrides = [*SHORT, "training.save_every=2"]
    whole = finetune("qa", **asked, out=tmp_path / "whole", overrides=overrides)

    from spanwise.tasks.batches import EpochBatches

    make_step = EpochBatches.step

    def power_cut(self, index):
        if index == 5:
            raise RuntimeError("power cut")
        return make_step(self, index)

    with monkeypatch.context() as patch:
        patch.setattr(EpochBatches, "step", power_cut)
        with pytest.raises(RuntimeError, match="power cut"):
            finetune("qa", **asked, out=tmp_path / "cut", overrides=overrides)
    with pytest.raises(ConfigError, match="--resume"):
        finetune("qa", **asked, out=tmp_path / "cut", overrides=overrides)
    with pytest.raises(ConfigError, match="differ"):
        finetune("qa", **asked, out=tmp_path / "cut", overrides=[*overrides, "batch_size=4"], resume=True)
    resumed = finetune("qa", **asked, out=tmp_path / "cut", overrides=overrides, resume=True)
    assert resumed.training.resumed_from == 4
    assert (resumed.final / "model.safetensors").read_bytes() == (whole.final / "model.safetensors").read_bytes()
    assert resumed.scores == whole.scores
    again = finetune("qa", **asked, out=tmp_path / "cut", overrides=overrides, resume=True)
    assert again.scores == whole.scores  # a finished run changes nothing


def test_a_checkpoint_between_evaluations_has_no_scores_or_threshold_of_other_weights(
    pretrained_folder, squad_files, tmp_path
):
    overrides = [*SHORT, "training.save_every=2", "training.eval_every=4", "training.keep=9"]  # of 6 steps
    path = squad_files["v2.0"]
    run = finetune("qa", model=pretrained_folder, train=path, dev=path, out=tmp_path / "run", overrides=overrides)
    folders = [tmp_path / "run" / "checkpoints" / f"step-{step:09}" for step in (2, 4)]
    between, scored, last = (json.loads((folder / "spanwise.json").read_text()) for folder in [*folders, run.final])
    assert between["dev_scores"] == {} and between["task"]["null_threshold"] == 0.0
    assert scored["dev_scores"]["total"] == 5 and scored["task"]["null_threshold"] != 0.0
    assert last["dev_scores"] == run.scores


def test_a_length_beyond_the_positions_of_the_encoder_is_said(pretrained_folder, tmp_path):
    (tmp_path / "train.tsv").write_text("text\tlabel\nThe Han\ta\nkm km\tb\n")
    told = []
    for length in (1024, 64):
        log = RunLog(tmp_path / f"run-{length}", stream=(stream := io.StringIO()))
        overrides = [*SHORT_TEXTS, f"task.max_length={length}"]
        asked = {"model": pretrained_folder, "train": tmp_path / "train.tsv", "out": tmp_path / f"run-{length}"}
        finetune("classification", **asked, overrides=overrides, log=log)
        told.append(stream.getvalue())
    assert "task.max_length 1,024 is more than the encoder's 128 positions; sequences have at most 128" in told[0]
    assert "positions" not in told[1]


def test_without_dev_data_a_2_0_model_abstains_at_the_middle(pretrained_folder, squad_files, tmp_path):
    run = finetune("qa", model=pretrained_folder, train=squad_files["v2.0"], out=tmp_path / "run", overrides=SHORT)
    assert run.task.null_threshold == 0.0


def test_data_with_and_without_unanswerable_questions_do_not_mix(pretrained_folder, squad_files, finetuned, tmp_path):
    with pytest.raises(DataError, match="without an answer"):
        finetune(
            "qa", model=pretrained_folder, train=squad_files["1.1"], dev=squad_files["v2.0"], out=tmp_path / "mixed"
        )
    plain = finetune("qa", model=pretrained_folder, train=squad_files["1.1"], out=tmp_path / "plain", overrides=SHORT)
    assert plain.task.null_threshold is None
    with pytest.raises(DataError, match="fine-tuned without any"):
        evaluate("qa", model=plain.final, data=squad_files["v2.0"])
    assert evaluate("qa", model=finetuned.final, data=squad_files["1.1"]).scores["exact"] == 100.0
    asked = {"train": squad_files["1.1"], "dev": squad_files["v2.0"], "overrides": SHORT}
    joined = finetune("qa", model=pretrained_folder, **asked, replay=squad_files["v2.0"], out=tmp_path / "joined")
    assert joined.task.null_threshold is not None  # what it learns from has unanswerable questions, as the dev file has
    asked["dev"] = squad_files["1.1"]  # as the new data alone
    finetune("qa", model=pretrained_folder, **asked, replay=squad_files["v2.0"], out=tmp_path / "watched")


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        (["task.max_length=512"], "encoder's 128 positions"),
        (["task.doc_strid=3"], "doc_stride"),
        (["batch_size=0"], "batch_size"),
        (["task.doc_stride=0"], "task.doc_stride cannot be .*0.*at least 1"),
    ],
)
def test_wrong_options_are_named(pretrained_folder, squad_files, tmp_path, overrides, words):
    with pytest.raises(ConfigError, match=words):
        finetune("qa", model=pretrained_folder, train=squad_files["1.1"], out=tmp_path / "run", overrides=overrides)


def test_fine_tuning_stays_in_the_family_it_starts_from_and_may_teach_the_second_token_type(
    tokenizer, squad_files, tmp_path
):
    shape = {"hidden_size": 16, "num_layers": 1, "num_heads": 2, "intermediate_size": 16, "embedding_size": 8}
    encoder = Encoder(EncoderConfig(vocab_size=tokenizer.vocab_size, **shape))
    initialize(encoder, encoder.config, seed=1)
    write_folder(tmp_path / "start", FolderContent(encoder, {}, tokenizer, model_type="electra"))
    changes = [*SHORT, "training.max_steps=1", "training.learning_rate=1e-9", "second_token_type=first"]
    path = squad_files["v2.0"]
    result = finetune("qa", model=tmp_path / "start", train=path, out=tmp_path / "run", overrides=changes)
    checkpoint = read_folder(result.final)
    assert checkpoint.source_class == "ElectraForQuestionAnswering" and checkpoint.heads.keys() == {"qa"}
    first, second = checkpoint.tensors["embeddings.token_type.weight"]
    torch.testing.assert_close(first, second, atol=1e-6, rtol=0)


def test_a_named_recipe_of_the_task_is_taken_and_a_wrong_name_answered(pretrained_folder, squad_files, tmp_path):
    asked = {"model": pretrained_folder, "train": squad_files["1.1"], "overrides": [*SHORT, "training.max_steps=1"]}
    finetune("qa", **asked, recipe="squad", out=tmp_path / "a")
    with pytest.raises(ConfigError, match="no recipe 'squid'; it has squad"):
        finetune("qa", **asked, recipe="squid", out=tmp_path / "b")


def test_a_folder_of_files_is_one_training_set_and_a_changed_file_is_another(pretrained_folder, tmp_path):
    passage = {"article": "The Han", "questions": ["q", "r"], "options": [["a", "b"]] * 2, "answers": ["A", "B"]}
    for number in range(2):
        (tmp_path / "race" / "high").mkdir(parents=True, exist_ok=True)
        (tmp_path / "race" / "high" / f"{number}.txt").write_text(json.dumps({**passage, "id": str(number)}))
    asked = {"model": pretrained_folder, "train": tmp_path / "race", "out": tmp_path / "run"}
    finetune("multiple-choice", **asked, overrides=["training.max_steps=1", "training.precision=fp32"])
    again = {"overrides": ["training.max_steps=1", "training.precision=fp32"], "resume": True}
    finetune("multiple-choice", **asked, **again)  # the same files: the run goes on
    (tmp_path / "race" / "high" / "1.txt").write_text(json.dumps({**passage, "article": "Seoul"}))
    with pytest.raises(ConfigError, match="train"):
        finetune("multiple-choice", **asked, **again)


def test_dev_data_is_read_as_what_the_training_file_taught(pretrained_folder, tmp_path):
    train, dev = tmp_path / "train.tsv", tmp_path / "dev.tsv"
    train.write_text("text\tlabel\nThe river\t0.5\nThe town\t1.5\n")
    dev.write_text("text\tlabel\nThe bridge\t1\nThe sea\t2\n")  # alone it would hold labels
    plan = ["training.max_steps=1"]
    result = finetune(
        "classification", model=pretrained_folder, train=train, dev=dev, out=tmp_path / "run", overrides=plan
    )
    assert result.task.kind == "regression" and "pearson" in result.scores
