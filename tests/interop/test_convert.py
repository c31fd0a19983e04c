import json
import pickle
import warnings

import pytest
import torch
from safetensors.torch import load_file
from tests.interop.conftest import make_heads
from tests.interop.oracle import ORACLES, load_theirs
from tests.nn.toy import toy_encoder
from transformers import AutoModel, AutoTokenizer

from spanwise.errors import CheckpointError, ConfigError
from spanwise.interop.checkpoint import build_encoder
from spanwise.interop.convert import convert, rewrite
from spanwise.interop.folder_plan import FolderContent
from spanwise.interop.huggingface import read_folder, write_folder

PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "US", "us", "Denver", "##ver", "den"]


@pytest.fixture
def archive(tmp_path, foreign):
    """What the SpanBERT authors give: gamma and beta, no model_type, a pickle of tensors, a bare cased vocabulary."""

    def old(tensors):
        return {
            f"decoder.{name}".replace("LayerNorm.weight", "LayerNorm.gamma").replace(
                "LayerNorm.bias", "LayerNorm.beta"
            ): t
            for name, t in tensors.items()
        } | {"extra.weight": torch.zeros(1)}

    path = foreign(old, {"model_type": None, "architectures": None}, pickled=True)
    pieces = PIECES + [f"word{i}" for i in range(99 - len(PIECES))]
    (path / "vocab.txt").write_text("\n".join(pieces) + "\n")
    return path


def test_an_archive_of_the_authors_becomes_a_folder_that_every_loader_reads_and_case_is_kept(
    tmp_path, archive, encoder
):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        converted = convert(archive, tmp_path / "plain")
    assert converted.checkpoint.report.unexpected == ("decoder.extra.weight",) or "extra.weight" in str(
        converted.checkpoint.report
    )
    assert converted.written.architecture == "BertForMaskedLM"
    load_theirs(tmp_path / "plain")
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "plain")
    assert tokenizer.tokenize("US us Denver") == ["US", "us", "Denver"]
    assert json.loads((tmp_path / "plain" / "tokenizer_config.json").read_text())["do_lower_case"] is False
    ids = torch.tensor([[2, 5, 7, 3]])
    with torch.no_grad():
        theirs = AutoModel.from_pretrained(tmp_path / "plain").eval()(ids).last_hidden_state
    again = build_encoder(read_folder(tmp_path / "plain")).eval()
    for (_, one), (_, two) in zip(encoder.named_parameters(), again.named_parameters(), strict=True):
        assert torch.equal(one, two)
    assert theirs.shape == (1, 4, 32)


def test_a_lower_casing_configuration_beside_a_cased_vocabulary_is_repaired(tmp_path, archive):
    (archive / "tokenizer_config.json").write_text(json.dumps({"do_lower_case": True}))
    with pytest.warns(UserWarning, match="Case is kept"):
        convert(archive, tmp_path / "plain")
    assert AutoTokenizer.from_pretrained(tmp_path / "plain").tokenize("US") == ["US"]


@pytest.mark.parametrize("key", ORACLES)
def test_a_class_stays_what_it_was_and_all_heads_come_along(tmp_path, key):
    names = {"bert": "BertForPreTraining", "roberta": "RobertaForTokenClassification", "albert": "AlbertForPreTraining"}
    names |= {"electra": "ElectraForMultipleChoice", "openai_gpt": "OpenAIGPTDoubleHeadsModel"}
    names |= {"xlm_roberta": "XLMRobertaForQuestionAnswering", "modernbert": "ModernBertForTokenClassification"}
    names |= {"splinter": "SplinterForPreTraining"}
    ORACLES[key].model(names[key]).save_pretrained(tmp_path / "theirs", max_shard_size="20KB")
    converted = convert(tmp_path / "theirs", tmp_path / "plain")
    assert converted.written.architecture == names[key] and converted.tokenizer is None
    first, second = read_folder(tmp_path / "theirs"), read_folder(tmp_path / "plain")
    assert first.heads.keys() == second.heads.keys() and first.config == second.config
    assert load_file(tmp_path / "plain" / "model.safetensors")
    load_theirs(tmp_path / "plain")


@pytest.mark.parametrize(
    ("kind", "labels"), [("multi_label_classification", ["a", "b"]), ("regression", ["score"]), (None, ["a", "b"])]
)
def test_what_kind_of_labels_a_classifier_has_is_read_and_kept(tmp_path, kind, labels):
    ORACLES["bert"].model("BertForSequenceClassification", num_labels=len(labels)).save_pretrained(tmp_path / "theirs")
    place = tmp_path / "theirs" / "config.json"
    settings = json.loads(place.read_text())
    named = {str(number): name for number, name in enumerate(labels)}
    place.write_text(json.dumps(settings | {"id2label": named} | ({"problem_type": kind} if kind else {})))
    convert(tmp_path / "theirs", tmp_path / "plain")
    assert read_folder(tmp_path / "plain").problem_type == kind
    assert load_theirs(tmp_path / "plain").config.problem_type == kind


