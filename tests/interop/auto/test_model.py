"""Encoders that transformers runs: parity one by one and in batches, what is refused, and what happens without it."""

import json
import subprocess
import sys

import pytest
import torch
import transformers
from tests.interop.auto.models import SETTINGS, auto_model

from spanwise.errors import CheckpointError
from spanwise.interop.auto.model import is_other_kind
from spanwise.interop.checkpoint import build_encoder
from spanwise.interop.folder_plan import FolderContent
from spanwise.interop.huggingface import read_folder, write_folder
from spanwise.interop.token_types import with_token_types
from spanwise.nn.padded_encoder import PaddedEncoder
from spanwise.nn.sequences import Sequences

LENGTHS = (10, 4, 40, 7)


def saved(model, folder):
    model.save_pretrained(folder)
    return folder


@pytest.mark.parametrize("kind", list(SETTINGS))
@torch.no_grad()
def test_hidden_states_are_those_of_its_class_alone_and_in_a_padded_batch(kind, tmp_path):
    model = auto_model(kind)
    checkpoint = read_folder(saved(model, tmp_path / "theirs"))
    encoder = build_encoder(checkpoint).eval()
    assert isinstance(encoder, PaddedEncoder) and checkpoint.config.max_positions == 40
    pad = model.config.pad_token_id
    rows = [torch.randint(5, 99, (length,)) for length in LENGTHS]
    packed = encoder(torch.cat(rows), torch.zeros(sum(LENGTHS), dtype=torch.long), Sequences.from_lengths(LENGTHS))
    ids = torch.full((len(rows), max(LENGTHS)), pad)
    for row, values in zip(ids, rows, strict=True):
        row[: len(values)] = values
    together = model(input_ids=ids, attention_mask=(ids != pad).long()).last_hidden_state
    for ours, row, theirs in zip(packed.split(LENGTHS), rows, together, strict=True):
        torch.testing.assert_close(ours, model(input_ids=row[None]).last_hidden_state[0], atol=1e-5, rtol=0)
        torch.testing.assert_close(ours, theirs[: len(row)], atol=1e-5, rtol=0)


@pytest.mark.parametrize("kind", list(SETTINGS))
def test_a_folder_that_is_written_again_loads_with_its_own_class_and_with_auto_model(kind, tmp_path):
    model = auto_model(kind)
    checkpoint = read_folder(saved(model, tmp_path / "theirs"))
    encoder = build_encoder(checkpoint)
    with torch.no_grad():
        for parameter in encoder.parameters():
            parameter.mul_(0.9)
    written = write_folder(tmp_path / "ours", FolderContent(encoder, {}, model_type=checkpoint.model_type))
    assert (written.architecture, written.beside) == (f"{kind}Model", ())
    settings = [json.loads((tmp_path / name / "config.json").read_text()) for name in ("theirs", "ours")]
    assert settings[0] == settings[1]
    ids = torch.randint(5, 99, (2, 9))
    with torch.no_grad():
        ours = encoder.eval().body(input_ids=ids).last_hidden_state
        for loader in (transformers.AutoModel, getattr(transformers, f"{kind}Model")):
            theirs, report = loader.from_pretrained(tmp_path / "ours", output_loading_info=True)
            assert not any(report.values())
            torch.testing.assert_close(theirs.eval()(input_ids=ids).last_hidden_state, ours, atol=1e-6, rtol=0)
    again = read_folder(tmp_path / "ours")
    assert {**again.tensors}.keys() == checkpoint.tensors.keys() and again.config == checkpoint.config


def test_dropout_may_be_changed(tmp_path):
    checkpoint = read_folder(saved(auto_model("DistilBert"), tmp_path))
    encoder = build_encoder(
        checkpoint, checkpoint.config.__class__(**{**vars(checkpoint.config), "hidden_dropout": 0.4})
    )
    assert encoder.body.config.dropout == 0.4 and encoder.body.config.attention_dropout == 0.1
    assert {part.p for part in encoder.modules() if isinstance(part, torch.nn.Dropout)} == {0.4, 0.1}


