import json

import pytest
import torch
from safetensors.torch import load_file
from tests.interop.oracle import ORACLES, auto_model, load_theirs, make_batch, open_ours, their_scores
from tests.nn.toy import toy_config, toy_encoder
from transformers import AlbertModel

from spanwise.errors import CheckpointError
from spanwise.interop.checkpoint import build_encoder
from spanwise.interop.folder_plan import FolderContent
from spanwise.interop.huggingface import read_folder, write_folder
from spanwise.interop.tables import albert
from spanwise.nn.config import EncoderConfig
from spanwise.nn.encoder import Encoder
from spanwise.nn.sequences import Sequences

IDS = torch.tensor([3, 14, 15, 92, 65, 35, 89, 7])
NAMES = [name for name in albert.ALBERT.architectures if name != "AlbertModel"]
GROUP = "albert.encoder.albert_layer_groups"


def hidden_of(encoder):
    with torch.no_grad():
        return encoder(IDS, torch.zeros_like(IDS), Sequences.from_lengths([8]))


@pytest.mark.parametrize("name", NAMES)
def test_every_parameter_of_a_stock_class_has_exactly_one_line(name):
    config = toy_config(embedding_size=8, sharing="all", pooler=True)
    ORACLES["albert"].assert_lines_are_the_parameters(albert.ALBERT, name, config)


def test_gradients_of_shared_layers_equal_theirs(tmp_path):
    theirs = ORACLES["albert"].model("AlbertModel")
    theirs.save_pretrained(tmp_path)
    encoder = build_encoder(read_folder(tmp_path)).eval()
    weights = torch.randn(8, 32, generator=torch.Generator().manual_seed(1))
    (encoder(IDS, torch.zeros_like(IDS), Sequences.from_lengths([8])) * weights).sum().backward()
    (theirs(IDS[None]).last_hidden_state[0] * weights).sum().backward()
    layer = theirs.encoder.albert_layer_groups[0].albert_layers[0]
    pairs = [
        (encoder.layers[2].feed_forward.up.weight, layer.ffn.weight),
        (encoder.layers[0].attention.output.weight, layer.attention.dense.weight),
        (encoder.embeddings.projection.weight, theirs.encoder.embedding_hidden_mapping_in.weight),
    ]
    for ours, other in pairs:
        torch.testing.assert_close(ours.grad, other.grad, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize(("sharing", "groups"), [("all", 1), ("none", 3), ("attention", 3), ("feed_forward", 3)])
@pytest.mark.parametrize("embedding_size", [8, 32])
def test_every_sharing_is_written_for_stock_albert_and_comes_back(tmp_path, sharing, groups, embedding_size):
    encoder = toy_encoder(sharing=sharing, embedding_size=embedding_size, pooler=True)
    written = write_folder(tmp_path, FolderContent(encoder, {}, model_type="albert"))
    assert written.architecture == "AlbertModel"
    assert json.loads((tmp_path / "config.json").read_text())["num_hidden_groups"] == groups
    theirs = auto_model(tmp_path)
    with torch.no_grad():
        assert (hidden_of(encoder) - theirs(IDS[None]).last_hidden_state[0]).abs().max() < 1e-5
    assert sum(p.numel() for p in load_theirs(tmp_path).parameters()) > 0
    again = read_folder(tmp_path)
    assert again.config == encoder.config
    rebuilt = build_encoder(again)
    for (name, one), (other, two) in zip(encoder.named_parameters(), rebuilt.named_parameters(), strict=True):
        assert name == other and torch.equal(one, two)
    assert any("equal weights" in note for note in written.notes) == (sharing in ("attention", "feed_forward"))
    record = json.loads((tmp_path / "spanwise.json").read_text())
    assert record.get("encoder", {}).get("sharing") == (sharing if groups == 3 and sharing != "none" else None)


def test_partly_shared_layers_hold_equal_weights_and_unequal_ones_are_found(tmp_path):
    write_folder(tmp_path, FolderContent(toy_encoder(sharing="attention", embedding_size=8), {"mlm": mlm_tensors()}))
    tensors = load_file(tmp_path / "model.safetensors")
    first, third = (tensors[f"{GROUP}.{g}.albert_layers.0.attention.query.weight"] for g in (0, 2))
    assert torch.equal(first, third)
    up = [tensors[f"{GROUP}.{g}.albert_layers.0.ffn.weight"] for g in (0, 2)]
    assert not torch.equal(*up)


def mlm_tensors():
    shapes = {"bias": 99, "dense.weight": (8, 32), "dense.bias": 8, "norm.weight": 8, "norm.bias": 8}
    return {name: torch.randn(shape) for name, shape in shapes.items()}


def test_two_groups_of_three_layers_are_read_as_three_layers_and_said(tmp_path):
    oracle = ORACLES["albert"]
    theirs = oracle.model("AlbertForMaskedLM", num_hidden_groups=2)
    theirs.save_pretrained(tmp_path / "theirs")
    checkpoint, encoder, heads = open_ours(tmp_path / "theirs")
    assert checkpoint.config.sharing == "none" and "2 groups" in str(checkpoint.report)
    batch = make_batch(oracle)
    expected = their_scores(theirs, oracle, batch)["mlm"]
    write_folder(tmp_path / "ours", FolderContent(encoder, heads, model_type="albert"))
    found = their_scores(load_theirs(tmp_path / "ours"), oracle, batch)["mlm"]
    assert (found - expected).abs().max() < 1e-5


def test_a_product_between_equal_widths_is_the_identity_or_refused(tmp_path):
    ORACLES["albert"].model("AlbertModel", embedding_size=32).save_pretrained(tmp_path)
    with pytest.raises(CheckpointError, match=r"embedding_hidden_mapping_in.*no such part"):
        read_folder(tmp_path)


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"num_hidden_groups": 0}, "num_hidden_groups = 0"),
        ({"num_hidden_groups": 4}, "num_hidden_groups = 4"),
        ({"inner_group_num": 2}, "inner_group_num = 2"),
    ],
)
def test_groups_that_can_not_be_are_refused(tmp_path, changes, named):
    write_folder(tmp_path, FolderContent(toy_encoder(sharing="all", embedding_size=8), {}, model_type="albert"))
    path = tmp_path / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))
    with pytest.raises(CheckpointError, match=named):
        read_folder(tmp_path)


