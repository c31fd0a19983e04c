"""Losses on someone else's encoder: equal to the formula, exact under accumulation, at the targets alone."""

import copy
import json
import logging

import pytest
import torch
import torch.nn.functional as F
from safetensors.torch import load_file, save_file
from tests.interop.auto.models import auto_model
from torch.utils._python_dispatch import TorchDispatchMode
from toy_encoders import PlainEncoder, bert_of

import spanwise
from spanwise.errors import CheckpointError, ConfigError, DataError
from spanwise.integrations.huggingface import SpanBoundaryOutput, SpanBoundaryPretraining, heads
from spanwise.integrations.huggingface.heads import find_boundaries
from spanwise.interop.checkpoint import build_encoder, build_head
from spanwise.interop.folder_plan import FolderContent
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
    write_folder(tmp_path / "run", FolderContent(encoder, heads))

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


def test_what_the_weights_learned_from_is_handed_on(trained, tmp_path):
    from transformers import AutoModel

    trained(bert_of()).save_pretrained(tmp_path / "fresh")
    encoder = build_encoder(read_folder(tmp_path / "fresh"))
    listed = [{"file": "a.txt", "what": "text", "licence": "CC BY 4.0", "source": "A"}]
    write_folder(tmp_path / "run", FolderContent(encoder, {}, extra={"learned_from": listed}))
    SpanBoundaryPretraining.from_pretrained(tmp_path / "run", AutoModel).save_pretrained(tmp_path / "first")
    SpanBoundaryPretraining.from_pretrained(tmp_path / "first", AutoModel).save_pretrained(tmp_path / "again")
    trained(AutoModel.from_pretrained(tmp_path / "run")).save_pretrained(tmp_path / "wrapped")

    def learned(name):
        listed = json.loads((tmp_path / name / "spanwise.json").read_text())["learned_from"]
        return [(entry["file"], entry["what"], entry["licence"]) for entry in listed]

    text = ("not stated", "text", "not stated")
    assert learned("first") == learned("again") == learned("wrapped") == [("a.txt", "text", "CC BY 4.0"), text]
    assert learned("fresh") == [("BertModel", "weights", "not stated"), text]


def test_the_masked_lm_head_of_a_kind_that_transformers_runs_is_taken_over(tmp_path):
    from transformers import AutoModel

    stock = auto_model("DebertaV2", "ForMaskedLM")
    stock.save_pretrained(tmp_path / "theirs")
    model = SpanBoundaryPretraining.from_pretrained(tmp_path / "theirs", AutoModel)
    assert torch.equal(model.mlm_head.dense.weight, stock.cls.predictions.transform.dense.weight)
    assert torch.equal(model.mlm_head.bias, stock.cls.predictions.bias)
    model.save_pretrained(tmp_path / "ours")
    assert {"mlm", "sbo"} <= set(read_folder(tmp_path / "ours").heads)


