import dataclasses
import hashlib
import json
import shutil

import pytest
import torch
from safetensors.torch import load_file
from tests.interop.conftest import make_heads
from tests.nn.toy import toy_encoder
from transformers import (
    AutoModel,
    AutoModelForMaskedLM,
    AutoModelForPreTraining,
    AutoModelForQuestionAnswering,
    BertConfig,
    BertForMaskedLM,
    BertForPreTraining,
    BertForQuestionAnswering,
    BertForTokenClassification,
    BertModel,
)

from spanwise.errors import CheckpointError, ConfigError
from spanwise.interop.checkpoint import build_encoder, build_head
from spanwise.interop.folder_plan import FolderContent
from spanwise.interop.huggingface import read_folder, write_folder
from spanwise.nn.heads.sequence import SequenceHead
from spanwise.nn.heads.token import TokenClassificationHead
from spanwise.nn.sequences import Sequences

IDS = torch.tensor([3, 14, 15, 92, 65, 35, 89, 7])


def hidden_of(encoder):
    with torch.no_grad():
        return encoder(IDS, torch.zeros_like(IDS), Sequences.from_lengths([8]))


@pytest.mark.parametrize(
    ("architecture", "auto", "head_names", "pooler"),
    [
        ("BertForMaskedLM", AutoModelForMaskedLM, ["mlm", "sbo"], False),
        ("BertForPreTraining", AutoModelForPreTraining, ["mlm", "nsp", "sbo"], True),
        ("BertForQuestionAnswering", AutoModelForQuestionAnswering, ["mlm", "sbo", "qa"], False),
        ("BertForQuestionAnswering", AutoModelForQuestionAnswering, ["mlm", "qa", "nsp"], True),
        ("BertModel", AutoModel, ["sbo"], True),
    ],
)
def test_the_named_class_loads_with_nothing_missing_and_nothing_unexpected(
    tmp_path, architecture, auto, head_names, pooler
):
    encoder = toy_encoder(pooler=pooler)
    write_folder(tmp_path, FolderContent(encoder, make_heads(encoder, *head_names)))
    model, info = auto.from_pretrained(tmp_path, output_loading_info=True)
    assert type(model).__name__ == architecture
    assert json.loads((tmp_path / "config.json").read_text())["architectures"] == [architecture]
    assert not info["missing_keys"] and not info["unexpected_keys"] and not info["mismatched_keys"]
    model.save_pretrained(tmp_path / "again")
    assert (
        load_file(tmp_path / "model.safetensors").keys() == load_file(tmp_path / "again" / "model.safetensors").keys()
    )

    theirs = AutoModel.from_pretrained(tmp_path).eval()(IDS[None]).last_hidden_state[0]
    assert (hidden_of(encoder) - theirs).abs().max() < 1e-5


def test_what_was_written_is_read_back_bit_for_bit_with_all_heads(tmp_path):
    encoder = toy_encoder(pooler=True)
    heads = make_heads(encoder, "mlm", "sbo", "qa", "nsp")
    write_folder(tmp_path, FolderContent(encoder, heads, extra={"labels": ["a", "b"]}))
    checkpoint = read_folder(tmp_path)
    again = build_encoder(checkpoint)
    for (name, mine), (_, theirs) in zip(encoder.named_parameters(), again.named_parameters(), strict=True):
        assert torch.equal(mine, theirs), name
    for name, head in heads.items():
        rebuilt = build_head(checkpoint, name, again)
        for (key, mine), (_, theirs) in zip(head.named_parameters(), rebuilt.named_parameters(), strict=True):
            assert torch.equal(mine, theirs), f"{name} {key}"
    assert checkpoint.config == encoder.config and checkpoint.source_class == "BertForQuestionAnswering"
    assert checkpoint.report.missing == () and checkpoint.report.unexpected == ()
    assert checkpoint.record["labels"] == ["a", "b"]


def test_heads_may_be_passed_on_as_tensors(tmp_path, encoder, folder):
    first = read_folder(folder)
    write_folder(tmp_path / "next", FolderContent(encoder, {**first.heads, **make_heads(encoder, "qa")}))
    second = read_folder(tmp_path / "next")
    assert second.heads.keys() == {"mlm", "sbo", "qa"}
    for name in ("mlm", "sbo"):
        for key, tensor in first.heads[name].items():
            assert torch.equal(tensor, second.heads[name][key])


