import copy

import pytest
import torch
from tests.nn.toy import toy_config, toy_encoder
from transformers import BertConfig, BertForMaskedLM

from spanwise.nn.heads.lm import MaskedLMHead
from spanwise.nn.vocabulary_loss import vocabulary_logits


def make_head():
    encoder = toy_encoder()
    return encoder, MaskedLMHead(encoder.config, encoder.word_embedding)


def test_logits_equal_those_of_transformers_with_the_same_weights():
    encoder, head = make_head()
    theirs = BertForMaskedLM(
        BertConfig(vocab_size=99, hidden_size=32, num_hidden_layers=1, num_attention_heads=4, intermediate_size=64)
    ).cls.predictions
    with torch.no_grad():
        theirs.decoder.weight = torch.nn.Parameter(encoder.word_embedding[:99].clone())
        theirs.bias.normal_()
        head.bias[:99] = theirs.decoder.bias = theirs.bias
        head.dense.weight.copy_(theirs.transform.dense.weight)
        head.dense.bias.copy_(theirs.transform.dense.bias)
    rows = torch.randn(5, 32)
    ours = vocabulary_logits(head.transform(rows), head.weight, head.bias, 99)
    torch.testing.assert_close(ours, theirs(rows), atol=1e-5, rtol=1e-5)


def test_the_decoder_is_the_word_embedding_itself_and_no_parameter_of_the_head():
    encoder, head = make_head()
    assert head.weight is encoder.word_embedding
    names = {name for name, _ in head.named_parameters()}
    assert names == {"bias", "dense.weight", "dense.bias", "norm.weight", "norm.bias"}
    assert head.state_dict().keys() == names


@pytest.mark.parametrize("change", ["deepcopy", "to", "load_state_dict", "train"])
def test_the_tie_survives_what_happens_to_models(change):
    encoder, head = make_head()
    model = torch.nn.ModuleDict({"encoder": encoder, "head": head})
    if change == "deepcopy":
        model = copy.deepcopy(model)
    elif change == "to":
        model = model.to(torch.float64)
    elif change == "load_state_dict":
        model.load_state_dict({name: tensor + 1 for name, tensor in model.state_dict().items()})
    else:
        model.train()
    assert model["head"].weight is model["encoder"].word_embedding
    storages = [parameter.data_ptr() for parameter in model.parameters()]
    assert len(set(storages)) == len(storages)


def test_the_bias_has_one_row_a_padded_word_row():
    _, head = make_head()
    assert toy_config().vocab_size == 99 and head.bias.shape == (128,)


def test_with_factorised_embeddings_the_head_ends_in_the_width_of_the_table():
    encoder = toy_encoder(embedding_size=8)
    head = MaskedLMHead(encoder.config, encoder.word_embedding)
    rows = head.transform(torch.randn(5, 32))
    assert rows.shape == (5, 8)
    assert vocabulary_logits(rows, head.weight, head.bias, 99).shape == (5, 99)
