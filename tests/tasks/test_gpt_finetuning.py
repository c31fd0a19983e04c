"""GPT-1's way end to end: tokens added and known again, both orders, the second loss, the classes of Hugging Face."""

import json

import numpy as np
import pytest
import torch

from spanwise.data.batch import Batch
from spanwise.errors import ConfigError
from spanwise.interop.huggingface import read_folder
from spanwise.runtime.progress import read_metrics
from spanwise.tasks.batches import EpochBatches
from spanwise.tasks.checkpoint import load_task_model
from spanwise.tasks.evaluate import evaluate, predict
from spanwise.tasks.input_layout import EXTRACT_PIECES
from spanwise.tasks.run import finetune

FAST = [
    "training.max_steps=40", "training.learning_rate=3e-3", "training.head_learning_rate=2e-2",
    "training.precision=fp32", "training.threads=1", "hidden_dropout=0", "training.log_every=1",
]  # fmt: skip
TEXTS = [("the old river ran past", "1"), ("bread fish and cloth", "0"), ("the bells rang", "1"), ("in winter", "0")]
PAIRS = [
    ("the old river", "a stone bridge", "4.5"),
    ("people sold bread", "the bells", "0.5"),
    ("in winter", "in summer", "3.5"),
    ("the market square", "every morning", "1.0"),
]
QUESTIONS = [
    {"context": "the river ran", "question": "over", "choices": ["past a bridge", "in cloth"], "answer": 0},
    {"context": "people sold", "choices": ["the bells", "the river", "bread and fish"], "answer": 2},
    {"question": "rang", "choices": ["a town", "in winter"], "answer": 1},
]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("labelled")
    paths = {name: folder / f"{name}.{'jsonl' if name == 'choices' else 'tsv'}" for name in ("one", "two", "choices")}
    paths["one"].write_text("sentence\tlabel\n" + "".join("\t".join(row) + "\n" for row in TEXTS))
    paths["two"].write_text("sentence1\tsentence2\tscore\n" + "".join("\t".join(row) + "\n" for row in PAIRS))
    paths["choices"].write_text("\n".join(map(json.dumps, QUESTIONS)))
    return paths


@pytest.fixture(scope="module")
def runs(causal_folder, files, tmp_path_factory):
    """A model of single texts, one of pairs by likeness and one of choices."""
    folder = tmp_path_factory.mktemp("runs")

    def run(name, task):
        return finetune(
            task, model=causal_folder, train=files[name], dev=files[name], out=folder / name, recipe="gpt-1",
            overrides=FAST,
        )  # fmt: skip

    tasks = {"one": "classification", "two": "classification", "choices": "multiple-choice"}
    return {name: run(name, task) for name, task in tasks.items()}


def test_it_learns_its_examples_and_the_folder_predicts_the_same(runs, files, tmp_path):
    assert runs["one"].scores["accuracy"] == runs["choices"].scores["accuracy"] == 100.0
    assert runs["two"].scores["pearson"] > 95
    for name, task in (("one", "classification"), ("two", "classification"), ("choices", "multiple-choice")):
        final = runs[name].final
        assert evaluate(task, model=final, data=files[name], precision="fp32").scores == runs[name].scores
        told = predict(task, model=final, input=files[name], output=tmp_path / "p.json", precision="fp32")[0]
        assert told.read_text() == (final.parent / "dev_predictions.json").read_text()
        assert json.loads(told.read_text()).popitem()[1]["num_windows"] == 1


def test_the_added_tokens_have_rows_of_their_own_and_are_known_again(runs, causal_folder):
    from transformers import AutoTokenizer

    before, after = read_folder(causal_folder), read_folder(runs["one"].final)
    size = before.config.vocab_size
    assert after.config.vocab_size == size + 3
    words = load_task_model(runs["one"].final, "classification").tokenizer
    assert [words.token_to_id(piece) for piece in EXTRACT_PIECES] == [size, size + 1, size + 2]
    assert AutoTokenizer.from_pretrained(runs["one"].final).convert_tokens_to_ids(list(EXTRACT_PIECES)) == [
        size, size + 1, size + 2
    ]  # fmt: skip
    start = after.tensors["embeddings.word.weight"][size]
    assert start.norm() > 0 and after.heads.keys() == {"clm", "classification"}
    assert "_start_ text _classify_" in (runs["one"].final / "README.md").read_text()
    assert "both orders" in (runs["two"].final / "README.md").read_text()


def test_the_language_loss_is_told_apart_and_falls(runs):
    for name, target in (("one", "label"), ("two", "label"), ("choices", "choice")):
        lines = [line for line in read_metrics(runs[name].final.parent / "metrics.jsonl") if "losses" in line]
        first, last = lines[0], lines[-1]
        assert first["losses"].keys() == {target, "lm"} and last["losses"]["lm"] < first["losses"]["lm"] - 1
        assert first["loss"] == pytest.approx(first["losses"][target] + 0.5 * first["losses"]["lm"], rel=1e-5)


def batch_of(run, task, path, *, training=False) -> tuple[Batch, object]:
    loaded = load_task_model(run.final, task, device="cpu")
    data = loaded.task.read(path, purpose="train")
    features = loaded.task.featurize(data, loaded.tokenizer, loaded.model.encoder.config, training=training)
    return features.assemble(np.arange(len(features))), loaded


