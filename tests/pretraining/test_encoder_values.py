"""Encoders that no paper has: each value of `encoder` trains, is saved and read back to equal hidden states, and the
folder says truly which class computes it."""

import json
from dataclasses import replace

import pytest
import torch
from tests.pretraining.test_run import tiny_recipe
from transformers import AutoModel

import spanwise
from spanwise.config import override
from spanwise.pretraining.masking import NoMasking, NoReplacement
from spanwise.pretraining.objectives import CausalLM
from spanwise.pretraining.ready import make_ready
from spanwise.pretraining.run import save_pretrained
from spanwise.pretraining.system import check
from spanwise.runtime.progress import RunLog
from spanwise.training.loop import train
from spanwise.training.run_folder import claim_run_folder

MODEL_TYPES = {  # of the class of Hugging Face that computes such an encoder; spanwise: none does
    "encoder.embedding_norm=false": "spanwise",
    "encoder.position_offset=2": "spanwise",  # RoBERTa counts from its padding id, which is 0 in this vocabulary
    "encoder.causal=true": "bert",  # as a decoder
    "encoder.embedding_size=16": "electra",
    "encoder.embedding_size=16 encoder.sharing=all": "albert",
    "encoder.sharing=attention": "albert",  # a group a layer with equal weights, the map beside them
    "encoder.num_token_types=1": "bert",
    "encoder.num_token_types=0": "bert",  # a table of zeros
    "encoder.activation=gelu_tanh": "bert",
    "encoder.pooler=true": "bert",
}


def recipe_of(changes: str):
    recipe = override(tiny_recipe(max_steps=2, save_every=None, eval_every=None), changes.split())
    if recipe.encoder.causal:  # what hides nothing is all that such an encoder can learn
        recipe = replace(recipe, masking=NoMasking(), replacement=NoReplacement(), objectives={"clm": CausalLM()})
    check(recipe)
    return recipe


@pytest.mark.parametrize("changes", MODEL_TYPES)
def test_an_encoder_of_any_value_is_read_back_as_it_was_trained(changes, tiny_store, tmp_path):
    out = tmp_path / "run"
    with claim_run_folder(out, resume=False) as folder:
        ready = make_ready(recipe_of(changes), folder, {"data": tiny_store.path}, RunLog(None))
        start = {name: value.clone() for name, value in ready.model.state_dict().items()}
        train(
            ready.model,
            ready.source,
            ready.recipe.training,
            out,
            save_model=lambda target: save_pretrained(target, ready),
        )
    trained = ready.model.eval().encoder
    assert any(not torch.equal(value, start[name]) for name, value in ready.model.state_dict().items())

    read = spanwise.load(out / "final")
    ids = torch.tensor([[2, 20, 30, 40, 50, 3], [2, 60, 70, 3, 0, 0]])
    mask = (ids != 0).long()
    with torch.no_grad():
        found = read(ids, mask)
        read.encoder.load_state_dict(trained.state_dict())
        expected = read(ids, mask)
    assert torch.equal(found, expected)
    settings = json.loads((out / "final" / "config.json").read_text())
    assert settings["model_type"] == MODEL_TYPES[changes]
    if settings["model_type"] != "spanwise":
        with torch.no_grad():
            theirs = AutoModel.from_pretrained(out / "final").eval()(ids, mask).last_hidden_state
        assert torch.allclose(theirs[mask.bool()], found[mask.bool()], atol=1e-5)