@pytest.mark.parametrize(
    ("changes", "millions"),
    [
        ({}, 12),
        ({"hidden_size": 1024, "num_layers": 24, "num_heads": 16, "intermediate_size": 4096}, 18),
        ({"hidden_size": 2048, "num_layers": 24, "num_heads": 16, "intermediate_size": 8192}, 60),
        ({"hidden_size": 4096, "num_layers": 12, "num_heads": 64, "intermediate_size": 16384}, 235),
        ({"sharing": "attention"}, 64),
        ({"sharing": "feed_forward"}, 38),
        ({"sharing": "none"}, 89),
        ({"embedding_size": 768}, 31),
        ({"embedding_size": 768, "sharing": "attention"}, 83),
        ({"embedding_size": 768, "sharing": "feed_forward"}, 57),
        ({"embedding_size": 768, "sharing": "none"}, 108),
    ],
)
def test_parameters_are_those_of_the_papers_tables(changes, millions):
    base = {"hidden_size": 768, "num_layers": 12, "num_heads": 12, "intermediate_size": 3072, "embedding_size": 128}
    config = EncoderConfig(vocab_size=30_000, sharing=changes.pop("sharing", "all"), pooler=True, **(base | changes))
    with torch.device("meta"):
        total = sum(parameter.numel() for parameter in Encoder(config).parameters())
    assert total / 1e6 == pytest.approx(millions, abs=1.1, rel=0.06)


def test_parameters_of_the_base_size_are_exactly_those_of_transformers():
    oracle = ORACLES["albert"]
    with torch.device("meta"):
        theirs = AlbertModel(oracle.config())
        ours = Encoder(toy_config(embedding_size=8, sharing="all", pooler=True))
    padding = (128 - 99) * 8
    assert sum(p.numel() for p in ours.parameters()) - padding == sum(p.numel() for p in theirs.parameters())