def test_files_hold_the_real_vocabulary_rows_and_no_tensor_twice(folder):
    tensors = load_file(folder / "model.safetensors")
    assert tensors["bert.embeddings.word_embeddings.weight"].shape == (99, 32)
    assert tensors["cls.predictions.bias"].shape == (99,)
    heads = load_file(folder / "heads.safetensors")
    assert not any("decoder" in name for name in (*tensors, *heads))
    assert heads["cls.pair_target_predictions.mlp_layer_norm.layer_norm1.gamma"].shape == (32,)
    record = json.loads((folder / "spanwise.json").read_text())
    assert record["heads"] == {"mlm": "model.safetensors", "sbo": "heads.safetensors"}
    for name, entry in record["tensor_files"].items():
        assert entry["sha256"] == hashlib.sha256((folder / name).read_bytes()).hexdigest()


@pytest.mark.parametrize("cls", [BertModel, BertForMaskedLM, BertForPreTraining, BertForQuestionAnswering])
def test_folders_of_transformers_are_read_and_give_their_hidden_states(tmp_path, cls):
    torch.manual_seed(0)
    theirs = cls(
        BertConfig(
            vocab_size=99,
            hidden_size=32,
            num_hidden_layers=2,
            num_attention_heads=4,
            intermediate_size=64,
            initializer_range=0.3,
        )
    ).eval()
    theirs.save_pretrained(tmp_path)
    checkpoint = read_folder(tmp_path)
    assert checkpoint.report.missing == () and checkpoint.report.unexpected == ()
    expected = theirs.base_model(IDS[None]).last_hidden_state[0]
    assert (hidden_of(build_encoder(checkpoint).eval()) - expected).abs().max() < 1e-5
    assert checkpoint.config.pooler == (cls in (BertModel, BertForPreTraining))


def test_missing_heads_and_unused_tensors_are_reported(foreign):
    def change(tensors):
        kept = {name: tensor for name, tensor in tensors.items() if not name.startswith("cls.")}
        return kept | {"classifier.weight": torch.zeros(2, 32)}

    checkpoint = read_folder(foreign(change))
    assert checkpoint.report.unexpected == ("classifier.weight",)
    assert "cls.predictions.transform.dense.weight" in checkpoint.report.missing
    assert "5 tensors missing" in str(checkpoint.report) and "classifier.weight" in str(checkpoint.report)
    assert checkpoint.heads == {}


def old_names(tensors):
    renames = {"LayerNorm.weight": "LayerNorm.gamma", "LayerNorm.bias": "LayerNorm.beta"}
    named = {}
    for name, tensor in tensors.items():
        for new, old in renames.items():
            name = name.replace(new, old)
        named[name] = tensor
    return named


@pytest.mark.parametrize("pickled", [False, True])
@pytest.mark.parametrize("prefix", ["with", "without"])
def test_old_folders_with_gamma_beta_and_no_model_type_are_read(foreign, encoder, prefix, pickled):
    def change(tensors):
        named = old_names(tensors)
        return named if prefix == "with" else {name.removeprefix("bert."): tensor for name, tensor in named.items()}

    path = foreign(change, {"model_type": None, "architectures": None}, pickled=pickled)
    assert torch.equal(hidden_of(build_encoder(read_folder(path)).eval()), hidden_of(encoder))


