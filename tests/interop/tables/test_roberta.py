import json

import pytest
import torch
from tests.interop.oracle import ORACLES
from tests.nn.toy import toy_config, toy_encoder
from transformers import RobertaModel

from spanwise.errors import CheckpointError
from spanwise.interop.folder_plan import FolderContent
from spanwise.interop.huggingface import read_folder, write_folder
from spanwise.interop.model_config import encoder_config
from spanwise.interop.tables import roberta

SHAPE = {"position_offset": 2, "num_token_types": 1, "norm_eps": 1e-5}
NAMES = [name for name in roberta.ROBERTA.architectures if name != "RobertaModel"]


@pytest.mark.parametrize("name", NAMES)
def test_every_parameter_of_a_stock_class_has_exactly_one_line(name):
    ORACLES["roberta"].assert_lines_are_the_parameters(roberta.ROBERTA, name, toy_config(pooler=True, **SHAPE))


def test_514_rows_are_512_positions_and_text_of_512_tokens_is_read(tmp_path):
    theirs = ORACLES["roberta"].model("RobertaModel", max_position_embeddings=514, num_hidden_layers=1)
    theirs.save_pretrained(tmp_path)
    checkpoint = read_folder(tmp_path)
    assert checkpoint.config.max_positions == 512 and checkpoint.config.position_offset == 2
    assert checkpoint.tensors["embeddings.position.weight"].shape == (514, 32)
    from spanwise.interop.load import load

    ids = torch.randint(2, 99, (1, 512), generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        assert (load(tmp_path)(ids) - theirs(ids).last_hidden_state).abs().max() < 1e-5


def test_our_folder_says_rows_and_the_padding_id_that_positions_are_counted_from(tmp_path):
    write_folder(tmp_path, FolderContent(toy_encoder(**SHAPE), {}))
    settings = json.loads((tmp_path / "config.json").read_text())
    assert (settings["model_type"], settings["max_position_embeddings"], settings["pad_token_id"]) == ("roberta", 42, 1)
    assert RobertaModel.from_pretrained(tmp_path).embeddings.position_embeddings.weight.shape == (42, 32)


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"pad_token_id": None}, "pad_token_id = None"),
        ({"pad_token_id": -1}, "pad_token_id = -1"),
        ({"max_position_embeddings": 2}, "max_positions cannot be 0; expected at least 1"),
        ({"max_position_embeddings": "514"}, "unsupported operand"),
        ({"position_embedding_type": "relative_key"}, "relative_key"),
    ],
)
def test_settings_that_give_no_positions_are_refused(tmp_path, changes, named):
    settings = roberta.ROBERTA.write_settings(toy_config(**SHAPE), 1)
    settings |= {"model_type": "roberta", "vocab_size": 99, "hidden_size": 32, "num_hidden_layers": 3}
    settings |= {"num_attention_heads": 4, "intermediate_size": 64}
    with pytest.raises(CheckpointError, match=named):
        encoder_config(settings | changes, tmp_path / "config.json")
