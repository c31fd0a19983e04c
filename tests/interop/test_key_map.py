import torch
from tests.nn.toy import toy_config, toy_encoder

from spanwise.interop.tables import bert

KEY_MAP = bert.BERT.key_map(toy_config(num_layers=2), {})


def test_translation_there_and_back_is_the_identity():
    encoder = toy_encoder(num_layers=2, pooler=True)
    ours = {name: parameter.detach() for name, parameter in encoder.named_parameters()}
    theirs = KEY_MAP.encoder_to_theirs(ours) | KEY_MAP.give(KEY_MAP.pooler, ours)
    translated = KEY_MAP.to_ours(theirs)
    assert translated.encoder.keys() == ours.keys()
    assert all(torch.equal(translated.encoder[name], ours[name]) for name in ours)
    assert not translated.missing and not translated.unexpected and not translated.heads


def test_canonical_names_forgive_prefixes_and_old_norm_names():
    norm = "bert.embeddings.LayerNorm.weight"
    for name in (norm, "embeddings.LayerNorm.gamma", "decoder.bert.embeddings.LayerNorm.gamma", f"module.{norm}"):
        assert KEY_MAP.canonical(name) == norm
    assert KEY_MAP.canonical("cls.predictions.bias") == "cls.predictions.bias"


def test_buffers_are_neither_used_nor_unexpected():
    translated = KEY_MAP.to_ours({"bert.embeddings.position_ids": torch.arange(3), "foo": torch.zeros(1)})
    assert translated.unexpected == ("foo",)
    assert "bert.embeddings.word_embeddings.weight" in translated.missing
