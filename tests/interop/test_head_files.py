import pytest
import torch
from safetensors.torch import load_file
from tests.interop.conftest import make_heads
from tests.interop.oracle import load_theirs, open_ours
from tests.nn.toy import toy_encoder
from transformers import BertForMaskedLM

from spanwise.errors import ConfigError
from spanwise.interop.checkpoint import LoadReport, build_head
from spanwise.interop.folder_plan import FolderContent
from spanwise.interop.heads import KINDS, make_head
from spanwise.interop.huggingface import read_folder, write_folder
from spanwise.interop.record import descriptions_of_heads
from spanwise.nn.init import initialize


def every_head(encoder):
    """`qa` with its classifier, which lies in folders as `answerable`."""
    sizes = {"sbo": (6, 10), "classification": (3,), "tagging": (5,), "coref": (6, 4, 5, 2, 3, 1), "qa": (0, 1)}
    heads = {name: make_head(name, encoder, sizes.get(name, ())) for name in KINDS if name != "answerable"}
    for name, head in heads.items():
        initialize(head, encoder.config, seed=5, prefix=name)
    return heads


def test_all_heads_at_once_come_back_bit_for_bit_though_some_share_their_stock_names(tmp_path):
    encoder = toy_encoder(pooler=True)
    heads = every_head(encoder)
    written = write_folder(tmp_path, FolderContent(encoder, heads, main_head="tagging"))
    assert written.architecture == "BertForTokenClassification"
    load_theirs(tmp_path)
    _, _, again = open_ours(tmp_path)
    assert again.keys() == heads.keys()
    for name, head in heads.items():
        for (one, mine), (other, theirs) in zip(head.named_parameters(), again[name].named_parameters(), strict=True):
            assert one == other and torch.equal(mine, theirs), name
    names = load_file(tmp_path / "heads.safetensors").keys()
    assert {"classification.out.weight", "multiple_choice.out.weight", "rtd.dense.weight", "qa_outputs.weight"} <= names
    assert "classifier.weight" in load_file(tmp_path / "model.safetensors")


def test_a_pooler_survives_a_class_that_has_none(tmp_path):
    encoder = toy_encoder(pooler=True)
    written = write_folder(tmp_path, FolderContent(encoder, make_heads(encoder, "mlm")))
    assert written.architecture == "BertForMaskedLM" and written.beside == ("pooler",)
    assert "no place for pooler" in written.notes[0] and "no place for pooler" in (tmp_path / "README.md").read_text()
    _, info = BertForMaskedLM.from_pretrained(tmp_path, output_loading_info=True)
    assert not info["missing_keys"] and not info["unexpected_keys"]
    checkpoint, again, _ = open_ours(tmp_path)
    assert checkpoint.config.pooler and checkpoint.record["heads"]["pooler"] == "heads.safetensors"
    assert torch.equal(again.pooler.dense.weight, encoder.pooler.dense.weight)


def test_a_pooler_survives_a_family_that_has_none(tmp_path):
    encoder = toy_encoder(pooler=True, embedding_size=8)
    written = write_folder(
        tmp_path, FolderContent(encoder, heads := make_heads(encoder, "nsp", "sbo"), model_type="electra")
    )
    assert written.model_type == "electra" and written.beside == ("nsp", "pooler", "sbo")
    _, again, rebuilt = open_ours(tmp_path)
    assert torch.equal(again.pooler.dense.bias, encoder.pooler.dense.bias) and rebuilt.keys() == {"nsp", "sbo"}
    left, right, index = torch.randn(2, 32), torch.randn(2, 32), torch.tensor([0, 5])
    assert torch.equal(rebuilt["sbo"].transform(left, right, index), heads["sbo"].transform(left, right, index))


def test_classifiers_of_a_folder_that_names_no_class_are_reported_and_not_guessed(tmp_path):
    encoder = toy_encoder(pooler=True)
    heads = {name: head for name, head in every_head(encoder).items() if name == "tagging"}
    write_folder(tmp_path / "ours", FolderContent(encoder, heads))
    (tmp_path / "ours" / "spanwise.json").unlink()
    config = (tmp_path / "ours" / "config.json").read_text()
    (tmp_path / "ours" / "config.json").write_text(config.replace("BertForTokenClassification", "MyOwnClass"))
    checkpoint = read_folder(tmp_path / "ours")
    assert checkpoint.heads == {} and set(checkpoint.report.unexpected) == {"classifier.weight", "classifier.bias"}


def test_a_head_of_a_users_own_survives_reading_writing_and_being_read_again(tmp_path, folder):
    encoder = toy_encoder()
    heads = {**make_heads(encoder, "mlm", "sbo"), "length": torch.nn.Linear(32, 7), "bare": torch.nn.Identity()}
    write_folder(tmp_path / "first", FolderContent(encoder, heads))
    assert "length of" not in (card := (tmp_path / "first" / "README.md").read_text()) and "length" in card
    first = read_folder(tmp_path / "first")
    assert first.heads["length"].keys() == {"weight", "bias"} and first.heads["bare"] == {}
    assert first.report == LoadReport()
    write_folder(tmp_path / "second", FolderContent(encoder, first.heads, extra=descriptions_of_heads(first.record)))
    second = read_folder(tmp_path / "second")
    assert torch.equal(second.heads["length"]["weight"], heads["length"].weight)
    assert second.record["own_heads"] == first.record["own_heads"]
    with pytest.raises(ConfigError, match=r"there is no head 'length'.*A head of your own is built by its objective"):
        build_head(second, "length", encoder)