def test_a_checkpoint_with_the_originals_names_reproduces_its_span_boundary_forward(tmp_path, foreign, encoder):
    generator = torch.Generator().manual_seed(4)
    shapes = {
        "position_embeddings.weight": (15, 200),
        "mlp_layer_norm.linear1.weight": (32, 264),
        "mlp_layer_norm.linear1.bias": (32,),
        "mlp_layer_norm.layer_norm1.gamma": (32,),
        "mlp_layer_norm.layer_norm1.beta": (32,),
        "mlp_layer_norm.linear2.weight": (32, 32),
        "mlp_layer_norm.linear2.bias": (32,),
        "mlp_layer_norm.layer_norm2.gamma": (32,),
        "mlp_layer_norm.layer_norm2.beta": (32,),
        "bias": (99,),
    }
    sbo = {name: torch.randn(shape, generator=generator) for name, shape in shapes.items()}
    word = encoder.word_embedding.detach()[:99].clone()

    def change(tensors):
        tensors = old_names(tensors)
        tensors |= {f"cls.pair_target_predictions.{name}": tensor for name, tensor in sbo.items()}
        tensors["cls.pair_target_predictions.decoder.weight"] = word.clone()
        tensors["cls.predictions.decoder.weight"] = word.clone()
        return {f"decoder.{name}": tensor for name, tensor in tensors.items()}

    checkpoint = read_folder(foreign(change, {"model_type": None}, pickled=True))
    assert checkpoint.report.unexpected == ()
    head = build_head(checkpoint, "sbo", build_encoder(checkpoint))
    left, right = torch.randn(6, 32, generator=generator), torch.randn(6, 32, generator=generator)
    index = torch.tensor([0, 1, 14, 3, 3, 7])

    x = torch.cat((left, right, sbo["position_embeddings.weight"][index]), -1)
    for n in (1, 2):
        x = x @ sbo[f"mlp_layer_norm.linear{n}.weight"].T + sbo[f"mlp_layer_norm.linear{n}.bias"]
        x = x * 0.5 * (1 + torch.erf(x / 2**0.5))
        x = (x - x.mean(-1, keepdim=True)) / (x.var(-1, unbiased=False, keepdim=True) + 1e-12).sqrt()
        x = x * sbo[f"mlp_layer_norm.layer_norm{n}.gamma"] + sbo[f"mlp_layer_norm.layer_norm{n}.beta"]
    logits = x @ word.T + sbo["bias"]
    ours = head.transform(left, right, index) @ head.weight[:99].T + head.bias[:99]
    torch.testing.assert_close(ours, logits, atol=1e-5, rtol=1e-5)


def test_sharded_weights_are_read(tmp_path, encoder):
    theirs = BertForMaskedLM(
        BertConfig(vocab_size=99, hidden_size=32, num_hidden_layers=3, num_attention_heads=4, intermediate_size=64)
    )
    theirs.save_pretrained(tmp_path, max_shard_size="20KB")
    assert (tmp_path / "model.safetensors.index.json").exists()
    expected = theirs.eval().bert(IDS[None]).last_hidden_state[0]
    assert (hidden_of(build_encoder(read_folder(tmp_path)).eval()) - expected).abs().max() < 1e-5


