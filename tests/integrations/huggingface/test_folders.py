"""Folders of wrapped encoders: everything comes back, stock classes read them, our own loader too."""

import json
import logging

import pytest
import torch
import torch.nn.functional as F
from safetensors.torch import load_file, save_file
from tests.interop.auto.models import auto_model
from toy_encoders import PlainEncoder, bert_of

import spanwise
from spanwise.errors import CheckpointError, ConfigError
from spanwise.integrations.huggingface import SpanBoundaryPretraining
from spanwise.interop.checkpoint import build_encoder, build_head
from spanwise.interop.huggingface import read_folder, write_folder


@pytest.fixture
def trained(batch_of):
    """Heads and biases that are not what a fresh model has."""

    def make(encoder, **options):
        model = SpanBoundaryPretraining(encoder, **options).eval()
        with torch.no_grad():
            for head in (model.mlm_head, model.sbo_head):
                for parameter in head.parameters():
                    parameter += 0.05 * torch.randn_like(parameter)
        return model

    return make


@pytest.mark.parametrize(
    "options", [{}, {"combine": "sum"}, {"num_positions": 7, "position_size": 5, "sbo_weight": 2.0}]
)
def test_what_is_saved_comes_back(trained, batch_of, tmp_path, caplog, options):
    from transformers import AutoModel

    model, batch = trained(bert_of(), **options), batch_of()
    model.save_pretrained(tmp_path / "m")

    with caplog.at_level(logging.WARNING, logger="spanwise"):
        again = SpanBoundaryPretraining.from_pretrained(tmp_path / "m", AutoModel).eval()

    assert not caplog.records
    assert again.sbo_head.combine == options.get("combine", "concat") and again.weights == model.weights
    for name in ("loss", "mlm_loss", "sbo_loss"):
        torch.testing.assert_close(again(**batch)[name], model(**batch)[name], atol=1e-6, rtol=0)


def test_the_released_edges_come_back_too(trained, tmp_path, collate):
    from transformers import AutoModel

    ids = collate().special_ids
    trained(bert_of(), edges="skip", special_ids=ids, beyond="skip").save_pretrained(tmp_path)

    again = SpanBoundaryPretraining.from_pretrained(tmp_path, AutoModel)

    assert again.edges == "skip" and again.special_ids.tolist() == ids and again.sbo_head.beyond == "skip"


def test_stock_classes_load_the_encoder_with_nothing_missing(trained, tmp_path):
    """And no tensor is written twice."""
    from transformers import BertModel

    model = trained(bert_of())
    model.save_pretrained(tmp_path)

    loaded, info = BertModel.from_pretrained(tmp_path, add_pooling_layer=False, output_loading_info=True)

    assert not info["missing_keys"] and not info["unexpected_keys"]
    assert torch.equal(loaded.embeddings.word_embeddings.weight, model.encoder.embeddings.word_embeddings.weight)
    names = [name for file in tmp_path.glob("*.safetensors") for name in load_file(file)]
    assert len(names) == len(set(names)) and not [name for name in names if "decoder" in name]


def test_our_own_loader_gives_the_same_states_and_finds_the_heads(trained, batch_of, tmp_path):
    model, batch = trained(bert_of()), batch_of()
    model.save_pretrained(tmp_path)

    loaded = spanwise.load(tmp_path)
    checkpoint = read_folder(tmp_path)
    head = build_head(checkpoint, "sbo", build_encoder(checkpoint))

    real = batch["attention_mask"][..., None]
    ours, theirs = (
        loaded(batch["input_ids"], batch["attention_mask"]),
        model.encoder(batch["input_ids"], batch["attention_mask"]),
    )
    torch.testing.assert_close(ours, theirs.last_hidden_state * real, atol=1e-5, rtol=0)
    assert sorted(checkpoint.heads) == ["mlm", "sbo"] and not checkpoint.report.unexpected
    assert torch.equal(head.linear1.weight, model.sbo_head.linear1.weight)


