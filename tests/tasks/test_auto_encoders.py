"""Encoders that transformers runs do every task: training, resuming, predicting, pipelines, and their own classes."""

import pytest
import torch
from tests.interop.auto.models import auto_model
from tests.tasks.cases import CASES, NAMES

import spanwise
from spanwise.cli.main import main
from spanwise.errors import CheckpointError, ConfigError
from spanwise.interop.huggingface import read_folder
from spanwise.runtime.device import has_int8
from spanwise.tasks.batches import EpochBatches
from spanwise.tasks.evaluate import evaluate, predict
from spanwise.tasks.run import finetune

CHANGES = ["training.max_steps=2", "training.precision=fp32", "training.learning_rate=1e-2", "training.threads=1"]


@pytest.fixture(scope="module")
def starts(tokenizer, tmp_path_factory):
    """A folder of DeBERTa-v2 and one of DistilBERT, with a tokenizer."""

    def make(kind):
        folder = tmp_path_factory.mktemp(kind)
        auto_model(kind, vocab_size=tokenizer.vocab_size, max_position_embeddings=128).save_pretrained(folder)
        tokenizer.save(folder)
        return folder

    return {kind: make(kind) for kind in ("DebertaV2", "DistilBert")}


def tuned(start, name, out, *, changes=(), **options):
    case = CASES[name]
    path = out.parent / case.file
    path.write_text(case.content)
    overrides = [*CHANGES, *case.changes, *changes]
    run = finetune(name, model=start, train=path, dev=path, out=out, recipe=case.recipe, overrides=overrides, **options)
    return run, path


@pytest.mark.parametrize("kind", ["DebertaV2", "DistilBert"])
@pytest.mark.parametrize("name", NAMES)
def test_every_task_and_its_pipeline(starts, kind, name, tmp_path):
    run, path = tuned(starts[kind], name, tmp_path / "run")
    assert evaluate(name, model=run.final, data=path, precision="fp32").scores == run.scores
    predict(name, model=run.final, input=path, output=tmp_path / "p.json", precision="fp32")
    assert (tmp_path / "p.json").read_text()
    case = CASES[name]
    answer = spanwise.pipeline(case.pipeline, model=run.final, device="cpu")
    together = answer(list(case.inputs))
    assert len(together) == len(case.inputs)
    if name != "coref":  # its scores are of another order of magnitude with random weights
        alone = [answer(item) for item in case.inputs]
        assert [set(one) for one in alone] == [set(one) for one in together]
    read = read_folder(run.final)
    assert read.source_class == f"{kind}Model" and CASES[name] and set(read.heads)


def test_the_original_class_and_auto_model_load_the_tuned_folder_with_equal_states(starts, tmp_path):
    import transformers

    run, _ = tuned(starts["DebertaV2"], "qa", tmp_path / "run")
    ids = torch.tensor([[2, 30, 31, 32, 3]])
    with torch.no_grad():
        ours = spanwise.load(run.final)(ids)
        for loader in (transformers.AutoModel, transformers.DebertaV2Model):
            model, report = loader.from_pretrained(run.final, output_loading_info=True)
            assert not any(report.values())
            torch.testing.assert_close(model.eval()(input_ids=ids).last_hidden_state, ours, atol=1e-5, rtol=0)
        whole = transformers.DebertaV2ForQuestionAnswering.from_pretrained(run.final).eval()
        torch.testing.assert_close(whole.deberta(input_ids=ids).last_hidden_state, ours, atol=1e-5, rtol=0)
    before = read_folder(starts["DebertaV2"]).tensors
    assert any(not torch.equal(tensor, before[name]) for name, tensor in read_folder(run.final).tensors.items())


def test_a_run_that_is_interrupted_ends_with_the_same_bits(starts, tmp_path, monkeypatch):
    asked = {"changes": ["training.max_steps=6", "training.save_every=2"]}
    whole, _ = tuned(starts["DebertaV2"], "classification", tmp_path / "whole", **asked)
    make_step = EpochBatches.step

    def power_cut(self, index, *place):
        if index == 5:
            raise RuntimeError("power cut")
        return make_step(self, index, *place)

    with monkeypatch.context() as patch:
        patch.setattr(EpochBatches, "step", power_cut)
        with pytest.raises(RuntimeError, match="power cut"):
            tuned(starts["DebertaV2"], "classification", tmp_path / "cut", **asked)
    resumed, _ = tuned(starts["DebertaV2"], "classification", tmp_path / "cut", **asked, resume=True)
    assert resumed.training.resumed_from == 4
    assert (resumed.final / "model.safetensors").read_bytes() == (whole.final / "model.safetensors").read_bytes()


