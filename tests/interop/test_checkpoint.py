from types import SimpleNamespace

import pytest
import torch
from tests.interop.conftest import fresh_head
from tests.nn.toy import toy_config, toy_encoder

from spanwise.errors import CheckpointError
from spanwise.interop.checkpoint import (
    LoadReport,
    build_encoder,
    build_head,
    check_vocabulary,
    fill,
    read_tokenizer,
    real_tensors,
)
from spanwise.interop.folder_plan import FolderContent
from spanwise.interop.huggingface import read_folder, write_folder


def test_dropout_may_change_at_building_and_the_shape_may_not(folder):
    checkpoint = read_folder(folder)
    encoder = build_encoder(checkpoint, toy_config(hidden_dropout=0.3))
    assert encoder.layers[0].attention.residual.dropout == 0.3
    with pytest.raises(CheckpointError, match=r"has shape \[99, 32\]"):
        build_encoder(checkpoint, toy_config(hidden_size=16))
    with pytest.raises(CheckpointError, match="no tensor 'layers"):
        build_encoder(checkpoint, toy_config(num_layers=4))


def test_a_folder_without_tokenizer_has_none_and_a_larger_one_is_refused(folder):
    checkpoint = read_folder(folder)
    assert checkpoint.tokenizer_folder is None and read_tokenizer(checkpoint) is None
    check_vocabulary(checkpoint, SimpleNamespace(vocab_size=99))
    with pytest.raises(CheckpointError, match=r"has 100 tokens and the encoder of .* 99; they do not belong together"):
        check_vocabulary(checkpoint, SimpleNamespace(vocab_size=100))


def test_a_head_that_is_not_there_is_none(folder):
    checkpoint = read_folder(folder)
    assert build_head(checkpoint, "qa", build_encoder(checkpoint)) is None


def test_heads_are_tied_to_the_encoder_they_are_built_for(folder):
    checkpoint = read_folder(folder)
    encoder = build_encoder(checkpoint)
    assert build_head(checkpoint, "sbo", encoder).weight is encoder.word_embedding


def test_padded_rows_are_cut_and_filled_with_zeros():
    encoder = toy_encoder()
    tensors = real_tensors(encoder, 99)
    assert tensors["embeddings.word.weight"].shape == (99, 32)
    other = toy_encoder(seed=8)
    with torch.no_grad():
        other.word_embedding[99:] = 5.0
    fill(other, tensors, "toy")
    assert torch.equal(other.word_embedding, encoder.word_embedding)


def test_a_parameter_without_rows_is_filled():
    module = torch.nn.Module()
    module.scale = torch.nn.Parameter(torch.zeros(()))
    fill(module, {"scale": torch.tensor(3.0)}, "toy")
    assert module.scale.item() == 3.0
    with pytest.raises(CheckpointError, match=r"'scale' has shape \[1\], but \[\] is needed"):
        fill(module, {"scale": torch.ones(1)}, "toy")


def test_the_report_counts_and_names():
    assert str(LoadReport()) == "all tensors found and used"
    text = str(LoadReport(missing=("a", "b", "c", "d"), unexpected=("x",)))
    assert text == "4 tensors missing: a, b, c, ...; 1 tensors not used: x"


def test_a_fresh_head_has_the_form_of_its_family_and_depends_on_its_seed_alone(tmp_path, folder):
    checkpoint = read_folder(folder)
    encoder = build_encoder(checkpoint, toy_config(pooler=True))
    first, second, other = (fresh_head(checkpoint, "classification", encoder, seed, (4,)) for seed in (1, 1, 2))
    assert checkpoint.form_of("classification") == first.form == "pooled" and first.out.weight.shape == (4, 32)
    assert torch.equal(first.out.weight, second.out.weight) and not torch.equal(first.out.weight, other.out.weight)
    roberta = toy_encoder(position_offset=2)
    write_folder(tmp_path / "roberta", FolderContent(roberta, {}))
    assert fresh_head(read_folder(tmp_path / "roberta"), "classification", roberta, 1, (4,)).form == "tanh"