def test_training_goes_on_from_a_run_of_ours(tmp_path, batch_of, caplog):
    from transformers import AutoModel

    bert_of().save_pretrained(tmp_path / "encoder")
    checkpoint = read_folder(tmp_path / "encoder")
    encoder = build_encoder(checkpoint)
    fresh = SpanBoundaryPretraining(bert_of(), num_positions=9, position_size=8, seed=5)
    heads = {"mlm": dict(fresh.mlm_head.state_dict()), "sbo": dict(fresh.sbo_head.state_dict())}
    write_folder(tmp_path / "run", encoder, heads)

    with caplog.at_level(logging.WARNING, logger="spanwise"):
        model = SpanBoundaryPretraining.from_pretrained(tmp_path / "run", AutoModel)

    assert not caplog.records and model.sbo_head.num_positions == 9
    assert torch.equal(model.mlm_head.dense.weight, fresh.mlm_head.dense.weight)
    assert torch.equal(model.sbo_head.positions.weight, fresh.sbo_head.positions.weight)


def test_a_head_under_the_released_names_gives_the_papers_logits(tmp_path):
    """Left, right, position, under the keys of the original code, LayerNorm as gamma and beta."""
    from transformers import AutoModel

    bert = bert_of()
    bert.config.save_pretrained(tmp_path)
    table, front = bert.get_input_embeddings().weight.detach(), "cls.pair_target_predictions."
    layers = f"{front}mlp_layer_norm."
    shapes = {f"{front}position_embeddings.weight": (15, 200), f"{layers}linear1.weight": (16, 232)}
    shapes |= {f"{layers}linear2.weight": (16, 16), f"{front}bias": (500,)}
    shapes |= {f"{layers}{name}": (16,) for name in ("linear1.bias", "linear2.bias")}
    shapes |= {f"{layers}layer_norm{n}.{kind}": (16,) for n in (1, 2) for kind in ("gamma", "beta")}
    head = {name: 0.3 * torch.randn(shape) for name, shape in shapes.items()}
    state = {f"bert.{name}": tensor.clone() for name, tensor in bert.state_dict().items()}
    save_file(
        {**state, **head, f"{front}decoder.weight": table.clone()}, tmp_path / "model.safetensors", {"format": "pt"}
    )

    model = SpanBoundaryPretraining.from_pretrained(tmp_path, AutoModel)
    hidden, marks = torch.randn(1, 5, 16), torch.tensor([[0, 1, 1, 1, 0]])
    logits = model.sbo_head(hidden, marks)

    position = head[f"{front}position_embeddings.weight"][:3]
    inner = torch.cat([hidden[0, [0, 0, 0]], hidden[0, [4, 4, 4]], position], dim=1)
    for n in (1, 2):
        inner = F.gelu(F.linear(inner, head[f"{layers}linear{n}.weight"], head[f"{layers}linear{n}.bias"]))
        inner = F.layer_norm(
            inner, (16,), head[f"{layers}layer_norm{n}.gamma"], head[f"{layers}layer_norm{n}.beta"], 1e-12
        )
    torch.testing.assert_close(logits, F.linear(inner, table, head[f"{front}bias"]), atol=1e-5, rtol=0)


def test_a_stock_masked_lm_keeps_its_head_and_a_fresh_one_is_named(tmp_path, caplog):
    from transformers import AutoModel, BertForMaskedLM

    stock = BertForMaskedLM(bert_of().config)
    stock.save_pretrained(tmp_path)

    with caplog.at_level(logging.WARNING, logger="spanwise"):
        model = SpanBoundaryPretraining.from_pretrained(tmp_path, AutoModel)

    assert torch.equal(model.mlm_head.dense.weight, stock.cls.predictions.transform.dense.weight)
    assert [record.message for record in caplog.records] == [f"{tmp_path} has no sbo head; it starts fresh."]


