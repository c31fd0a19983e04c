import pytest
import torch
from tests.interop.oracle import ORACLES, make_batch, open_ours, our_scores
from tests.nn.toy import toy_config, toy_encoder
from transformers import OpenAIGPTLMHeadModel

from spanwise.errors import CheckpointError
from spanwise.interop.folder_plan import FolderContent
from spanwise.interop.huggingface import read_folder, write_folder
from spanwise.interop.tables import openai_gpt
from spanwise.nn.sequences import Sequences

SHAPE = {"causal": True, "embedding_norm": False, "num_token_types": 0, "activation": "gelu_tanh"}
SHAPE |= {"intermediate_size": 128, "norm_eps": 1e-5}
NAMES = [name for name in openai_gpt.OPENAI_GPT.architectures if name != "OpenAIGPTModel"]


@pytest.mark.parametrize("name", NAMES)
def test_every_parameter_of_a_stock_class_has_exactly_one_line(name):
    ORACLES["openai_gpt"].assert_lines_are_the_parameters(openai_gpt.OPENAI_GPT, name, toy_config(**SHAPE))


def test_matrices_are_transposed_on_the_way_in_and_out(tmp_path):
    theirs = ORACLES["openai_gpt"].model("OpenAIGPTLMHeadModel")
    theirs.save_pretrained(tmp_path)
    tensors = read_folder(tmp_path).tensors
    fused = theirs.transformer.h[0].attn.c_attn.weight
    assert fused.shape == (32, 96) and torch.equal(tensors["layers.0.attention.qkv.weight"], fused.T)


def test_padding_and_neighbours_do_not_change_logits(tmp_path):
    oracle = ORACLES["openai_gpt"]
    theirs = oracle.model("OpenAIGPTLMHeadModel")
    theirs.save_pretrained(tmp_path)
    _, encoder, heads = open_ours(tmp_path)
    batch = make_batch(oracle)
    packed = our_scores(encoder, heads, batch)["clm"]
    with torch.no_grad():
        alone = torch.cat(
            [theirs(row[mask.bool()][None]).logits[0] for row, mask in zip(batch.ids, batch.mask, strict=True)]
        )
    assert (packed - alone).abs().max() < 1e-5


def test_gradients_through_the_causal_mask_equal_theirs(tmp_path):
    theirs = ORACLES["openai_gpt"].model("OpenAIGPTLMHeadModel")
    theirs.save_pretrained(tmp_path)
    _, encoder, _ = open_ours(tmp_path)
    ids = torch.arange(2, 14)
    weights = torch.randn(12, 32, generator=torch.Generator().manual_seed(1))
    (encoder(ids, torch.zeros_like(ids), Sequences.from_lengths([12])) * weights).sum().backward()
    (theirs.transformer(ids[None]).last_hidden_state[0] * weights).sum().backward()
    grad = theirs.transformer.h[0].attn.c_attn.weight.grad
    torch.testing.assert_close(encoder.layers[0].attention.qkv.weight.grad, grad.T, atol=1e-4, rtol=1e-4)


def test_buffers_of_old_folders_are_neither_used_nor_unexpected(tmp_path):
    theirs = ORACLES["openai_gpt"].model("OpenAIGPTLMHeadModel")
    state = theirs.state_dict() | {f"transformer.h.{i}.attn.bias": torch.ones(1, 1, 40, 40) for i in range(3)}
    theirs.config.save_pretrained(tmp_path)
    torch.save(state, tmp_path / "pytorch_model.bin")
    assert read_folder(tmp_path).report.unexpected == ()


def test_dropouts_that_are_not_one_rate_and_unknown_activations_are_refused(tmp_path):
    oracle = ORACLES["openai_gpt"]
    for changes, named in (({"embd_pdrop": 0.2}, "only one rate"), ({"afn": "silu"}, "afn 'silu'")):
        oracle.model("OpenAIGPTModel", **changes).save_pretrained(tmp_path)
        with pytest.raises(CheckpointError, match=named):
            read_folder(tmp_path)


def test_a_causal_encoder_of_ours_becomes_the_language_model_class(tmp_path):
    encoder = toy_encoder(**SHAPE)
    written = write_folder(tmp_path, FolderContent(encoder, {"clm": {}}))
    assert written.architecture == "OpenAIGPTLMHeadModel" and written.beside == ()
    ids = torch.arange(2, 12)
    with torch.no_grad():
        ours = encoder(ids, torch.zeros_like(ids), Sequences.from_lengths([10])) @ encoder.word_embedding[:99].T
        theirs = OpenAIGPTLMHeadModel.from_pretrained(tmp_path).eval()(ids[None]).logits[0]
    assert (ours - theirs).abs().max() < 1e-4 * theirs.abs().max()
