from pathlib import Path

import pytest
from tests.nn.toy import toy_config

from spanwise.errors import CheckpointError
from spanwise.interop.model_config import config_record, encoder_config, lost_values, read_problem_type
from spanwise.interop.tables import FAMILIES, bert
from spanwise.nn.config import EncoderConfig

PATH = Path("folder/config.json")


def make_record(**changes):
    record = config_record(toy_config(), bert.BERT, "BertForMaskedLM") | changes
    return {key: value for key, value in record.items() if value is not None}


@pytest.mark.parametrize("changes", [{}, {"activation": "gelu_tanh", "norm_eps": 1e-5, "attention_dropout": 0.1}])
def test_our_own_settings_come_back(changes):
    config = toy_config(**changes)
    assert encoder_config(config_record(config, bert.BERT, "BertModel"), PATH) == config


def test_a_folder_without_model_type_but_with_berts_settings_is_bert():
    assert encoder_config(make_record(model_type=None), PATH) == toy_config()


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"model_type": "xlnet"}, "'xlnet'; this version reads: bert"),
        ({"model_type": None, "hidden_size": None}, "names no model_type"),
        ({"vocab_size": None}, "lacks 'vocab_size'"),
        ({"hidden_size": "32"}, "hidden_size = '32'"),
        ({"num_hidden_layers": True}, "num_hidden_layers = True"),
        ({"num_hidden_layers": 0}, "at least 1"),
        ({"num_attention_heads": 5}, "does not divide"),
        ({"hidden_act": "relu"}, "hidden_act 'relu'"),
        ({"hidden_act": ["gelu"]}, r"hidden_act \['gelu'\]; supported: gelu"),
        ({"model_type": ["bert"]}, r"model_type \['bert'\]; this version reads: bert"),
        ({"position_embedding_type": "relative_key"}, "relative_key"),
        ({"add_cross_attention": True}, "add_cross_attention"),
        ({"pruned_heads": {"0": [1]}}, "pruned_heads"),
    ],
)
def test_what_is_not_supported_is_refused_by_name(changes, named):
    with pytest.raises(CheckpointError, match=named):
        encoder_config(make_record(**changes), PATH)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.model_type)
def test_every_family_refuses_what_no_encoder_can_be(family):
    config = EncoderConfig(
        vocab_size=99,
        hidden_size=32,
        num_layers=3,
        num_heads=4,
        intermediate_size=128,
        position_offset=2 if family.model_type in ("roberta", "xlm-roberta") else 0,
        activation=next(iter(family.activations.values())),
        rotary_base=160_000.0 if family.model_type == "modernbert" else None,
        **family.constants,
    )
    bare = next(name for name, architecture in family.architectures.items() if architecture.kind == "encoder")
    good = config_record(config, family, bare)
    assert encoder_config(good, PATH).hidden_size == 32 and lost_values(config, good, PATH).keys() <= {"sharing"}
    heads, layers, vocabulary = (family.settings[name] for name in ("num_heads", "num_layers", "vocab_size"))
    for changes, named in (
        ({heads: 5}, "does not divide"),
        ({layers: 0}, "at least 1|from 1 to"),
        ({layers: None}, f"lacks '{layers}'"),
        ({vocabulary: "99"}, f"{vocabulary} = '99'"),
        ({vocabulary: -1}, "vocab_size cannot be -1; expected at least 0"),
        ({family.activation_key: "relu"}, f"{family.activation_key} 'relu'; supported"),
        ({family.settings["hidden_dropout"]: 1.5}, "hidden_dropout|only one rate"),
    ):
        with pytest.raises(CheckpointError, match=named):
            encoder_config(good | changes, PATH)


@pytest.mark.parametrize("value", ["regression", "single_label_classification", "multi_label_classification"])
def test_the_kind_of_labels_is_one_that_stock_classes_know(value):
    assert read_problem_type({"problem_type": value}) == value
    for other in ({}, {"problem_type": None}, {"problem_type": "ranking"}, {"problem_type": [value]}):
        assert read_problem_type(other) is None


def test_settings_that_could_run_code_have_no_effect():
    record = make_record(auto_map={"AutoModel": "x.Y"}, trust_remote_code=True, _attn_implementation="evil/kernel")
    assert encoder_config(record, PATH) == toy_config()
