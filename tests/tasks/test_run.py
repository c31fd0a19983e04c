"""Files in, run folder out: fine-tune, evaluate, predict, resume."""

import json
import shutil
import sys

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from spanwise.errors import CheckpointError, ConfigError, DataError
from spanwise.interop.huggingface import read_folder, write_folder
from spanwise.nn.config import EncoderConfig
from spanwise.nn.encoder import Encoder
from spanwise.nn.init import initialize
from spanwise.runtime.progress import RunLog
from spanwise.tasks.checkpoint import load_task_model
from spanwise.tasks.qa.reader import read_squad
from spanwise.tasks.qa.score import score
from spanwise.tasks.run import _write_predictions, evaluate, evaluate_each, finetune, predict

FAST = [
    "training.num_epochs=60",
    "training.learning_rate=3e-3",
    "training.precision=fp32",
    "training.threads=1",
    "batch_size=8",
    "task.doc_stride=40",
]
SHORT = [*FAST[1:], "training.max_steps=6"]


@pytest.fixture(scope="session")
def finetuned(pretrained_folder, squad_files, tmp_path_factory):
    """A run that has learnt the 2.0 questions by heart."""
    path = squad_files["v2.0"]
    out = tmp_path_factory.mktemp("finetuned") / "run"
    return finetune("qa", model=pretrained_folder, train=path, dev=path, out=out, overrides=FAST)


def test_fine_tuning_learns_its_questions_and_keeps_its_threshold(finetuned, squad_files):
    assert finetuned.scores["exact"] == finetuned.scores["best_f1"] == 100.0
    record = json.loads((finetuned.final / "spanwise.json").read_text())["task"]
    assert record["null_threshold"] == finetuned.scores["best_f1_thresh"]
    out = finetuned.final.parent
    assert json.loads((out / "dev_scores.json").read_text()) == finetuned.scores
    assert json.loads((out / "recipe.json").read_text())["task"] == "qa"
    assert json.loads((out / "dev_predictions.json").read_text())["length"] == "494 km"


def test_evaluation_of_the_folder_gives_the_scores_of_the_run(finetuned, squad_files, tmp_path):
    result = evaluate(
        "qa", model=finetuned.final, data=squad_files["v2.0"], out=tmp_path / "new" / "s.json", precision="fp32"
    )
    assert result.scores == finetuned.scores == json.loads((tmp_path / "new" / "s.json").read_text())


def test_predictions_score_as_the_evaluation_does(finetuned, squad_files, tmp_path):
    files = predict(
        "qa", model=finetuned.final, input=squad_files["v2.0"], output=tmp_path / "new" / "p.json", precision="fp32"
    )
    assert [path.name for path in files] == ["p.json", "p.nbest.json", "p.null_odds.json", "p.windows.json"]
    answers, nbest, odds, windows = (json.loads(path.read_text()) for path in files)
    assert all(read["num_windows"] >= 1 and read["num_dropped_tokens"] == 0 for read in windows.values())
    data = read_squad(squad_files["v2.0"], purpose="score")
    assert score(data, answers)["f1"] == finetuned.scores["f1"]
    assert nbest.keys() == odds.keys() == answers.keys() == {question.id for question in data.questions}
    assert answers["price"] == "" and odds["price"] > finetuned.task.null_threshold


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
    data = read_squad(squad_files["v2.0"])
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


def test_a_model_without_the_tasks_head_refuses_to_answer_and_names_the_cure(pretrained_folder, squad_files, tmp_path):
    for ask in (
        lambda: evaluate("qa", model=pretrained_folder, data=squad_files["1.1"]),
        lambda: predict("qa", model=pretrained_folder, input=squad_files["1.1"], output=tmp_path / "p.json"),
    ):
        with pytest.raises(CheckpointError, match=r"fresh head .* spanwise finetune qa"):
            ask()
    assert not (tmp_path / "p.json").exists()


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        (["task.max_length=512"], "encoder's 128 positions"),
        (["task.doc_strid=3"], "doc_stride"),
        (["batch_size=0"], "batch_size"),
        (["task.doc_stride=0"], "doc_stride must be at least 1"),
    ],
)
def test_wrong_options_are_named(pretrained_folder, squad_files, tmp_path, overrides, words):
    with pytest.raises(ConfigError, match=words):
        finetune("qa", model=pretrained_folder, train=squad_files["1.1"], out=tmp_path / "run", overrides=overrides)


def test_a_folder_in_the_place_of_the_output_file_is_named(finetuned, squad_files, tmp_path):
    with pytest.raises(ConfigError, match=r"name the file to write, such as .*predictions\.json"):
        predict("qa", model=finetuned.final, input=squad_files["1.1"], output=tmp_path)


def test_fine_tuning_stays_in_the_family_it_starts_from_and_may_teach_the_second_token_type(
    tokenizer, squad_files, tmp_path
):
    shape = {"hidden_size": 16, "num_layers": 1, "num_heads": 2, "intermediate_size": 16, "embedding_size": 8}
    encoder = Encoder(EncoderConfig(vocab_size=tokenizer.vocab_size, **shape))
    initialize(encoder, encoder.config, seed=1)
    write_folder(tmp_path / "start", encoder, {}, tokenizer, model_type="electra")
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


@pytest.mark.parametrize(
    ("output", "files"),
    [
        ("p.x", {"p.x": "first", "p.y": "second"}),
        ("p.y", {"p.x": "first", "p.y": "second"}),
        ("p.json", {"p.json": "first", "p.y": "second"}),
    ],
)
def test_what_is_written_goes_by_suffix_and_the_file_that_was_asked_for_is_always_there(tmp_path, output, files):
    class Both:
        def prediction_files(self, predictions):
            return {".x": "first", ".y": "second"}

    written = _write_predictions(tmp_path / output, Both(), None)
    assert written[0] == tmp_path / output
    assert {path.name: path.read_text() for path in written} == files


def test_several_files_are_scored_by_one_model_each_under_its_name(finetuned, squad_files, tmp_path):
    for name in ("dev_a.json", "dev_b.json"):
        shutil.copy(squad_files["v2.0"], tmp_path / name)
    asked = {"model": finetuned.final, "precision": "fp32"}
    found = evaluate_each(
        "qa", data=[tmp_path / "dev_a.json", tmp_path / "dev_b.json"], out=tmp_path / "s.json", **asked
    )
    assert {name: result.scores for name, result in found.items()} == dict.fromkeys(
        ("dev_a", "dev_b"), finetuned.scores
    )
    assert json.loads((tmp_path / "s.json").read_text())["dev_b"] == finetuned.scores
    (tmp_path / "x").mkdir()
    shutil.copy(squad_files["v2.0"], tmp_path / "x" / "dev_a.json")
    same = [tmp_path / "dev_a.json", tmp_path / "x" / "dev_a.json"]
    assert list(evaluate_each("qa", data=same, **asked)) == [str(path) for path in same]
    with pytest.raises(ConfigError, match="named twice"):
        evaluate_each("qa", data=same[:1] * 2, **asked)


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


def test_what_prediction_drops_is_said(pretrained_folder, tmp_path, caplog):
    path = tmp_path / "train.tsv"
    path.write_text("text\tlabel\n" + "km " * 20 + "\tx\nkm\ty\n")
    changes = ["training.max_steps=1", "training.precision=fp32", "task.max_length=8"]
    run = finetune("classification", model=pretrained_folder, train=path, out=tmp_path / "run", overrides=changes)
    caplog.clear()
    predict("classification", model=run.final, input=path, output=tmp_path / "p.json")
    assert "1 of 2 examples are longer than the model reads; 14 tokens were dropped" in caplog.text
