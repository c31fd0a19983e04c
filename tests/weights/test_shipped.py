"""The weights in the package: whole, small, loaded by name everywhere, and better than random ones."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from transformers import AutoModel, AutoModelForQuestionAnswering

import spanwise
from spanwise.errors import CheckpointError
from spanwise.interop.folder_plan import FolderContent
from spanwise.interop.huggingface import read_folder, write_folder
from spanwise.interop.sources import find_folder
from spanwise.pretraining.system import build_model
from spanwise.quickstart.bundle import open_bundle
from spanwise.recipes import spanbert_nano
from spanwise.runtime.files import sha256_of
from spanwise.runtime.progress import RunLog
from spanwise.studies.probes import Chunks, Context, Material, find_files
from spanwise.tasks.checkpoint import load_task_model
from spanwise.tasks.qa.reader import read_questions
from spanwise.tasks.qa.score import raw_scores
from spanwise.weights import SHIPPED, shipped_folder
from spanwise.weights.learned_from import HEADING, NOT_STATED, learned_by, learned_lines

MOST_BYTES = 16_000_000
RECORDS = Path(__file__).parents[2] / "records"
MADE = {"spanwise-mini": "spanwise-night", "spanwise-nano-ko": "spanwise-nano"}  # whose weights, by which record
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


@pytest.mark.parametrize("name", SHIPPED)
def test_everything_a_folder_learned_from_is_listed_with_source_licence_and_count(name):
    record = read_folder(name).record
    learned = learned_by(record, name)
    with open_bundle("ko" if "-ko" in name else "en") as bundle:
        num_questions = len(read_questions(bundle.qa_train))
    kinds = [("text", learned[0].count), *([("qa", num_questions)] if name.endswith("-qa") else [])]
    assert [(one.what, one.count) for one in learned] == kinds and (learned[0].count or 0) > 20_000_000
    assert all(one.licence.startswith("CC BY") and one.source != NOT_STATED for one in learned)
    card = (shipped_folder(name) / "README.md").read_text(encoding="utf-8")
    assert "\n".join([HEADING, "", *learned_lines(record)]) in card


def test_a_folder_of_that_name_goes_first(tmp_path, monkeypatch):
    (tmp_path / "spanwise-mini").mkdir()
    monkeypatch.chdir(tmp_path)
    assert find_folder("spanwise-mini") == Path("spanwise-mini")


def test_a_name_that_is_nearly_one_is_answered_with_it(monkeypatch):
    import huggingface_hub

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(CheckpointError, match="Did you mean 'spanwise-mini'"):
        find_folder("spanwise-mani")


@pytest.mark.parametrize("name", ["spanwise-mini", "spanwise-nano-ko"])
def test_automodel_and_spanwise_compute_the_same(name):
    ours = spanwise.load(name)
    theirs = AutoModel.from_pretrained(shipped_folder(name), dtype=torch.float32, add_pooling_layer=False)
    ids = torch.tensor([ours.tokenizer.encode_batch([TEXT])[0].ids.tolist()])
    with torch.no_grad():
        expected = theirs.eval()(ids).last_hidden_state
    assert torch.allclose(ours(ids), expected, atol=1e-5)
    heads = AutoModelForQuestionAnswering.from_pretrained(shipped_folder(f"{name}-qa"), output_loading_info=True)
    assert not heads[1]["missing_keys"] and not heads[1]["unexpected_keys"]


def test_question_answering_needs_no_model_to_be_named():
    qa = spanwise.pipeline("question-answering")
    answer = qa(question="When was the bridge built?", context=TEXT)
    assert TEXT[answer["start"] : answer["end"]] == answer["answer"] != ""


def kept(record: str, name: str) -> dict:
    return json.loads((RECORDS / record / name).read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", SHIPPED)
def test_the_record_names_these_very_files(name):
    files = shipped_folder(name).glob("*.safetensors")
    assert kept(MADE[name.removesuffix("-qa")], "shipped.json")[name] == {path.name: sha256_of(path) for path in files}


def test_unseen_questions_are_answered_as_the_record_says_and_better_than_by_random_weights_taught_alike():
    """The control of the record is the same network, taught the same questions from random weights."""
    questions = kept("spanwise-night", "questions-hidden_dropout=0.0.json")
    recorded = next(measure for measure in questions["bundled"] if measure["key"] == "f1")
    with open_bundle() as bundle:
        data = read_questions(bundle.qa_dev)
    loaded = load_task_model(shipped_folder("spanwise-mini-qa"), "qa")
    features = loaded.task.featurize(data, loaded.tokenizer, loaded.model.encoder.config, training=False)
    scores = raw_scores(data, loaded.task.decode(data, features, loaded.model.outputs(features)).best())
    f1 = 100 * sum(scores.f1.values()) / len(data.questions)
    assert len(data.questions) == recorded["num_items"]
    assert f1 == pytest.approx(recorded["values"]["trained"]["value"], abs=0.5)  # bf16 weights, computed in float32
    assert recorded["against_control"]["low"] > 0
    assert f1 > recorded["values"]["control"]["value"] + 1.96 * recorded["values"]["trained"]["se"]


@pytest.mark.slow
def test_chunks_after_100_sentences_are_found_better_than_from_random_weights_taught_alike(data_folder, tmp_path):
    probe, shipped = Chunks(sizes=(100,)), shipped_folder("spanwise-mini")
    tokenizer = spanwise.load("spanwise-mini").tokenizer
    recipe = replace(spanbert_nano(), encoder=replace(spanbert_nano().encoder, num_layers=4))  # as the shipped one
    encoder = build_model(recipe, tokenizer.vocab_size).encoder
    (tmp_path / "random").mkdir()
    write_folder(tmp_path / "random", FolderContent(encoder, {}, tokenizer))
    found = {}
    for column, model in (("shipped", shipped), ("random", tmp_path / "random")):
        material = Material(
            store=None, valid=None, files=find_files(probe, data_folder), cuts=tmp_path / "cuts", max_length=256
        )
        out = tmp_path / column
        context = Context(material=material, model=model, recipe=recipe, seed=0, out=out / "probe", log=RunLog(None))
        found[column] = probe.measure(context)["f1_at_100"]
    assert found["shipped"] > found["random"] + 5
