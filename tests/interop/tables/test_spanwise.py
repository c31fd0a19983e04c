import json

import pytest
import torch
from tests.interop.conftest import make_heads
from tests.interop.oracle import open_ours
from tests.nn.toy import toy_encoder

from spanwise.interop.folder_plan import FolderContent
from spanwise.interop.huggingface import read_folder, write_folder
from spanwise.nn.sequences import Sequences

NOWHERE = [
    ({"causal": True, "embedding_norm": False}, "BERT has no embedding_norm = False"),
    ({"position_offset": 5}, "RoBERTa has no position_offset = 5 beside a padding id of 0"),
    ({"position_offset": 2, "embedding_size": 8}, "ELECTRA has no position_offset = 2"),
    ({"causal": True, "embedding_size": 8, "position_offset": 1, "sharing": "attention"}, "embedding_size = 8"),
]


class Padding:
    pad_id = 0

    def save(self, folder):
        pass


@pytest.mark.parametrize(("changes", "reason"), NOWHERE)
def test_an_encoder_that_no_stock_class_computes_is_written_under_our_own_name_and_says_so(tmp_path, changes, reason):
    encoder = toy_encoder(pooler=True, **changes)
    heads = make_heads(encoder, "mlm", "sbo", "nsp")
    written = write_folder(tmp_path, FolderContent(encoder, heads, Padding()))
    settings = json.loads((tmp_path / "config.json").read_text())
    assert settings["model_type"] == written.model_type == "spanwise" and written.beside == ("mlm", "nsp", "sbo")
    assert "No class of Hugging Face computes this encoder" in written.notes[0]
    assert reason in written.notes[0]
    assert "spanwise.load alone" in (tmp_path / "README.md").read_text()

    checkpoint, again, rebuilt = open_ours(tmp_path)
    assert checkpoint.config == encoder.config and checkpoint.report.missing == () == checkpoint.report.unexpected
    ids = torch.arange(12)
    with torch.no_grad():
        ours, read = (e(ids, torch.zeros_like(ids), Sequences.from_lengths([12])) for e in (encoder, again))
    assert torch.equal(ours, read)
    for name, head in heads.items():
        for (one, mine), (other, theirs) in zip(head.named_parameters(), rebuilt[name].named_parameters(), strict=True):
            assert one == other and torch.equal(mine, theirs)


def test_a_stock_class_is_taken_wherever_one_computes_the_encoder(tmp_path):
    for changes, architecture in (
        ({}, "BertModel"),
        ({"causal": True}, "BertModel"),
        ({"num_token_types": 0}, "BertModel"),
        ({"position_offset": 2}, "RobertaModel"),
        ({"embedding_size": 8}, "ElectraModel"),
        ({"embedding_size": 8, "sharing": "all"}, "AlbertModel"),
        ({"sharing": "all"}, "AlbertModel"),
        ({"position_offset": 2, "sharing": "all"}, "RobertaModel"),
        ({"embedding_size": 8, "causal": True, "sharing": "all"}, "ElectraModel"),
    ):
        encoder = toy_encoder(**changes)
        assert write_folder(tmp_path / architecture, FolderContent(encoder, {})).architecture == architecture
        assert read_folder(tmp_path / architecture).config == encoder.config
