import pytest
from tests.nn.toy import toy_config

from spanwise.errors import ConfigError
from spanwise.interop.architectures import GivenHead, choose_architecture
from spanwise.interop.tables import BY_MODEL_TYPE

MLM = {"bias", "dense.weight", "dense.bias", "norm.weight", "norm.bias"}
LINEAR = {"out.weight", "out.bias"}
DENSE = {"dense.weight", "dense.bias"} | LINEAR
TENSORS = {"mlm": MLM, "sop": {"weight", "bias"}, "nsp": {"weight", "bias"}, "rtd": DENSE, "tagging": LINEAR}
TENSORS |= {"qa": {"linear.weight", "linear.bias"}, "clm": set()}


def choose(config, *names, pad_id=None, **options):
    heads = {name: GivenHead(tensors=TENSORS[name]) for name in names}
    return choose_architecture(config, heads, pad_id, **options).name


@pytest.mark.parametrize(
    ("changes", "heads", "expected"),
    [
        ({}, ["mlm"], "BertForMaskedLM"),
        ({}, ["mlm", "qa"], "BertForQuestionAnswering"),
        ({}, ["mlm", "nsp"], "BertForMaskedLM"),  # without a pooler there is nothing that nsp reads
        ({"pooler": True}, ["mlm", "nsp"], "BertForPreTraining"),
        ({"pooler": True}, ["mlm", "sop"], "AlbertForPreTraining"),
        ({}, ["rtd"], "ElectraForPreTraining"),
        ({"embedding_size": 8}, ["mlm"], "ElectraForMaskedLM"),
        ({"embedding_size": 8, "activation": "gelu_tanh"}, ["mlm"], "AlbertForMaskedLM"),
        ({"embedding_size": 8, "sharing": "all"}, ["mlm"], "AlbertForMaskedLM"),
        ({"embedding_size": 8, "sharing": "all"}, ["rtd"], "ElectraForPreTraining"),
        ({"position_offset": 2}, ["mlm"], "RobertaForMaskedLM"),
        ({"position_offset": 2, "activation": "gelu_tanh"}, ["mlm"], "RobertaModel"),
        ({"position_offset": 2}, ["mlm", "sop", "tagging"], "RobertaForTokenClassification"),
    ],
)
def test_the_class_is_the_most_special_that_encoder_and_heads_allow(changes, heads, expected):
    assert choose(toy_config(**changes), *heads) == expected


def test_the_family_that_weights_came_from_is_kept_among_equals():
    assert choose(toy_config(), "mlm", "qa", model_type="electra") == "ElectraForQuestionAnswering"
    assert choose(toy_config(position_offset=2), "qa", model_type="electra") == "RobertaForQuestionAnswering"


def test_the_main_head_decides_over_more_special_ones():
    assert choose(toy_config(), "mlm", "qa", "tagging", main_head="tagging") == "BertForTokenClassification"
    assert choose(toy_config(), "mlm", "qa", main_head="mlm") == "BertForMaskedLM"


def test_a_padding_id_that_positions_are_not_counted_from_rules_roberta_out():
    assert choose(toy_config(position_offset=2), "mlm", pad_id=1) == "RobertaForMaskedLM"
    assert choose(toy_config(position_offset=2), "mlm", pad_id=0) == "SpanwiseEncoder"


@pytest.mark.parametrize(("form", "expected"), [("gelu", "Electra"), ("pooled", "Bert"), ("tanh", "BertModel")])
def test_a_head_of_another_form_is_left_aside(form, expected):
    tensors = LINEAR if form == "pooled" else DENSE
    heads = {"classification": GivenHead(tensors=tensors, form=form)}
    assert choose_architecture(toy_config(pooler=True), heads, None).name.startswith(expected)


def test_what_can_not_be_is_refused_by_name():
    config = toy_config()
    with pytest.raises(ConfigError, match=r"Unknown model_type 'rberta'.*Did you mean 'roberta'"):
        choose(config, "mlm", model_type="rberta")
    with pytest.raises(ConfigError, match="main head 'qa'"):
        choose(config, "mlm", main_head="qa")


def test_every_model_type_is_known_by_its_name():
    names = ["bert", "roberta", "xlm-roberta", "electra", "albert", "openai-gpt", "modernbert", "splinter"]
    assert list(BY_MODEL_TYPE) == [*names, "spanwise"]
