import dataclasses
import json

import pytest
import torch
from tests.nn.toy import toy_config, toy_encoder

from spanwise.errors import CheckpointError
from spanwise.interop.architectures import choose_architecture
from spanwise.interop.family import KINDS
from spanwise.interop.folder_plan import FolderContent
from spanwise.interop.heads import KINDS as HEAD_KINDS
from spanwise.interop.huggingface import read_folder, write_folder
from spanwise.interop.tables import BY_CLASS, FAMILIES
from spanwise.nn.config import EncoderConfig
from spanwise.nn.encoder import Encoder


def test_every_head_of_every_class_has_names_a_title_and_a_form_where_it_reads_sequences():
    for family in FAMILIES:
        key_map = family.key_map(toy_config(), {})
        for architecture in family.architectures.values():
            assert set(architecture.heads) <= key_map.heads.keys() & HEAD_KINDS.keys()
            assert architecture.kind in KINDS
        assert {name for name, kind in HEAD_KINDS.items() if kind.has_form} == family.forms.keys()


def test_no_class_belongs_to_two_families_and_each_family_has_one_bare_class():
    names = [name for family in FAMILIES for name in family.architectures]
    assert len(names) == len(set(names)) == len(BY_CLASS)
    for family in FAMILIES:
        assert [a.kind for a in family.architectures.values()].count("encoder") == 1


@pytest.mark.parametrize("family", [family for family in FAMILIES if family.is_stock], ids=lambda f: f.model_type)
def test_a_field_that_no_family_declares_is_never_written_as_a_stock_class(family):
    """As a later version might have it: an encoder option that no table here has heard of."""
    made_up = dataclasses.make_dataclass(
        "MadeUp", [("pre_made_up", bool, dataclasses.field(default=False))], bases=(EncoderConfig,), frozen=True
    )
    fitting = {**vars(toy_config()), **family.constants}
    if family.model_type in ("roberta", "xlm-roberta"):
        fitting["position_offset"] = 2
    if family.model_type == "modernbert":
        fitting["rotary_base"] = 100.0
    if family.model_type == "openai-gpt":
        fitting |= {"intermediate_size": 4 * fitting["hidden_size"], "activation": "gelu_tanh"}
    assert family.refusal(made_up(**fitting), None) is None
    assert family.refusal(made_up(**fitting, pre_made_up=True), None) == "pre_made_up = True"
    choice = choose_architecture(made_up(**fitting, pre_made_up=True), {}, None)
    assert choice.name == "SpanwiseEncoder" and f"{family.label} has no" in choice.reason


def test_a_record_can_not_give_a_class_what_it_does_not_compute(tmp_path):
    write_folder(tmp_path / "bert", FolderContent(toy_encoder(), {}))
    path = tmp_path / "bert" / "spanwise.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "encoder": {"embedding_norm": False}}))
    with pytest.raises(CheckpointError, match=r"spanwise.json says embedding_norm = False, which BERT has not"):
        read_folder(tmp_path / "bert")


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
