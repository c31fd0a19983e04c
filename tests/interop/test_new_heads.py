"""A head put on a pre-trained folder of any family: its class loads with nothing missing, and nothing is lost."""

import json
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch
import transformers
from tests.interop.conftest import fresh_head
from tests.interop.oracle import (
    NUM_LABELS,
    ORACLES,
    load_theirs,
    make_batch,
    open_ours,
    our_scores,
    their_scores,
)

from spanwise.interop.checkpoint import build_encoder, build_head
from spanwise.interop.folder_plan import FolderContent
from spanwise.interop.huggingface import read_folder, write_folder
from spanwise.interop.tables import BY_MODEL_TYPE

PRETRAINED = {
    "bert": "BertForPreTraining",
    "roberta": "RobertaForMaskedLM",
    "albert": "AlbertForPreTraining",
    "discriminator": "ElectraForPreTraining",
    "generator": "ElectraForMaskedLM",
    "gpt1": "OpenAIGPTLMHeadModel",
    "spanbert": "BertForPreTraining",
}
ORACLE_OF = {"discriminator": "electra", "generator": "electra", "gpt1": "openai_gpt", "spanbert": "bert"}
TASKS = {
    "qa": "AutoModelForQuestionAnswering",
    "classification": "AutoModelForSequenceClassification",
    "tagging": "AutoModelForTokenClassification",
    "multiple_choice": "AutoModelForMultipleChoice",
}
UNKNOWN_THERE = {("gpt1", "qa"), ("gpt1", "tagging")}  # transformers has no such class


class PaddingAlone:
    def __init__(self, pad_id):
        self.pad_id = pad_id

    def save(self, folder):
        pass


def as_released(model):
    """The tensors of a BERT as SpanBERT's authors name theirs: boundary head, old norm names, no pooler."""
    width, size = model.config.hidden_size, 20
    generator = torch.Generator().manual_seed(8)
    head = {"position_embeddings.weight": (5, size), "bias": (model.config.vocab_size,)}
    for layer, inputs in (("1", 2 * width + size), ("2", width)):
        front = f"mlp_layer_norm.linear{layer}"
        head |= {f"{front}.weight": (width, inputs), f"{front}.bias": (width,)}
        front = f"mlp_layer_norm.layer_norm{layer}"
        head |= {f"{front}.gamma": (width,), f"{front}.beta": (width,)}
    kept = {name: t for name, t in model.state_dict().items() if not name.startswith(("bert.pooler", "cls.seq"))}
    renamed = {
        name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"): tensor
        for name, tensor in kept.items()
    }
    return renamed | {
        f"cls.pair_target_predictions.{name}": torch.randn(shape, generator=generator) for name, shape in head.items()
    }


@pytest.fixture(scope="module", params=PRETRAINED)
def pretrained(request, tmp_path_factory):
    """A pre-trained folder of others with random weights."""
    system, folder = request.param, tmp_path_factory.mktemp("pretrained") / request.param
    oracle = ORACLES[ORACLE_OF.get(system, system)]
    model = oracle.model(PRETRAINED[system])
    if system == "spanbert":
        folder.mkdir()
        torch.save(as_released(model), folder / "pytorch_model.bin")
        settings = {key: value for key, value in model.config.to_dict().items() if key in oracle.settings}
        (folder / "config.json").write_text(json.dumps(settings))
    else:
        model.save_pretrained(folder)
    return SimpleNamespace(**locals())


@pytest.mark.parametrize("head", TASKS)
def test_a_new_head_goes_to_its_class_and_all_others_stay(pretrained, head, tmp_path):
    checkpoint = read_folder(pretrained.folder)
    family = BY_MODEL_TYPE[checkpoint.model_type]
    config = replace(checkpoint.config, pooler=checkpoint.config.pooler or checkpoint.form_of(head) == "pooled")
    encoder = build_encoder(checkpoint, config).eval()
    size = (NUM_LABELS,) if head in ("classification", "tagging") else ()
    new = fresh_head(checkpoint, head, encoder, seed=4, size=size).eval()
    old = {name: build_head(checkpoint, name, encoder).eval() for name in checkpoint.heads}

    written = write_folder(
        tmp_path / "task",
        FolderContent(
            encoder,
            {**old, head: new},
            PaddingAlone(pretrained.oracle.pad_id),
            main_head=head,
            model_type=checkpoint.model_type,
        ),
    )

    theirs, batch = load_theirs(tmp_path / "task"), make_batch(pretrained.oracle)
    if (pretrained.system, head) in UNKNOWN_THERE:
        assert written.architecture == "OpenAIGPTLMHeadModel" and written.beside == (head,)
        assert f"no place for {head}" in " ".join(written.notes)
    else:
        assert head in family.architectures[written.architecture].heads
        found = their_scores(theirs, pretrained.oracle, batch)[head]
        torch.testing.assert_close(found, our_scores(encoder, {head: new}, batch)[head], atol=1e-5, rtol=1e-5)
        if pretrained.system != "gpt1" or head == "classification":  # its class of two heads has no automatic one
            auto = getattr(transformers, TASKS[head])
            assert family.architectures[written.architecture].auto == TASKS[head]
            assert type(auto.from_pretrained(tmp_path / "task")) is type(theirs)
    again, encoder_again, heads_again = open_ours(tmp_path / "task")
    assert again.report.missing == () == again.report.unexpected
    assert heads_again.keys() == old.keys() | {head}
    for name, module in {**old, head: new}.items():
        for (key, one), (_, two) in zip(module.named_parameters(), heads_again[name].named_parameters(), strict=True):
            assert torch.equal(one, two), (name, key)
    for (key, one), (_, two) in zip(encoder.named_parameters(), encoder_again.named_parameters(), strict=True):
        assert torch.equal(one, two), key


def test_every_pretrained_folder_of_others_is_read_whole(pretrained):
    checkpoint = read_folder(pretrained.folder)

    assert checkpoint.report.missing == () == checkpoint.report.unexpected
    if pretrained.system == "spanbert":
        assert checkpoint.heads.keys() == {"mlm", "sbo"} and not checkpoint.config.pooler
    else:
        assert checkpoint.source_class == PRETRAINED[pretrained.system]
        auto = BY_MODEL_TYPE[checkpoint.model_type].architectures[checkpoint.source_class].auto
        loaded = getattr(transformers, auto).from_pretrained(pretrained.folder)
        assert type(loaded).__name__ == checkpoint.source_class
