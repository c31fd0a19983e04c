"""Losses on someone else's encoder: equal to the formula, exact under accumulation, at the targets alone."""

import copy

import pytest
import torch
import torch.nn.functional as F
from torch.utils._python_dispatch import TorchDispatchMode
from toy_encoders import PlainEncoder, bert_of

from spanwise.errors import ConfigError, DataError
from spanwise.integrations.huggingface import SpanBoundaryOutput, SpanBoundaryPretraining, heads
from spanwise.integrations.huggingface.span_targets import find_boundaries


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
