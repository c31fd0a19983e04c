import pytest
from tests.interop.oracle import ORACLES, load_theirs, make_batch, open_ours, our_scores, their_scores
from tests.nn.toy import toy_config

from spanwise.errors import CheckpointError
from spanwise.interop.folder_plan import FolderContent
from spanwise.interop.huggingface import read_folder, write_folder
from spanwise.interop.tables import electra

NAMES = [name for name in electra.ELECTRA.architectures if name != "ElectraModel"]


@pytest.mark.parametrize("name", NAMES)
def test_every_parameter_of_a_stock_class_has_exactly_one_line(name):
    ORACLES["electra"].assert_lines_are_the_parameters(electra.ELECTRA, name, toy_config(embedding_size=8))


@pytest.mark.parametrize("name", ["ElectraForPreTraining", "ElectraForMaskedLM"])
def test_embeddings_as_wide_as_the_layers_have_no_projection(tmp_path, name):
    oracle = ORACLES["electra"]
    theirs = oracle.model(name, embedding_size=32)
    theirs.save_pretrained(tmp_path / "theirs")
    checkpoint, encoder, heads = open_ours(tmp_path / "theirs")
    assert checkpoint.config.embedding_size is None and encoder.embeddings.projection is None
    write_folder(tmp_path / "ours", FolderContent(encoder, heads, model_type="electra"))
    batch = make_batch(oracle)
    expected = their_scores(theirs, oracle, batch)
    for found in (our_scores(encoder, heads, batch), their_scores(load_theirs(tmp_path / "ours"), oracle, batch)):
        for head, scores in expected.items():
            assert (found[head] - scores).abs().max() < 1e-5


def test_the_discriminators_head_chooses_electra_also_for_an_encoder_of_berts_shape(tmp_path):
    ORACLES["electra"].model("ElectraForPreTraining", embedding_size=32).save_pretrained(tmp_path / "theirs")
    _, encoder, heads = open_ours(tmp_path / "theirs")
    assert write_folder(tmp_path / "ours", FolderContent(encoder, heads)).architecture == "ElectraForPreTraining"


def test_a_head_of_another_gelu_is_read_with_a_note_and_never_written_as_that_class(tmp_path):
    ORACLES["electra"].model("ElectraForMaskedLM", hidden_act="gelu_new").save_pretrained(tmp_path / "theirs")
    checkpoint, encoder, heads = open_ours(tmp_path / "theirs")
    assert "another GELU" in str(checkpoint.report)
    written = write_folder(tmp_path / "ours", FolderContent(encoder, heads, model_type="electra"))
    assert written.architecture != "ElectraForMaskedLM"
    assert read_folder(tmp_path / "ours").heads.keys() == {"mlm"}


@pytest.mark.parametrize("change", [{"summary_type": "mean"}, {"summary_activation": "tanh"}])
def test_a_multiple_choice_head_that_is_computed_otherwise_is_refused_and_the_encoder_is_not(tmp_path, change):
    for name in ("ElectraForMultipleChoice", "ElectraModel"):
        ORACLES["electra"].model(name, **change).save_pretrained(tmp_path / name)
    (key, value), *_ = change.items()
    with pytest.raises(CheckpointError, match=f"says {key} = '{value}'; for the head of this class only"):
        read_folder(tmp_path / "ElectraForMultipleChoice")
    assert read_folder(tmp_path / "ElectraModel").heads == {}