@pytest.mark.parametrize("name", ["model.safetensors", "heads.safetensors"])
def test_any_flipped_bit_of_a_weight_file_is_found_and_the_file_named(folder, name):
    path = folder / name
    content = bytearray(path.read_bytes())
    for place in (9, len(content) // 2, len(content) - 1):
        content[place] ^= 0x10
        path.write_bytes(content)
        with pytest.raises(CheckpointError, match=f"{name} is damaged"):
            read_folder(folder)
        content[place] ^= 0x10
    path.write_bytes(content)
    read_folder(folder)


def test_a_missing_or_a_strange_weight_file_beside_the_record_is_found(folder):
    shutil.move(folder / "heads.safetensors", folder / "aside")
    with pytest.raises(CheckpointError, match=r"heads.safetensors is missing"):
        read_folder(folder)
    shutil.move(folder / "aside", folder / "heads.safetensors")
    record = json.loads((folder / "spanwise.json").read_text())
    del record["tensor_files"]["heads.safetensors"]
    (folder / "spanwise.json").write_text(json.dumps(record))
    with pytest.raises(CheckpointError, match="not listed"):
        read_folder(folder)
    (folder / "spanwise.json").write_text(json.dumps(record | {"format_version": 99}))
    with pytest.raises(CheckpointError, match="format_version 99"):
        read_folder(folder)


def test_heads_that_do_not_fit_are_refused(tmp_path, encoder, heads):
    with pytest.raises(
        ConfigError, match=r"the head 'mlm' has the tensors .*positions.weight, but .*masked language model"
    ):
        write_folder(tmp_path, FolderContent(encoder, {"mlm": heads["sbo"]}))


def test_the_tokenizer_is_saved_beside_and_its_padding_id_recorded(tmp_path, encoder):
    class OneFile:
        pad_id = 7

        def save(self, folder):
            (folder / "vocab.txt").write_text("[PAD]\n")

    write_folder(tmp_path, FolderContent(encoder, {}, OneFile()))
    assert json.loads((tmp_path / "config.json").read_text())["pad_token_id"] == 7
    assert read_folder(tmp_path).tokenizer_folder == tmp_path


@pytest.mark.parametrize(("length", "expected"), [(512, 40), (12, 12), (None, 40), (10**30, 40)])
def test_a_tokenizer_never_leaves_more_tokens_than_there_are_positions(tmp_path, encoder, length, expected):
    class WithLength:
        pad_id = 0

        def save(self, folder):
            settings = {"do_lower_case": False} | ({"model_max_length": length} if length is not None else {})
            (folder / "tokenizer_config.json").write_text(json.dumps(settings))

    write_folder(tmp_path, FolderContent(encoder, {}, WithLength()))

    assert json.loads((tmp_path / "tokenizer_config.json").read_text()) == {
        "do_lower_case": False,
        "model_max_length": expected,
    }


@pytest.mark.parametrize("name", ["tokenizer.json", "vocab.txt", "vocab.json", "spiece.model"])
def test_a_tokenizer_of_any_age_is_found_beside_the_weights(tmp_path, encoder, name):
    write_folder(tmp_path, FolderContent(encoder, {}))
    assert read_folder(tmp_path).tokenizer_folder is None
    (tmp_path / name).write_text("")
    assert read_folder(tmp_path).tokenizer_folder == tmp_path


def test_an_encoder_without_token_types_is_written_with_a_row_of_zeros_and_comes_back_without(tmp_path):
    encoder = toy_encoder(num_token_types=0)
    write_folder(tmp_path, FolderContent(encoder, make_heads(encoder, "mlm")))
    theirs, info = BertForMaskedLM.from_pretrained(tmp_path, output_loading_info=True)
    assert not info["missing_keys"] and not info["unexpected_keys"] and theirs.config.type_vocab_size == 1
    assert (hidden_of(encoder) - theirs.eval().bert(IDS[None]).last_hidden_state[0]).abs().max() < 1e-5
    checkpoint = read_folder(tmp_path)
    assert checkpoint.config == encoder.config and checkpoint.report.unexpected == ()
    assert torch.equal(hidden_of(build_encoder(checkpoint).eval()), hidden_of(encoder))


def test_a_causal_encoder_of_berts_shape_is_its_decoder(tmp_path):
    encoder = toy_encoder(causal=True)
    write_folder(tmp_path, FolderContent(encoder, make_heads(encoder, "mlm")))
    theirs = AutoModel.from_pretrained(tmp_path).eval()
    assert theirs.config.is_decoder
    assert (hidden_of(encoder) - theirs(IDS[None]).last_hidden_state[0]).abs().max() < 1e-5
    assert read_folder(tmp_path).config.causal


def test_labels_are_written_and_read_and_number_the_scores(tmp_path):
    encoder = toy_encoder()
    head = TokenClassificationHead(encoder.config, 3)
    write_folder(tmp_path / "named", FolderContent(encoder, {"tagging": head}, labels=["O", "B-이름", "I-이름"]))
    write_folder(tmp_path / "plain", FolderContent(encoder, {"tagging": head}))
    model = BertForTokenClassification.from_pretrained(tmp_path / "named")
    assert model.config.id2label == {0: "O", 1: "B-이름", 2: "I-이름"} and model.classifier.weight.shape == (3, 32)
    assert read_folder(tmp_path / "named").labels == ("O", "B-이름", "I-이름")
    assert read_folder(tmp_path / "plain").labels == ("LABEL_0", "LABEL_1", "LABEL_2")
    write_folder(tmp_path / "none", FolderContent(encoder, make_heads(encoder, "mlm")))
    assert read_folder(tmp_path / "none").labels == ()


def test_a_pooler_that_is_asked_for_and_not_there_starts_fresh_and_is_said(folder, caplog):
    checkpoint = read_folder(folder)
    config = dataclasses.replace(checkpoint.config, pooler=True)
    first, second, other = (build_encoder(checkpoint, config, seed) for seed in (3, 3, 4))
    assert "has no pooler; it starts fresh" in caplog.text
    assert torch.equal(first.pooler.dense.weight, second.pooler.dense.weight)
    assert not torch.equal(first.pooler.dense.weight, other.pooler.dense.weight)
    assert torch.equal(hidden_of(first.eval()), hidden_of(build_encoder(checkpoint).eval()))


def test_the_form_of_a_head_that_its_family_has_not_is_remembered(tmp_path):
    encoder = toy_encoder()
    head = SequenceHead(encoder.config, 3, "gelu")
    heads = {**make_heads(encoder, "mlm"), "classification": head}
    written = write_folder(tmp_path, FolderContent(encoder, heads, main_head="mlm", model_type="bert"))
    assert (written.architecture, written.beside) == ("BertForMaskedLM", ("classification",))
    checkpoint = read_folder(tmp_path)
    again = build_head(checkpoint, "classification", build_encoder(checkpoint))
    assert again.form == "gelu" and torch.equal(again.dense.weight, head.dense.weight)
