"""Every family goes from raw text to a folder in one call: its own kind of tokenizer, its own format, its own class."""

import json
import shutil
from dataclasses import replace

import pytest
import torch
import transformers

import spanwise
from spanwise import recipes

CLASSES = {
    "spanbert-mini": "BertForMaskedLM",
    "bert-mini": "BertForPreTraining",
    "roberta-mini": "RobertaForMaskedLM",
    "albert-mini": "AlbertForPreTraining",
    "electra-mini": "ElectraForPreTraining",
    "gpt1-mini": "OpenAIGPTLMHeadModel",
    "albert-spans-mini": "AlbertForPreTraining",
    "electra-spans-mini": "ElectraForPreTraining",
}
TEXTS = ["The old river ran past a stone bridge.", "Every morning in winter, the bells."]


def small(name):
    recipe = recipes.find(name)
    shape = replace(recipe.encoder, hidden_size=32, num_layers=2, num_heads=2, intermediate_size=128, max_positions=64)
    if shape.embedding_size is not None:
        shape = replace(shape, embedding_size=16)
    parts = {}
    if name.startswith("electra"):
        parts["corruption"] = replace(recipe.corruption, size=0.5)
    return replace(
        recipe,
        tokenizer=replace(recipe.tokenizer, vocab_size=400),
        encoder=shape,
        format=replace(recipe.format, max_length=64),
        batch=replace(recipe.batch, tokens_per_step=512, max_tokens=512),
        training=replace(
            recipe.training, max_tokens=None, max_steps=3, warmup_steps=0.0, eval_every=None, log_every=1, threads=1
        ),
        **parts,
    )


@pytest.mark.parametrize("name", CLASSES)
def test_text_becomes_the_folder_of_the_familys_own_class(name, tiny_text, tmp_path):
    recipe = small(name)
    result = spanwise.pretrain(recipe, text=tiny_text, valid=tiny_text, out=tmp_path / "run")
    final = tmp_path / "run" / "final"

    assert result.steps == 3
    for objective in recipe.trained_objectives:
        assert result.evaluation[f"{objective}_loss"] < result.first_evaluation[f"{objective}_loss"] + 0.05
    assert json.loads((final / "config.json").read_text())["architectures"] == [CLASSES[name]]
    model, report = getattr(transformers, CLASSES[name]).from_pretrained(final, output_loading_info=True)
    assert not report["missing_keys"] and not report["unexpected_keys"] and not report["mismatched_keys"]

    tokenizer = transformers.AutoTokenizer.from_pretrained(final)
    ours = spanwise.load(final)
    for text, hidden in zip(TEXTS, ours.encode(TEXTS), strict=True):
        ids = tokenizer(text, return_tensors="pt", return_token_type_ids=False)["input_ids"]
        with torch.no_grad():
            theirs = model.eval().base_model(ids).last_hidden_state[0]
        assert theirs.shape == hidden.shape
        assert torch.allclose(theirs, hidden, atol=1e-5)


@pytest.mark.parametrize("name", ["electra-mini", "gpt1-mini"])
def test_a_stopped_run_of_a_family_goes_on_to_the_same_weights(name, tiny_store, tmp_path):
    recipe = small(name)
    saves = replace(recipe, training=replace(recipe.training, save_every=1, keep=9))
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    spanwise.pretrain(saves, data=tiny_store.path, out=whole)
    shutil.copytree(whole, cut)
    for left in (cut / "final", *sorted((cut / "checkpoints").iterdir())[1:]):
        shutil.rmtree(left)
    spanwise.pretrain(saves, data=tiny_store.path, out=cut, resume=True)
    assert (cut / "final" / "model.safetensors").read_bytes() == (whole / "final" / "model.safetensors").read_bytes()
