"""XLM-RoBERTa: RoBERTa's tensors, classes of its own; test_parity.py compares all of them in padded batches."""

import json

import pytest
import torch
from tests.interop.oracle import ORACLES, PaddedBatch, open_ours, our_scores, their_scores
from tests.nn.toy import toy_config, toy_encoder

from spanwise.interop.folder_plan import FolderContent
from spanwise.interop.huggingface import read_folder, write_folder
from spanwise.interop.load import load
from spanwise.interop.tables import roberta, xlm_roberta

NAMES = [name for name in xlm_roberta.XLM_ROBERTA.architectures if name != "XLMRobertaModel"]
SHAPE = {"position_offset": 2, "num_token_types": 1, "norm_eps": 1e-5}


def test_each_class_of_roberta_has_its_like():
    names = [f"XLM{name}" for name in roberta.ROBERTA.architectures]
    assert list(xlm_roberta.XLM_ROBERTA.architectures) == names


@pytest.mark.parametrize("name", NAMES)
def test_every_parameter_of_a_stock_class_has_exactly_one_line(name):
    ORACLES["xlm_roberta"].assert_lines_are_the_parameters(
        xlm_roberta.XLM_ROBERTA, name, toy_config(pooler=True, **SHAPE)
    )


@pytest.mark.parametrize("name", NAMES)
@torch.no_grad()
def test_one_sequence_alone_has_the_same_states_and_scores(name, tmp_path):
    oracle = ORACLES["xlm_roberta"]
    theirs = oracle.model(name)
    theirs.save_pretrained(tmp_path)
    _, encoder, heads = open_ours(tmp_path)
    ids = torch.randint(3, 99, (1, 40), generator=torch.Generator().manual_seed(0))
    assert (load(tmp_path)(ids) - theirs.base_model(ids).last_hidden_state).abs().max() < 1e-5
    batch = PaddedBatch(ids, torch.ones_like(ids), torch.zeros_like(ids), torch.arange(40)[None])
    expected = their_scores(theirs, oracle, batch)
    for head, scores in our_scores(encoder, heads, batch).items():
        torch.testing.assert_close(scores, expected[head], atol=1e-5, rtol=1e-5)


def test_a_folder_stays_what_it_came_from_and_else_is_robertas(tmp_path):
    ORACLES["xlm_roberta"].model("XLMRobertaForMaskedLM").save_pretrained(tmp_path / "theirs")
    checkpoint, encoder, heads = open_ours(tmp_path / "theirs")
    assert checkpoint.model_type == "xlm-roberta" and checkpoint.source_class == "XLMRobertaForMaskedLM"
    written = write_folder(tmp_path / "ours", FolderContent(encoder, heads, model_type=checkpoint.model_type))
    assert (written.model_type, written.architecture) == ("xlm-roberta", "XLMRobertaForMaskedLM")
    assert json.loads((tmp_path / "ours" / "config.json").read_text())["model_type"] == "xlm-roberta"
    assert read_folder(tmp_path / "ours").model_type == "xlm-roberta"
    assert write_folder(tmp_path / "other", FolderContent(toy_encoder(**SHAPE), {})).model_type == "roberta"