def test_other_families_that_we_know_are_loaded_with_their_heads(trained, batch_of, tmp_path):
    from transformers import AutoModel, RobertaConfig, RobertaModel

    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
    settings = {"vocab_size": 500, "max_position_embeddings": 66, "pad_token_id": 1, "type_vocab_size": 1, **sizes}
    model, batch = trained(RobertaModel(RobertaConfig(**settings)).eval()), batch_of()
    model.save_pretrained(tmp_path)

    again = SpanBoundaryPretraining.from_pretrained(tmp_path, AutoModel).eval()
    checkpoint = read_folder(tmp_path)

    torch.testing.assert_close(again(**batch).loss, model(**batch).loss)
    assert sorted(checkpoint.heads) == ["mlm", "sbo"] and not checkpoint.report.unexpected
    assert torch.equal(checkpoint.heads["sbo"]["linear1.weight"], model.sbo_head.linear1.weight)


def test_encoders_of_families_that_we_do_not_know_come_back(trained, batch_of, tmp_path):
    from transformers import AutoModel, DebertaV2Config, DebertaV2Model

    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
    model = trained(DebertaV2Model(DebertaV2Config(vocab_size=500, **sizes)).eval())
    batch = batch_of()
    model.save_pretrained(tmp_path)

    again = SpanBoundaryPretraining.from_pretrained(tmp_path, AutoModel).eval()

    torch.testing.assert_close(again(**batch).loss, model(**batch).loss)
    assert {name.split(".")[0] for name in load_file(tmp_path / "heads.safetensors")} == {"mlm", "sbo"}
    content = bytearray((tmp_path / "heads.safetensors").read_bytes())
    content[-1] ^= 1
    (tmp_path / "heads.safetensors").write_bytes(content)
    with pytest.raises(CheckpointError, match=r"heads.safetensors is damaged: its SHA-256"):
        SpanBoundaryPretraining.from_pretrained(tmp_path, AutoModel)


def test_the_tokenizer_travels_along(trained, tmp_path, tokenizers_of, tiny_store):
    from transformers import AutoTokenizer

    trained(bert_of()).save_pretrained(tmp_path / "theirs", tokenizers_of("bert"))
    trained(bert_of()).save_pretrained(tmp_path / "ours", tiny_store.tokenizer())

    for name in ("theirs", "ours"):
        assert AutoTokenizer.from_pretrained(tmp_path / name).mask_token == "[MASK]"


def test_options_of_another_shape_are_refused(trained, tmp_path):
    from transformers import AutoModel

    trained(bert_of()).save_pretrained(tmp_path)

    with pytest.raises(CheckpointError, match=r"the sbo head of .* 'positions.weight' has shape \[30, 200\]"):
        SpanBoundaryPretraining.from_pretrained(tmp_path, AutoModel, num_positions=15)


def test_an_encoder_that_cannot_save_itself_is_refused(tmp_path):
    with pytest.raises(ConfigError, match="PlainEncoder has no save_pretrained"):
        SpanBoundaryPretraining(PlainEncoder()).save_pretrained(tmp_path)


def test_the_record_says_what_the_folder_is(trained, tmp_path):
    trained(bert_of()).save_pretrained(tmp_path)

    record = json.loads((tmp_path / "spanwise.json").read_text())

    assert record["architecture"] == "BertModel" and record["heads"] == {
        "mlm": "heads.safetensors",
        "sbo": "heads.safetensors",
    }
    assert record["pretraining_options"]["position_size"] == 200


def test_the_masked_lm_head_of_a_kind_that_transformers_runs_is_taken_over(tmp_path):
    from transformers import AutoModel

    stock = auto_model("DebertaV2", "ForMaskedLM")
    stock.save_pretrained(tmp_path / "theirs")
    model = SpanBoundaryPretraining.from_pretrained(tmp_path / "theirs", AutoModel)
    assert torch.equal(model.mlm_head.dense.weight, stock.cls.predictions.transform.dense.weight)
    assert torch.equal(model.mlm_head.bias, stock.cls.predictions.bias)
    model.save_pretrained(tmp_path / "ours")
    assert {"mlm", "sbo"} <= set(read_folder(tmp_path / "ours").heads)
