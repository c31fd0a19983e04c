import pytest
import torch
from tests.nn.toy import toy_config

from spanwise.interop.family import KINDS, refuse_unless
from spanwise.interop.heads import TITLES
from spanwise.interop.tables import BY_CLASS, FAMILIES
from spanwise.nn.config import EncoderConfig
from spanwise.nn.encoder import Encoder


def test_every_head_of_every_class_has_names_a_title_and_a_form_where_it_reads_sequences():
    for family in FAMILIES:
        key_map = family.key_map(toy_config(), {})
        for architecture in family.architectures.values():
            assert set(architecture.heads) <= key_map.heads.keys() & TITLES.keys()
            assert architecture.kind in KINDS
        assert {"classification", "multiple_choice"} == family.forms.keys()


def test_no_class_belongs_to_two_families_and_each_family_has_one_bare_class():
    names = [name for family in FAMILIES for name in family.architectures]
    assert len(names) == len(set(names)) == len(BY_CLASS)
    for family in FAMILIES:
        assert [a.kind for a in family.architectures.values()].count("encoder") == 1


def test_the_first_value_that_differs_is_named():
    config = toy_config(causal=True, position_offset=2)
    assert refuse_unless(config, embedding_norm=True, causal=False, position_offset=0) == "causal = True"
    assert refuse_unless(config, causal=True) is None


BASE = {"hidden_size": 768, "num_layers": 12, "num_heads": 12, "intermediate_size": 3072}
LARGE = {"hidden_size": 1024, "num_layers": 24, "num_heads": 16, "intermediate_size": 4096}
SMALL = {"hidden_size": 256, "num_layers": 12, "num_heads": 4, "intermediate_size": 1024}
GPT = {"causal": True, "embedding_norm": False, "num_token_types": 0}


@pytest.mark.parametrize(
    ("name", "shape", "millions"),
    [
        ("BERT base, uncased", {"vocab_size": 30_522, "pooler": True, **BASE}, 109.5),
        ("BERT large, uncased", {"vocab_size": 30_522, "pooler": True, **LARGE}, 335.1),
        ("SpanBERT base", {"vocab_size": 28_996, **BASE}, 107.7),
        ("RoBERTa base", {"vocab_size": 50_265, "position_offset": 2, "num_token_types": 1, **BASE}, 124.1),
        ("RoBERTa large", {"vocab_size": 50_265, "position_offset": 2, "num_token_types": 1, **LARGE}, 354.3),
        ("ELECTRA small", {"vocab_size": 30_522, "embedding_size": 128, **SMALL}, 13.5),
        ("GPT-1", {"vocab_size": 40_478, **GPT, **BASE}, 116.5),
    ],
)
def test_published_shapes_have_their_published_parameters(name, shape, millions):
    with torch.device("meta"):
        encoder = Encoder(EncoderConfig(**shape))
    padding = (encoder.word_embedding.shape[0] - shape["vocab_size"]) * encoder.word_embedding.shape[1]
    total = sum(parameter.numel() for parameter in encoder.parameters()) - padding
    assert total / 1e6 == pytest.approx(millions, abs=0.06), name
