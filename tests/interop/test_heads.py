import pytest
import torch
from tests.nn.toy import toy_config, toy_encoder

from spanwise.errors import ConfigError
from spanwise.interop.heads import KINDS, form_of, is_labelled, make_head, size_of, split_head, title_of, whole_heads
from spanwise.interop.tables import BY_MODEL_TYPE

SIZES = {"sbo": (6, 10), "classification": (3,), "tagging": (5,), "coref": (6, 4, 5, 2, 3, 1)}


@pytest.mark.parametrize("name", KINDS)
def test_a_heads_size_is_read_off_its_own_tensors(name):
    head = make_head(name, toy_encoder(pooler=True), SIZES.get(name, ()))
    assert size_of(name, dict(head.named_parameters())) == SIZES.get(name, ())


@pytest.mark.parametrize("size", [(), (0, 1), (1, 0), (1, 1)])
def test_a_question_head_is_split_for_folders_and_whole_again(size):
    head = make_head("qa", toy_encoder(), size)
    tensors = {name: parameter.detach() for name, parameter in head.named_parameters()}
    assert size_of("qa", tensors) == size
    parts = split_head("qa", tensors)
    assert parts.keys() == ({"qa", "answerable"} if size and size[1] else {"qa"})
    assert not any(name.startswith("answerable") for name in parts["qa"])
    again = whole_heads({**parts, "sop": {"weight": torch.zeros(1)}})
    assert again.keys() == {"qa", "sop"} and again["qa"].keys() == tensors.keys()
    for name, tensor in tensors.items():
        assert again["qa"][name] is tensor
    if size and size[1]:
        assert size_of("answerable", parts["answerable"]) == ((1,) if size[0] else ())


def test_sizes_of_damaged_tensors_are_the_usual_ones():
    assert size_of("sbo", {"positions.weight": torch.zeros(3)}) == (15, 200)
    assert size_of("tagging", {}) == (1,)


def test_forms_are_the_familys_and_the_last_token_is_read_where_attention_is_causal():
    plain, causal = toy_config(), toy_config(causal=True)
    assert form_of(BY_MODEL_TYPE["electra"], "classification", plain) == "gelu"
    assert form_of(BY_MODEL_TYPE["bert"], "multiple_choice", plain) == "pooled"
    assert form_of(BY_MODEL_TYPE["bert"], "classification", causal) == "last"
    assert form_of(BY_MODEL_TYPE["openai-gpt"], "multiple_choice", causal) == "last_biased"


def test_unknown_heads_are_refused():
    with pytest.raises(ConfigError, match="no head 'foo'; heads are mlm, clm"):
        make_head("foo", toy_encoder())


def test_titles_and_labelled_tasks_of_a_users_own_heads_are_as_recorded():
    record = {"own_heads": {"length": {"title": "length of spans"}, "topic": {"labelled": True}}}
    assert title_of("length", record) == "length of spans" and title_of("topic", record) == "topic"
    assert title_of("mlm", record) == "masked language model"
    assert is_labelled("topic", record) and is_labelled("qa", {})
    assert not any(is_labelled(name, record) for name in ("length", "mlm", "nobody"))
