import pytest
import torch
from tests.interop.conftest import make_heads
from tests.nn.toy import toy_encoder
from torch import nn

from spanwise.errors import ConfigError
from spanwise.interop.folder_plan import FolderContent, plan_folder


class LengthHead(nn.Module):
    title = "length of spans"

    def __init__(self, encoder):
        super().__init__()
        self.table = encoder.word_embedding  # the encoder's, not hidden from torch
        self.out = nn.Linear(encoder.config.hidden_size, 7)


def test_a_head_of_a_users_own_lies_beside_the_class_under_its_own_name_and_is_described(tmp_path):
    encoder = toy_encoder()
    heads = {**make_heads(encoder, "mlm"), "length": LengthHead(encoder)}
    plan = plan_folder(tmp_path, FolderContent(encoder=encoder, heads=heads))
    assert plan.written.architecture == "BertForMaskedLM" and plan.written.beside == ("length",)
    assert plan.arranged.aside.keys() == {"length.out.weight", "length.out.bias"}  # the word table is the encoder's
    assert plan.record["own_heads"] == {
        "length": {
            "class": f"{__name__}:LengthHead",
            "title": "length of spans",
            "labelled": False,
        }
    }
    assert not list(tmp_path.iterdir())


def test_a_head_that_a_folder_is_for_is_of_a_labelled_task(tmp_path):
    encoder = toy_encoder()
    content = FolderContent(encoder=encoder, heads={"length": LengthHead(encoder)}, main_head="length")
    assert plan_folder(tmp_path, content).record["own_heads"]["length"]["labelled"]


def test_kept_heads_keep_what_was_recorded_of_them_and_have_no_say_in_the_class(tmp_path):
    encoder = toy_encoder()
    tensors = {"out.weight": torch.ones(7, 32)}
    described = {"own_heads": {"length": {"class": "their:Head"}, "gone": {"class": "their:Other"}}}
    content = FolderContent(encoder=encoder, heads={}, kept={"length": tensors}, extra=described)
    plan = plan_folder(tmp_path, content)
    assert plan.record["own_heads"] == {"length": {"class": "their:Head"}}
    assert plan.written.architecture == "BertModel" and torch.equal(
        plan.arranged.aside["length.out.weight"], tensors["out.weight"]
    )


@pytest.mark.parametrize("name", ["my.head", "cls", "classifier", "pooler", "bert", "a head"])
def test_names_that_files_could_not_tell_apart_are_refused(tmp_path, name):
    encoder = toy_encoder()
    with pytest.raises(ConfigError, match=f"a head can't be called '{name}'"):
        plan_folder(tmp_path, FolderContent(encoder=encoder, heads={name: LengthHead(encoder)}))