def reference(model, batch):
    """Both losses written out, a token at a time, all logits held."""
    hidden = model.encoder(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"]).last_hidden_state
    table = model.encoder.get_input_embeddings().weight
    mlm, sbo = [], []
    found = find_boundaries(batch["labels"] != -100, batch["attention_mask"] == 1)
    for row, place in (batch["labels"] != -100).nonzero().tolist():
        target = batch["labels"][row, place]
        head = model.mlm_head
        inner = F.layer_norm(
            F.gelu(head.dense(hidden[row, place])), (table.shape[1],), head.norm.weight, head.norm.bias, 1e-12
        )
        mlm.append(F.cross_entropy(table @ inner + head.bias, target))
        head, left = model.sbo_head, found.left[row, place]
        position = head.positions.weight[place - left - 1]
        inner = torch.cat([hidden[row, left], hidden[row, found.right[row, place]], position])
        for linear, norm in ((head.linear1, head.norm1), (head.linear2, head.norm2)):
            inner = F.layer_norm(F.gelu(linear(inner)), norm.weight.shape, norm.weight, norm.bias, 1e-12)
        sbo.append(F.cross_entropy(table @ inner + head.bias, target))
    return torch.stack(mlm).mean(), torch.stack(sbo).mean()


def grads(model):
    return {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}


@pytest.mark.parametrize("max_targets", [None, 40])
def test_losses_are_the_formula_of_the_paper(bert, batch_of, max_targets):
    model = SpanBoundaryPretraining(bert, mlm_weight=0.5, sbo_weight=2.0, max_targets=max_targets).eval()
    batch = batch_of()

    output = model(**batch)

    mlm, sbo = reference(model, batch)
    torch.testing.assert_close(output.mlm_loss, mlm, atol=1e-5, rtol=0)
    torch.testing.assert_close(output.sbo_loss, sbo, atol=1e-5, rtol=0)
    torch.testing.assert_close(output.loss, 0.5 * mlm + 2.0 * sbo, atol=1e-5, rtol=0)


@pytest.mark.parametrize("max_targets", [None, 40])
def test_gradients_are_those_of_the_formula(bert, batch_of, max_targets):
    model, batch = SpanBoundaryPretraining(bert, max_targets=max_targets), batch_of()
    sum(reference(model, batch)).backward()
    expected = grads(model)
    model.zero_grad()

    model(**batch).loss.backward()

    assert grads(model).keys() == expected.keys()
    for name, grad in grads(model).items():
        torch.testing.assert_close(grad, expected[name], atol=1e-6, rtol=1e-4, msg=name)


def test_every_parameter_learns_and_starts_near_the_logarithm_of_the_vocabulary(bert, collate, rows_of):
    """Both losses begin at about ln V."""
    model = SpanBoundaryPretraining(bert, num_positions=3)

    output = model(**collate()(rows_of(8, 60)))
    output.loss.backward()

    idle = [name for name, p in model.named_parameters() if p.grad is None or not p.grad.any()]
    assert set(idle) <= {"encoder.embeddings.token_type_embeddings.weight"} | {
        n for n in idle if n.endswith("key.bias")
    }
    assert abs(output.mlm_loss - 6.21) < 0.1 and abs(output.sbo_loss - 6.21) < 0.1


def test_rows_of_the_decoder_are_the_targets(bert, batch_of, monkeypatch):
    seen, real, batch = [], heads.vocabulary_loss, batch_of()
    monkeypatch.setattr(heads, "vocabulary_loss", lambda rows, *rest: seen.append(len(rows)) or real(rows, *rest))

    SpanBoundaryPretraining(bert)(**batch)

    assert seen == [int((batch["labels"] != -100).sum())] * 2


@pytest.mark.parametrize("counts", [(1, 7), (2, 3, 3), (8,)])
def test_accumulated_micro_batches_are_one_big_batch(bert, batch_of, counts):
    """Also where micro-batches have different numbers of targets; parameters after a step within 1e-6."""
    batch = batch_of(8)
    total = (batch["labels"] != -100).sum()
    models = [SpanBoundaryPretraining(copy.deepcopy(bert)) for _ in range(2)]
    optimizers = [torch.optim.SGD(model.parameters(), lr=0.5) for model in models]

    models[0](**batch).loss.backward()
    for part in zip(*(tensor.split(counts) for tensor in batch.values()), strict=True):
        models[1](**dict(zip(batch, part, strict=True)), num_items_in_batch=total).loss.backward()
    for optimizer in optimizers:
        optimizer.step()

    for (name, one), other in zip(models[0].named_parameters(), models[1].parameters(), strict=True):
        torch.testing.assert_close(one, other, atol=1e-6, rtol=0, msg=name)


@pytest.mark.parametrize("items", [None, 0, torch.tensor(0), torch.tensor([[0]])])
@pytest.mark.parametrize("max_targets", [None, 4])
def test_a_batch_without_targets_has_the_loss_zero_and_zero_gradients(bert, batch_of, items, max_targets):
    model, batch = SpanBoundaryPretraining(bert, max_targets=max_targets), batch_of()
    batch["labels"].fill_(-100)

    output = model(**batch, num_items_in_batch=items)
    output.loss.backward()

    assert output.loss == 0.0
    assert all(torch.equal(grad, torch.zeros_like(grad)) for grad in grads(model).values())


class Waits(TorchDispatchMode):
    """Notes every operation whose result's value or shape the host must know: on a GPU each is a wait."""

    NAMES = ("_local_scalar_dense", "nonzero", "masked_select", "item", "unique")

    def __init__(self):
        super().__init__()
        self.seen = []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        name = function.overloadpacket.__name__
        boolean = name == "index" and any(i is not None and i.dtype == torch.bool for i in args[1])
        if name in self.NAMES or boolean:
            self.seen.append(name)
        return function(*args, **(kwargs or {}))


def test_nothing_is_waited_for_where_the_number_of_targets_is_given(plain_encoder):
    """As far as a machine without a GPU can see it, the forward pass holds no operation that reads a value."""
    ids = torch.randint(0, 50, (4, 30))
    labels = torch.where(torch.rand(4, 30) < 0.2, ids, -100)

    with Waits() as fixed:
        SpanBoundaryPretraining(plain_encoder, max_targets=60)(ids, labels=labels, num_items_in_batch=torch.tensor(20))
    assert not fixed.seen
    with Waits() as noticed:
        assert labels[labels > 0].nonzero().sum().item() >= 0
    assert noticed.seen == ["index", "nonzero", "_local_scalar_dense"]


def test_more_targets_than_reserved_are_an_error(plain_encoder):
    ids = torch.randint(0, 50, (2, 10))

    with pytest.raises(RuntimeError, match="more hidden tokens than max_targets"):
        SpanBoundaryPretraining(plain_encoder, max_targets=3)(ids, labels=ids)


def test_reserved_shapes_compile_as_one_graph(plain_encoder):
    model = SpanBoundaryPretraining(plain_encoder, max_targets=60)
    compiled = torch.compile(model, fullgraph=True, backend="eager")
    ids = torch.randint(0, 50, (4, 30))
    labels = torch.where(torch.rand(4, 30) < 0.2, ids, -100)

    torch.testing.assert_close(compiled(ids, labels=labels)["loss"], model(ids, labels=labels).loss)


def test_spans_may_be_said_apart_from_labels(bert, batch_of):
    """Some hidden tokens are no targets, for instance: boundaries still lie outside the whole span."""
    model = SpanBoundaryPretraining(bert).eval()
    ids = torch.arange(20, 30)[None]
    span_mask = torch.tensor([[0, 0, 1, 1, 1, 1, 0, 0, 0, 0]])
    labels = torch.where(torch.arange(10) == 3, ids, -100)

    said = model(input_ids=ids, labels=labels, span_mask=span_mask)
    runs = model(input_ids=ids, labels=labels)

    assert said.mlm_loss == runs.mlm_loss and said.sbo_loss != runs.sbo_loss


def test_edges_follow_the_option(bert, batch_of, collate):
    batch = {
        "input_ids": torch.tensor([[2, 4, 21, 3, 22, 4, 3, 23, 4]]),
        "labels": torch.tensor([[-100, 30, -100, -100, -100, 31, -100, -100, 32]]),
    }
    rows = []
    for options in ({}, {"edges": "skip", "special_ids": collate().special_ids}):
        model = SpanBoundaryPretraining(bert, **options)
        model.sbo_head.rows_at = lambda hidden, places, found: (
            rows.append(places.tolist()) or hidden.flatten(0, 1)[places]
        )
        model(**batch)

    assert rows == [[1, 5], []]  # [CLS] and [SEP] are boundaries, or none is; the end of the row never


def test_the_collator_of_transformers_works_too(bert, numbered, rows_of):
    from transformers import DataCollatorForLanguageModeling

    torch.manual_seed(0)
    batch = DataCollatorForLanguageModeling(numbered)([{"input_ids": row.tolist()} for row in rows_of(3, 40)])

    output = SpanBoundaryPretraining(bert)(**batch)

    assert output.loss.isfinite() and output.sbo_loss > 0


@pytest.mark.parametrize("family", ["RoBERTa", "ALBERT", "ELECTRA", "DeBERTa-v2", "ModernBERT"])
def test_encoders_of_other_families_are_wrapped(batch_of, family):
    import transformers

    shape = {"num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32, "vocab_size": 500}
    names = {"RoBERTa": "Roberta", "ALBERT": "Albert", "ELECTRA": "Electra", "DeBERTa-v2": "DebertaV2"}
    name = names.get(family, family.replace("BERT", "Bert"))
    narrow = {"embedding_size": 8} if family in ("ALBERT", "ELECTRA") else {}
    config = getattr(transformers, f"{name}Config")(hidden_size=16, pad_token_id=0, **shape, **narrow)
    model = SpanBoundaryPretraining(getattr(transformers, f"{name}Model")(config))

    output = model(**batch_of())
    output.loss.backward()

    assert abs(output.loss - 2 * 6.21) < 0.3
    assert all(p.grad.any() for name, p in model.named_parameters() if "_head." in name)


def test_results_of_tuples_tensors_and_dictionaries_are_read(plain_encoder):
    ids = torch.randint(0, 50, (2, 10))
    expected = SpanBoundaryPretraining(plain_encoder)(ids, labels=ids)["loss"]

    for form in (lambda hidden: (hidden, None), lambda hidden: hidden):

        class Other(PlainEncoder):
            def forward(self, input_ids, form=form):
                return form(super().forward(input_ids)["last_hidden_state"])

        other = Other()
        other.load_state_dict(plain_encoder.state_dict())
        torch.testing.assert_close(SpanBoundaryPretraining(other)(ids, labels=ids)["loss"], expected)


def test_without_labels_the_hidden_states_come_back(bert, batch_of):
    batch = batch_of()
    del batch["labels"]

    output = SpanBoundaryPretraining(bert.eval())(**batch)

    assert list(output) == ["last_hidden_state"]
    assert torch.equal(output.last_hidden_state, bert(**batch).last_hidden_state)


def test_an_output_is_a_dictionary_with_attributes():
    output = SpanBoundaryOutput(loss=torch.tensor(1.0))

    assert output.loss is output["loss"] and isinstance(output, dict)
    assert type(output)((key, value) for key, value in output.items()) == output
    with pytest.raises(AttributeError, match="no 'logits'; it has loss"):
        _ = output.logits


def test_autocast_and_checkpointing_give_the_same_loss(batch_of):
    model, batch = SpanBoundaryPretraining(bert_of()).train(), batch_of()
    plain = model(**batch)
    plain.loss.backward()
    expected = grads(model)
    model.zero_grad()

    model.gradient_checkpointing_enable({"use_reentrant": False})
    again = model(**batch)
    again.loss.backward()
    model.gradient_checkpointing_disable()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        mixed = model(**batch)

    torch.testing.assert_close(again.loss, plain.loss)
    for name, grad in grads(model).items():
        torch.testing.assert_close(grad, expected[name], msg=name)
    torch.testing.assert_close(mixed.loss, plain.loss, atol=0.05, rtol=0)
    assert mixed.loss.dtype == torch.float32


def test_a_whole_model_in_bfloat16_works(batch_of):
    model, batch = SpanBoundaryPretraining(bert_of()), batch_of()
    expected = model(**batch).loss

    torch.testing.assert_close(model.to(torch.bfloat16)(**batch).loss, expected, atol=0.1, rtol=0)


def test_ties_outlive_resizing_copies_and_files(batch_of):
    """One table in memory and in the state, whatever happened before."""
    model, batch = SpanBoundaryPretraining(bert_of()), batch_of()
    torch.nn.init.normal_(model.mlm_head.bias)
    before = model(**batch).loss

    model.resize_token_embeddings(512)
    grown = model(**batch).loss
    twin = SpanBoundaryPretraining(bert_of(vocab_size=512))
    missing = twin.load_state_dict(model.state_dict())

    table = model.get_input_embeddings().weight
    assert table.shape[0] == 512 and model.mlm_head.weight is table and model.sbo_head.weight is table
    assert model.mlm_head.bias.shape == (512,) and not model.sbo_head.bias[500:].any()
    assert abs(grown - before) < 0.2  # twelve more ids to choose from
    assert not missing.missing_keys and not missing.unexpected_keys
    torch.testing.assert_close(twin(**batch).loss, grown)
    assert not [name for name in model.state_dict() if "decoder" in name or name.endswith("_head.weight")]
    storages = [tensor.data_ptr() for tensor in model.state_dict().values() if tensor.numel()]
    assert len(storages) == len(set(storages))


def test_a_model_with_a_head_is_refused_with_the_way_out():
    from transformers import BertForMaskedLM

    model = BertForMaskedLM(bert_of().config)

    with pytest.raises(ConfigError, match=r"BertForMaskedLM has a head of its own; pass its encoder.*base_model"):
        SpanBoundaryPretraining(model)
    assert SpanBoundaryPretraining(model.base_model).encoder is model.bert


@pytest.mark.parametrize(
    "options, message",
    [
        ({"mlm_weight": -1.0}, "mlm_weight and sbo_weight are 0 or more"),
        ({"mlm_weight": 0.0, "sbo_weight": 0.0}, "one of them above 0"),
        ({"sbo_weight": float("nan")}, "mlm_weight and sbo_weight"),
        ({"edges": "skip"}, "'skip' together with special_ids"),
        ({"special_ids": [2, 3]}, "'skip' together with special_ids"),
        ({"edges": "wrap"}, "edges is 'special'"),
        ({"max_targets": 0}, "max_targets must be at least 1"),
    ],
)
def test_options_that_cannot_work_are_refused(plain_encoder, options, message):
    with pytest.raises(ConfigError, match=message):
        SpanBoundaryPretraining(plain_encoder, **options)


def test_what_is_no_encoder_is_refused():
    with pytest.raises(ConfigError, match="an encoder is a torch module; got str"):
        SpanBoundaryPretraining("bert-base-cased")
    with pytest.raises(ConfigError, match="set to be a decoder"):
        SpanBoundaryPretraining(bert_of(is_decoder=True))


def test_shapes_that_do_not_fit_are_refused(bert, batch_of):
    batch = batch_of()

    with pytest.raises(DataError, match=r"labels has shape \[4, 5\], input_ids \[4, "):
        SpanBoundaryPretraining(bert)(batch["input_ids"], labels=batch["labels"][:, :5])