def test_freezing_layerwise_rates_and_fresh_weights_work_as_for_native_encoders(starts, tmp_path):
    before = read_folder(starts["DistilBert"]).tensors
    run, _ = tuned(starts["DistilBert"], "classification", tmp_path / "frozen", changes=["frozen_layers=2"])
    after = read_folder(run.final).tensors
    moved = {
        name.split(".")[0] + "." + name.split(".")[1] for name in after if not torch.equal(after[name], before[name])
    }
    assert moved == {"layers.2"}
    run, _ = tuned(starts["DistilBert"], "classification", tmp_path / "decay", changes=["training.layer_decay=0.5"])
    after = read_folder(run.final).tensors
    steps = {
        n: (after[f"layers.{n}.ffn.lin1.weight"] - before[f"layers.{n}.ffn.lin1.weight"]).abs().max() for n in (0, 2)
    }
    assert 0 < steps[0] < steps[2]
    run, _ = tuned(starts["DistilBert"], "classification", tmp_path / "fresh", reset_weights=True)
    word = read_folder(run.final).tensors["embeddings.word.weight"]
    assert word.std() < 0.1 < before["embeddings.word.weight"].std()


def test_what_is_not_here_is_refused_in_a_sentence(starts, tmp_path, capsys):
    run, _ = tuned(starts["DistilBert"], "classification", tmp_path / "run")
    has_bytes = has_int8(torch.device("cpu"))
    words = "'int8' is of encoders that this package computes itself" if has_bytes else "'int8' needs a CPU that"
    with pytest.raises(ConfigError, match=words):
        spanwise.pipeline("text-classification", model=run.final, precision="int8")
    text = tmp_path / "text.txt"
    text.write_text("The Han River is long.\n\nIn Seoul is a bridge.\n" * 50)
    options = ["--init", str(starts["DistilBert"]), "--text", str(text), "--out", str(tmp_path / "pre")]
    assert main(["pretrain", "spanbert-nano", *options]) != 0
    assert "pre-training needs an encoder that this package computes itself" in capsys.readouterr().err
    with pytest.raises(CheckpointError, match="no head for 'qa'"):
        spanwise.pipeline("question-answering", model=run.final)


def test_show_model_and_convert_say_what_it_is(starts, tmp_path, capsys):
    run, _ = tuned(starts["DebertaV2"], "tagging", tmp_path / "run")
    assert main(["show", "model", str(run.final)]) == 0
    shown = capsys.readouterr().out
    assert "DebertaV2Model" in shown and "tagging in heads.safetensors" in shown
    assert "Runs through transformers, so slower than a native family. Loads with AutoModel, which leaves out" in shown
    assert main(["convert", str(run.final), str(tmp_path / "copy")]) == 0
    one, other = read_folder(run.final), read_folder(tmp_path / "copy")
    assert all(torch.equal(tensor, other.tensors[name]) for name, tensor in one.tensors.items())
    assert all(torch.equal(tensor, other.heads["tagging"][name]) for name, tensor in one.heads["tagging"].items())
    assert other.labels == one.labels != ()


def test_hidden_words_and_span_vectors_come_from_its_own_folder(tokenizer, tmp_path):
    model = auto_model("DebertaV2", "ForMaskedLM", vocab_size=tokenizer.vocab_size, max_position_embeddings=128)
    model.save_pretrained(tmp_path)
    tokenizer.save(tmp_path)
    (best,) = spanwise.pipeline("fill-mask", model=tmp_path)("The [MASK] is in Seoul", top_k=1)
    ids = [tokenizer.cls_id, *tokenizer.encode("The").ids, tokenizer.mask_id, *tokenizer.encode("is in Seoul").ids]
    with torch.no_grad():
        scores = model(input_ids=torch.tensor([[*ids, tokenizer.sep_id]])).logits[0, 2]
    assert best["token"] == int(scores[: tokenizer.vocab_size].argmax())
    assert best["score"] == pytest.approx(float(scores.softmax(-1).max()), abs=1e-5)
    vectors = spanwise.pipeline("span-embedding", model=tmp_path)({"text": "The Han", "spans": [[4, 7]]})
    assert vectors["embeddings"].shape == (1, 64)