def sequences_of(batch):
    return batch.input_ids.split(batch.sequences.lengths)


@pytest.mark.parametrize("name", ["one", "two"])
def test_the_classifier_of_hugging_face_gives_the_same_scores_both_orders_added(runs, files, name):
    from transformers import AutoModelForSequenceClassification

    theirs, report = AutoModelForSequenceClassification.from_pretrained(runs[name].final, output_loading_info=True)
    assert type(theirs).__name__ == "OpenAIGPTForSequenceClassification"
    assert not report["missing_keys"] and not report["unexpected_keys"]
    batch, loaded = batch_of(runs[name], "classification", files[name])
    with torch.no_grad():
        scores = torch.cat([theirs.eval()(ids[None]).logits for ids in sequences_of(batch)])
        ours = loaded.task.output(loaded.model.head, loaded.model.encoder(*inputs(batch)), batch)
    expected = scores if name == "one" else scores[0::2] + scores[1::2]
    torch.testing.assert_close(torch.from_numpy(np.stack(ours)), expected, atol=1e-5, rtol=1e-5)


def inputs(batch):
    return batch.input_ids, batch.token_type_ids, batch.sequences


def test_the_double_heads_of_hugging_face_give_the_same_choices_and_language_loss(runs, files):
    from transformers import OpenAIGPTDoubleHeadsModel

    theirs, report = OpenAIGPTDoubleHeadsModel.from_pretrained(runs["choices"].final, output_loading_info=True)
    assert not report["missing_keys"] and not report["unexpected_keys"]
    batch, loaded = batch_of(runs["choices"], "multiple-choice", files["choices"], training=True)
    outputs, place, losses = [], 0, []
    specials = [loaded.tokenizer.token_to_id(piece) for piece in EXTRACT_PIECES]
    sequences = sequences_of(batch)
    for question in QUESTIONS:
        own = sequences[place : place + len(question["choices"])]
        place += len(own)
        for ids in own:
            labels = torch.where(torch.isin(ids, torch.tensor(specials)), -100, ids)
            with torch.no_grad():
                found = theirs.eval()(ids[None, None], mc_token_ids=torch.tensor([[len(ids) - 1]]), labels=labels)
            outputs.append(found.mc_logits.squeeze())
            losses.append(found.loss * (labels != -100).sum())
    with torch.no_grad():
        hidden = loaded.model.encoder(*inputs(batch))
        ours = np.concatenate(loaded.task.output(loaded.model.head, hidden, batch))
        lm = loaded.model.eval()(batch)["lm"]
    torch.testing.assert_close(torch.from_numpy(ours), torch.stack(outputs), atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(lm.sum, torch.stack(losses).sum(), atol=1e-4, rtol=1e-5)


def test_a_choice_stands_behind_passage_and_question_and_the_passage_gives_way(runs, files):
    batch, loaded = batch_of(runs["choices"], "multiple-choice", files["choices"])
    shown = [" ".join(loaded.tokenizer.tokens(ids.numpy())) for ids in sequences_of(batch)]
    plain = [text.replace("</w>", " ").replace(" ", "") for text in shown]
    assert plain[0] == "_start_theriverranover_delimiter_pastabridge_classify_"
    assert plain[2] == "_start_peoplesold_delimiter_thebells_classify_"
    assert plain[5] == "_start_rang_delimiter_atown_classify_"


def test_a_run_that_is_cut_goes_on_to_the_same_bits(causal_folder, files, tmp_path, monkeypatch):
    asked = {"model": causal_folder, "train": files["two"], "recipe": "gpt-1"}
    asked["overrides"] = ["training.max_steps=8", "training.save_every=2", "training.precision=fp32", "batch_size=3"]
    whole = finetune("classification", **asked, out=tmp_path / "whole")
    make_step = EpochBatches.step

    def power_cut(self, index):
        if index == 5:
            raise RuntimeError("power cut")
        return make_step(self, index)

    with monkeypatch.context() as patch:
        patch.setattr(EpochBatches, "step", power_cut)
        with pytest.raises(RuntimeError, match="power cut"):
            finetune("classification", **asked, out=tmp_path / "cut")
    resumed = finetune("classification", **asked, out=tmp_path / "cut", resume=True)
    assert resumed.training.resumed_from == 4
    assert (resumed.final / "model.safetensors").read_bytes() == (whole.final / "model.safetensors").read_bytes()


def test_a_second_task_takes_over_the_tokens_of_the_first(runs, files, tmp_path):
    changes = ["training.max_steps=1", "training.precision=fp32"]
    again = finetune(
        "multiple-choice", model=runs["one"].final, train=files["choices"], out=tmp_path / "r", recipe="gpt-1",
        overrides=changes,
    )  # fmt: skip
    assert read_folder(again.final).config.vocab_size == read_folder(runs["one"].final).config.vocab_size


def test_encoders_that_see_both_sides_are_refused_before_anything_is_trained(pretrained_folder, files, tmp_path):
    with pytest.raises(ConfigError, match=r"task\.layout=extract is read at the last token"):
        finetune("classification", model=pretrained_folder, train=files["one"], out=tmp_path / "r", recipe="gpt-1")
    with pytest.raises(ConfigError, match=r"task\.both_orders adds"):
        finetune("classification", model=pretrained_folder, train=files["two"], out=tmp_path / "r",
                 overrides=["task.both_orders=true"])  # fmt: skip