def test_our_record_comes_along_and_what_describes_the_folder_is_written_anew(tmp_path):
    encoder = toy_encoder(pooler=True, sharing="attention")
    write_folder(
        tmp_path / "a", FolderContent(encoder, make_heads(encoder, "mlm", "qa", "sbo"), extra={"task": {"x": 1}})
    )
    convert(tmp_path / "a", tmp_path / "b")
    first, second = read_folder(tmp_path / "a"), read_folder(tmp_path / "b")
    assert second.record == first.record and second.config.sharing == "attention"


def test_a_generator_inside_is_converted_too(tmp_path):
    ORACLES["electra"].model("ElectraForPreTraining").save_pretrained(tmp_path / "theirs")
    ORACLES["electra"].model("ElectraForMaskedLM").save_pretrained(tmp_path / "theirs" / "generator")
    converted = convert(tmp_path / "theirs", tmp_path / "plain")
    assert converted.generator.written.architecture == "ElectraForMaskedLM"
    load_theirs(tmp_path / "plain")
    load_theirs(tmp_path / "plain" / "generator")


class Evil:
    def __reduce__(self):
        return (print, ("this must never run",))


def test_a_pickle_with_code_in_it_is_refused_and_says_why(tmp_path, archive, capsys):
    (archive / "pytorch_model.bin").write_bytes(pickle.dumps({"a": Evil()}))
    with pytest.raises(CheckpointError, match="a pickle may hold tensors alone"):
        convert(archive, tmp_path / "plain")
    assert "this must never run" not in capsys.readouterr().out and not (tmp_path / "plain").exists()


def test_a_target_inside_the_source_and_a_foreign_tokenizer_are_refused(tmp_path, archive):
    with pytest.raises(ConfigError, match="lies in the folder that is read"):
        convert(archive, archive / "plain")
    other = tmp_path / "tokenizer"
    other.mkdir()
    (other / "vocab.txt").write_text("\n".join(PIECES + [f"word{i}" for i in range(200)]) + "\n")
    with pytest.raises(CheckpointError, match=r"210 tokens and the encoder of .* 99; .*own tokenizer"):
        convert(archive, tmp_path / "plain", other)
    assert not (tmp_path / "plain").exists()


def test_bf16_files_are_half_as_large_and_hold_every_number_rounded(tmp_path, encoder):
    write_folder(tmp_path / "full", FolderContent(encoder, make_heads(encoder, "mlm", "sbo")))
    convert(tmp_path / "full", tmp_path / "half", dtype="bf16")
    for name in ("model.safetensors", "heads.safetensors"):
        full, half = load_file(tmp_path / "full" / name), load_file(tmp_path / "half" / name)
        assert full.keys() == half.keys()
        assert {tensor.dtype for tensor in half.values()} == {torch.bfloat16}
        assert all(torch.equal(half[key], full[key].to(torch.bfloat16)) for key in full)
    assert json.loads((tmp_path / "half" / "config.json").read_text())["dtype"] == "bfloat16"
    assert AutoModel.from_pretrained(tmp_path / "half").dtype == torch.bfloat16
    cards = {name: (tmp_path / name / "README.md").read_text(encoding="utf-8") for name in ("full", "half")}
    assert 'from_pretrained("path/to/this/folder", dtype="float32")' in cards["half"] and "dtype" not in cards["full"]
    ours = build_encoder(read_folder(tmp_path / "half")).state_dict()
    assert {tensor.dtype for tensor in ours.values()} == {torch.float32}


def test_a_model_that_was_read_is_written_again_with_facts_for_its_card(tmp_path, encoder):
    write_folder(tmp_path / "given", FolderContent(encoder, make_heads(encoder, "mlm", "sbo")))
    checkpoint = read_folder(tmp_path / "given")
    (tmp_path / "again").mkdir()
    rewrite(checkpoint, tmp_path / "again", facts=["It is as it came."], extra={"adaptation": {"start": "given"}})
    again = read_folder(tmp_path / "again")
    assert all(torch.equal(again.tensors[name], tensor) for name, tensor in checkpoint.tensors.items())
    assert again.heads.keys() == checkpoint.heads.keys() and again.record["adaptation"] == {"start": "given"}
    assert "It is as it came." in (tmp_path / "again" / "README.md").read_text()