@pytest.mark.parametrize("kind", ["BigBird", "ConvBert", "Nystromformer"])
def test_token_types_that_a_task_adds_are_computed_and_saved(kind, tmp_path):
    sizes = {"vocab_size": 99, "hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    config = getattr(transformers, f"{kind}Config")(**sizes, intermediate_size=16, max_position_embeddings=40)
    torch.manual_seed(0)
    checkpoint = read_folder(saved(getattr(transformers, f"{kind}Model")(config), tmp_path / "theirs"))
    more = with_token_types(checkpoint, [0, 1])
    encoder = build_encoder(more).eval()
    write_folder(tmp_path / "ours", FolderContent(encoder, {}, model_type=checkpoint.model_type))
    again = read_folder(tmp_path / "ours")
    assert again.config.num_token_types == checkpoint.config.num_token_types + 2
    ids, sequences = torch.arange(5, 13), Sequences.from_lengths([8])
    for types in (0, 1):  # the new rows begin as those that they were copied from
        old, new = (torch.full((8,), number) for number in (types, types + checkpoint.config.num_token_types))
        with torch.no_grad():
            torch.testing.assert_close(encoder(ids, new, sequences), encoder(ids, old, sequences))


def test_natively_computed_kinds_never_come_here():
    for model_type in ("bert", "roberta", "albert", "electra", "openai-gpt", "spanwise"):
        assert not is_other_kind({"model_type": model_type})
    assert is_other_kind({"model_type": "deberta-v2"}) and not is_other_kind({})


def test_without_transformers_the_extra_is_named(tmp_path, monkeypatch):
    saved(auto_model("DistilBert"), tmp_path)
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(
        CheckpointError, match=r"'distilbert'; this package itself computes bert, .*spanwise\[transformers\]"
    ):
        read_folder(tmp_path)


def test_code_of_a_folder_is_never_run(tmp_path):
    saved(auto_model("DistilBert"), tmp_path)
    settings = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "evil.py").write_text("raise SystemExit('ran')\n")
    code = {"AutoConfig": "evil.Config", "AutoModel": "evil.Model"}
    (tmp_path / "config.json").write_text(json.dumps({**settings, "auto_map": code}))
    assert read_folder(tmp_path).model_type == "distilbert"


def test_what_is_no_encoder_of_texts_is_refused(tmp_path):
    sizes = {"vocab_size": 99, "d_model": 16, "d_ff": 16, "d_kv": 8, "num_layers": 1, "num_heads": 2}
    saved(transformers.T5Model(transformers.T5Config(**sizes)), tmp_path / "t5")
    gpt = transformers.GPT2Config(vocab_size=99, n_embd=16, n_layer=1, n_head=2, n_positions=40)
    saved(transformers.GPT2Model(gpt), tmp_path / "gpt2")
    for name, kind in (("t5", "T5Model"), ("gpt2", "GPT2Model")):
        with pytest.raises(CheckpointError, match=f"{kind} is no encoder of texts whose tokens see both sides"):
            read_folder(tmp_path / name)


def test_a_model_that_fails_or_has_no_words_is_refused_with_the_reason(tmp_path):
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    saved(transformers.CanineModel(transformers.CanineConfig(**sizes)), tmp_path / "canine")
    with pytest.raises(CheckpointError, match=r"CanineModel is no encoder .*given four tokens it fails: .*embeddings"):
        read_folder(tmp_path / "canine")


@pytest.mark.parametrize(
    ("kind", "changes"),
    [("ConvBert", {"embedding_size": 16}), ("MobileBert", {"embedding_size": 8, "intra_bottleneck_size": 8})],
)
@torch.no_grad()
def test_where_filler_would_be_read_every_sequence_is_computed_as_if_alone(kind, changes, tmp_path):
    sizes = {"vocab_size": 99, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2}
    config = getattr(transformers, f"{kind}Config")(
        **sizes, intermediate_size=16, max_position_embeddings=40, **changes
    )
    torch.manual_seed(0)
    model = getattr(transformers, f"{kind}Model")(config).eval()
    for parameter in model.parameters():
        parameter += 0.2 * torch.randn(parameter.shape)
    encoder = build_encoder(read_folder(saved(model, tmp_path))).eval()
    ids = torch.randint(5, 99, (sum(LENGTHS),), generator=torch.Generator().manual_seed(0))
    found = encoder(ids, torch.zeros_like(ids), Sequences.from_lengths(list(LENGTHS)))
    alone = [model(input_ids=row[None]).last_hidden_state[0] for row in ids.split(list(LENGTHS))]
    torch.testing.assert_close(found, torch.cat(alone), atol=1e-5, rtol=1e-5)


def test_damaged_and_unknown_folders_are_refused_with_their_reason(tmp_path):
    saved(auto_model("DistilBert"), tmp_path)
    settings = json.loads((tmp_path / "config.json").read_text())

    def change(**values):
        (tmp_path / "config.json").write_text(json.dumps({**settings, **values}))

    change(model_type="distilbrt")
    with pytest.raises(CheckpointError, match=r"'distilbrt'.* does not know it either.*Did you mean 'distilbert'"):
        read_folder(tmp_path)
    change(n_layers=4)
    with pytest.raises(CheckpointError, match=r"lacks .* tensors of DistilBertModel, such as 'transformer.layer.3"):
        read_folder(tmp_path)
    change(dim=64)
    with pytest.raises(CheckpointError, match=r"transformers can't load|lacks"):
        read_folder(tmp_path)


def test_pre_training_on_it_names_the_way_there_is(tmp_path):
    checkpoint = read_folder(saved(auto_model("DistilBert"), tmp_path))
    with pytest.raises(CheckpointError, match=r"pre-training needs .* 'distilbert'.*SpanBoundaryPretraining"):
        checkpoint.check_native("pre-training")


def test_a_native_model_answers_without_importing_transformers():
    words = (
        "import sys, spanwise; qa = spanwise.pipeline('question-answering');"
        "qa('Where is the river?', 'The river is in Seoul.'); assert 'transformers' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", words], check=True)
