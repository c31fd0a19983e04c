"""The weights in the package: whole, small, loaded by name everywhere, and better than random ones."""

import json
from pathlib import Path

import pytest
import torch
from transformers import AutoModel, AutoModelForQuestionAnswering

import spanwise
from spanwise.errors import CheckpointError
from spanwise.interop.huggingface import read_folder, write_folder
from spanwise.interop.sources import find_folder
from spanwise.pretraining.system import build_model
from spanwise.quickstart.bundle import open_bundle
from spanwise.quickstart.questions import score_columns, subset
from spanwise.recipes import spanbert_nano
from spanwise.tasks.qa.reader import read_squad
from spanwise.weights import SHIPPED, shipped_folder

MOST_BYTES = 16_000_000
TEXT = "The bridge over the river was built in 1890 by the city of Boston ."


@pytest.mark.parametrize("name", SHIPPED)
def test_a_name_is_a_folder_whose_hash_is_checked(name, tmp_path):
    folder = shipped_folder(name)
    assert find_folder(name) == folder
    checkpoint = read_folder(name)
    assert checkpoint.report.missing == () and checkpoint.report.unexpected == ()
    assert {"mlm", "sbo"} <= set(checkpoint.heads)
    assert all(path.stat().st_size < MOST_BYTES for path in folder.iterdir())
    for path in folder.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    damaged = bytearray((tmp_path / "model.safetensors").read_bytes())
    damaged[-1] ^= 1
    (tmp_path / "model.safetensors").write_bytes(damaged)
    with pytest.raises(CheckpointError, match="is damaged"):
        read_folder(tmp_path)


@pytest.mark.parametrize("name", SHIPPED)
def test_nothing_in_the_folder_names_a_machine_and_the_card_names_the_licence(name):
    folder = shipped_folder(name)
    for path in folder.glob("*.json"):
        text = path.read_text(encoding="utf-8")
        assert "/root" not in text and "/tmp" not in text and "/work" not in text
    card = (folder / "README.md").read_text(encoding="utf-8")
    assert "cc-by-sa" in card and "Wikipedia" in card
    assert json.loads((folder / "config.json").read_text())["dtype"] == "bfloat16"


def test_a_folder_of_that_name_goes_first(tmp_path, monkeypatch):
    (tmp_path / "spanwise-nano").mkdir()
    monkeypatch.chdir(tmp_path)
    assert find_folder("spanwise-nano") == Path("spanwise-nano")


def test_a_name_that_is_nearly_one_is_answered_with_it(monkeypatch):
    import huggingface_hub

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(CheckpointError, match="Did you mean 'spanwise-nano'"):
        find_folder("spanwise-nono")


def test_automodel_and_spanwise_compute_the_same():
    ours = spanwise.load("spanwise-nano")
    theirs = AutoModel.from_pretrained(shipped_folder("spanwise-nano"), dtype=torch.float32, add_pooling_layer=False)
    ids = torch.tensor([ours.tokenizer.encode_batch([TEXT])[0].ids.tolist()])
    with torch.no_grad():
        expected = theirs.eval()(ids).last_hidden_state
    assert torch.allclose(ours(ids), expected, atol=1e-5)
    heads = AutoModelForQuestionAnswering.from_pretrained(shipped_folder("spanwise-nano-qa"), output_loading_info=True)
    assert not heads[1]["missing_keys"] and not heads[1]["unexpected_keys"]


def test_question_answering_needs_no_model_to_be_named():
    qa = spanwise.pipeline("question-answering")
    answer = qa(question="When was the bridge built?", context=TEXT)
    assert TEXT[answer["start"] : answer["end"]] == answer["answer"] != ""


@pytest.fixture(scope="module")
def random_qa(tmp_path_factory):
    """The network of the shipped one with random weights, head included."""
    folder = tmp_path_factory.mktemp("random") / "qa"
    shipped = read_folder("spanwise-nano-qa")
    model = build_model(spanbert_nano(), shipped.config.vocab_size)
    head = {name: torch.randn_like(tensor) * 0.02 for name, tensor in shipped.heads["qa"].items()}
    write_folder(folder, model.encoder, {"qa": head}, spanwise.load("spanwise-nano").tokenizer, main_head="qa")
    return folder


def test_unseen_questions_are_answered_better_than_by_random_weights(random_qa):
    with open_bundle() as bundle:
        data = subset(read_squad(bundle.qa_dev), 200)
    scored = score_columns({"trained": shipped_folder("spanwise-nano-qa"), "control": random_qa}, data, seconds=60.0)
    f1 = next(measure for measure in scored.measures if measure["key"] == "f1")
    assert f1["against_control"]["low"] > 0
