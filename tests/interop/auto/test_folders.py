"""Folders of encoders that transformers runs: their heads that all models compute alike, and ours beside them."""

import logging

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file
from tests.interop.auto.models import auto_model

from spanwise.interop.auto.folders import _say_once
from spanwise.interop.checkpoint import build_encoder, build_head, warn_of_misfits
from spanwise.interop.convert import convert
from spanwise.interop.huggingface import read_folder
from spanwise.nn.sequences import Sequences
from spanwise.nn.vocabulary_loss import vocabulary_logits

IDS = torch.randint(5, 99, (11,), generator=torch.Generator().manual_seed(0))


def logits(folder, head_name):
    checkpoint = read_folder(folder)
    encoder = build_encoder(checkpoint).eval()
    head = build_head(checkpoint, head_name, encoder).eval()
    with torch.no_grad():
        hidden = encoder(IDS, torch.zeros_like(IDS), Sequences.from_lengths([len(IDS)]))
        if head_name == "mlm":
            return vocabulary_logits(head.transform(hidden), head.weight, head.bias, 99)
        return head(hidden)


@pytest.mark.parametrize(
    ("kind", "ending", "head"),
    [
        ("DebertaV2", "ForMaskedLM", "mlm"),
        ("DistilBert", "ForMaskedLM", "mlm"),
        ("Camembert", "ForMaskedLM", "mlm"),
        ("MPNet", "ForMaskedLM", "mlm"),
        ("DebertaV2", "ForQuestionAnswering", "qa"),
        ("DistilBert", "ForQuestionAnswering", "qa"),
        ("DebertaV2", "ForTokenClassification", "tagging"),
    ],
)
def test_heads_that_all_models_compute_alike_give_the_same_logits(kind, ending, head, tmp_path):
    model = auto_model(kind, ending)
    model.save_pretrained(tmp_path / "theirs")
    with torch.no_grad():
        said = model(input_ids=IDS[None])
    theirs = torch.stack([said.start_logits, said.end_logits], -1) if head == "qa" else said.logits
    assert read_folder(tmp_path / "theirs").report.unexpected == ()
    torch.testing.assert_close(logits(tmp_path / "theirs", head), theirs[0], atol=1e-5, rtol=0)
    written = convert(tmp_path / "theirs", tmp_path / "ours").written
    assert written.architecture == f"{kind}Model" and written.beside == (head,)
    assert f"{kind}Model has no place for {head}; heads.safetensors keeps them, for spanwise alone." in written.notes
    torch.testing.assert_close(logits(tmp_path / "ours", head), theirs[0], atol=1e-5, rtol=0)


def test_heads_that_differ_from_model_to_model_are_left_out_and_said(tmp_path):
    auto_model("DebertaV2", "ForSequenceClassification").save_pretrained(tmp_path)
    checkpoint = read_folder(tmp_path)
    assert checkpoint.heads == {} and "classifier.weight" in checkpoint.report.unexpected


def test_a_decoder_of_its_own_is_not_read_as_a_tied_one(tmp_path):
    auto_model("DistilBert", "ForMaskedLM").save_pretrained(tmp_path)
    tensors = load_file(tmp_path / "model.safetensors")
    tensors["vocab_projector.weight"] = tensors["distilbert.embeddings.word_embeddings.weight"] + 1
    save_file(tensors, tmp_path / "model.safetensors", metadata={"format": "pt"})
    checkpoint = read_folder(tmp_path)
    assert "mlm" not in checkpoint.heads and "vocab_projector.weight" in checkpoint.report.unexpected


def test_that_it_is_slower_is_said_once(tmp_path, caplog):
    auto_model("DebertaV2").save_pretrained(tmp_path)
    _say_once.cache_clear()
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            warn_of_misfits(read_folder(tmp_path))
    assert caplog.text.count("DebertaV2Model runs through transformers, in padded rows: slower") == 1


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        ("DebertaV2", {"hidden_act": "relu"}),
        ("DistilBert", {"activation": "relu"}),
        ("Camembert", {"hidden_act": "gelu_new"}),
    ],
)
def test_a_head_with_an_activation_that_ours_has_not_is_left_out_and_said(kind, change, tmp_path):
    auto_model(kind, "ForMaskedLM", **change).save_pretrained(tmp_path)
    checkpoint = read_folder(tmp_path)
    assert checkpoint.heads == {} and checkpoint.report.unexpected


def test_every_name_of_an_activation_is_known(tmp_path):
    model = auto_model("DistilBert", "ForMaskedLM", activation="gelu_accurate")
    model.save_pretrained(tmp_path)
    with torch.no_grad():
        theirs = model(input_ids=IDS[None]).logits[0]
    torch.testing.assert_close(logits(tmp_path, "mlm"), theirs, atol=1e-5, rtol=0)


def test_a_class_whose_question_sees_more_than_the_bare_model_gives_no_head(tmp_path):
    sizes = {"vocab_size": 99, "hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    config = transformers.LongformerConfig(**sizes, intermediate_size=16, attention_window=4, pad_token_id=1)
    transformers.LongformerForQuestionAnswering(config).save_pretrained(tmp_path)
    assert read_folder(tmp_path).heads == {}
