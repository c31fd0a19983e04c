"""Heads over another model's word table: the paper's shapes, targets alone, a tie that lasts."""

import copy
import json

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from toy_encoders import PlainEncoder

from spanwise.errors import ConfigError, DataError
from spanwise.integrations.huggingface import SpanBoundaryHead, SpanBoundaryPretraining
from spanwise.integrations.huggingface.heads import TiedMaskedLMHead, find_boundaries, places_of, word_table
from spanwise.integrations.huggingface.rows import read_rows
from spanwise.pretraining.masking.merge import hidden_tokens
from spanwise.pretraining.objectives import SpanBoundary
from spanwise.pretraining.packs import Pack


def bits(text: str) -> torch.Tensor:
    return torch.tensor([[sign == "1" for sign in row] for row in text.split()])


def test_each_hidden_token_knows_the_visible_tokens_around_its_span():
    hidden = bits("0110010 0011100")

    found = find_boundaries(hidden, torch.ones_like(hidden))

    assert found.left[hidden].tolist() == [0, 0, 4, 1, 1, 1]
    assert found.right[hidden].tolist() == [3, 3, 6, 5, 5, 5]
    assert found.index[hidden].tolist() == [0, 1, 0, 0, 1, 2]
    assert torch.equal(found.is_whole, hidden)


def test_a_span_at_an_edge_has_no_boundary_and_never_the_token_at_the_other_end():
    hidden = bits("1000 0001 1111 0110")
    usable = bits("1111 1111 1111 1110")  # the last row ends with padding

    found = find_boundaries(hidden, usable)

    assert not found.is_whole.any()
    assert found.left[0, 0] == -1 and found.right[1, 3] == 4


@pytest.mark.parametrize("edges", ["special", "skip"])
def test_the_targets_are_those_of_our_own_objective(collate, rows_of, edges):
    rows = [row[: 15 + 9 * i] for i, row in enumerate(rows_of(6, 80))]  # the first ones end without [SEP]
    collator = collate(extra_keys="spans", epoch=0)
    batch = collator(rows)
    read = read_rows(rows)
    maskable = ~np.isin(read.input_ids, collator.special_ids)
    pack = Pack(
        input_ids=read.input_ids,
        token_type_ids=read.input_ids,
        borders=read.borders,
        maskable=maskable,
        starts_word=maskable,
        block_ids=np.arange(6),
    )
    _, spans = collator._columns(read)
    expected = SpanBoundary(edges=edges, num_positions=99).targets(pack, spans, hidden_tokens(pack, spans))

    real = batch["attention_mask"] == 1
    usable = real & ~torch.isin(
        batch["input_ids"], torch.tensor(collator.special_ids[: 0 if edges == "special" else None])
    )
    found = find_boundaries(batch["labels"] != -100, usable)

    flat = torch.cumsum(real.flatten(), 0).view_as(real) - 1  # the place in the pack of each padded place
    row, place = found.is_whole.nonzero().T
    assert flat[row, place].tolist() == (expected.left + 1 + expected.position_index).tolist()
    assert flat[row, found.left[row, place]].tolist() == expected.left.tolist()
    assert flat[row, found.right[row, place]].tolist() == expected.right.tolist()
    assert found.index[row, place].tolist() == expected.position_index.tolist()


def test_places_are_those_of_nonzero_cut_or_filled_to_a_size():
    chosen = bits("0110 1000")

    assert places_of(chosen, 3).tolist() == [1, 2, 4]
    assert places_of(chosen, 2).tolist() == [1, 2]
    assert places_of(chosen, 5).tolist() == [1, 2, 4, 0, 0]
    assert places_of(chosen & False, 0).tolist() == []


def test_empty_batches_have_no_targets():
    nothing = torch.zeros(2, 0, dtype=torch.bool)

    found = find_boundaries(nothing, nothing)

    assert places_of(found.is_whole, 0).shape == (0,)


B, L, D, V = 2, 12, 16, 50
MASK_LABELS = torch.tensor([[0, 1, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0], [0, 0, 1, 1, 1, 0, 0, 1, 0, 0, 0, 1]])
PAIRS = [(0, 0, 3, 0), (0, 0, 3, 1), (0, 4, 6, 0), (1, 1, 5, 0), (1, 1, 5, 1), (1, 1, 5, 2), (1, 6, 8, 0)]


@pytest.fixture
def hidden():
    torch.manual_seed(1)
    return torch.randn(B, L, D, requires_grad=True)


@pytest.fixture
def labels():
    return torch.randint(0, V, (B, L), generator=torch.Generator().manual_seed(2))


def reference_logits(head, hidden, table):
    """The formula of the paper, a token at a time: left, right, position; two layers with GELU and LayerNorm."""
    rows = []
    for row, left, right, index in PAIRS:
        parts = hidden[row, left], hidden[row, right], head.positions.weight[index]
        inner = torch.cat(parts) if head.combine == "concat" else sum(parts)
        for linear, norm in ((head.linear1, head.norm1), (head.linear2, head.norm2)):
            inner = F.layer_norm(F.gelu(linear(inner)), norm.weight.shape, norm.weight, norm.bias, 1e-12)
        rows.append(table @ inner + head.bias)
    return torch.stack(rows)


@pytest.mark.parametrize("combine", ["concat", "sum"])
def test_logits_are_those_of_the_papers_formula(plain_encoder, hidden, combine):
    """The span at the end of the second row has no right boundary, so no row."""
    head = SpanBoundaryHead(plain_encoder, combine=combine)
    torch.nn.init.normal_(head.bias)

    logits = head(hidden, MASK_LABELS)

    torch.testing.assert_close(logits, reference_logits(head, hidden, plain_encoder.words.weight), atol=1e-5, rtol=0)


def test_the_loss_is_the_mean_over_the_rows(plain_encoder, hidden, labels):
    head = SpanBoundaryHead(plain_encoder)

    loss = head(hidden, MASK_LABELS, labels=labels)

    places = [(0, 1), (0, 2), (0, 5), (1, 2), (1, 3), (1, 4), (1, 7)]
    ids = torch.stack([labels[place] for place in places])
    torch.testing.assert_close(loss, F.cross_entropy(head(hidden, MASK_LABELS), ids), atol=1e-5, rtol=0)


def test_the_attention_mask_takes_boundaries_away(plain_encoder, hidden):
    attention = torch.ones(B, L, dtype=torch.int64)
    attention[0, 6:] = 0  # the right boundary of the span at 5
    attention[1, 1] = 0  # the left boundary of the span at 2

    assert SpanBoundaryHead(plain_encoder)(hidden, MASK_LABELS, attention_mask=attention).shape == (3, V)


def test_shapes_are_those_of_the_paper(plain_encoder):
    """2D + 200 inputs, both layers with a bias, norms with 1e-12, no dropout, no second decoder."""
    head = SpanBoundaryHead(plain_encoder, num_positions=15)

    shapes = {name: tuple(parameter.shape) for name, parameter in head.named_parameters()}

    assert shapes == {
        "bias": (V,),
        "positions.weight": (15, 200),
        "linear1.weight": (D, 2 * D + 200),
        "linear1.bias": (D,),
        "norm1.weight": (D,),
        "norm1.bias": (D,),
        "linear2.weight": (D, D),
        "linear2.bias": (D,),
        "norm2.weight": (D,),
        "norm2.bias": (D,),
    }
    assert head.norm1.eps == head.norm2.eps == 1e-12
    assert not [module for module in head.modules() if isinstance(module, torch.nn.Dropout)]


@pytest.mark.parametrize("combine", ["concat", "sum"])
def test_every_parameter_of_the_head_learns(plain_encoder, hidden, labels, combine):
    """Nothing only decays."""
    head = SpanBoundaryHead(plain_encoder, combine=combine, num_positions=3)

    head(hidden, MASK_LABELS, labels=labels).backward()

    assert not [name for name, parameter in head.named_parameters() if not parameter.grad.abs().sum()]
    assert plain_encoder.words.weight.grad.abs().sum() and hidden.grad.abs().sum()


def test_only_targets_enter_the_decoder(plain_encoder, hidden, labels, monkeypatch):
    from spanwise.integrations.huggingface import heads

    seen = []
    real = heads.vocabulary_loss
    monkeypatch.setattr(heads, "vocabulary_loss", lambda rows, *rest: seen.append(len(rows)) or real(rows, *rest))

    SpanBoundaryHead(plain_encoder)(hidden, MASK_LABELS, labels=labels)

    assert seen == [len(PAIRS)]


def num_nodes(loss) -> int:
    seen, waiting = set(), [loss.grad_fn]
    while waiting:
        node = waiting.pop()
        if node is not None and node not in seen:
            seen.add(node)
            waiting += [parent for parent, _ in node.next_functions]
    return len(seen)


def test_the_graph_does_not_grow_with_the_number_of_spans(plain_encoder, hidden, labels):
    head = SpanBoundaryHead(plain_encoder)
    one = torch.zeros_like(MASK_LABELS)
    one[0, 1] = 1

    assert num_nodes(head(hidden, one, labels=labels)) == num_nodes(head(hidden, MASK_LABELS, labels=labels))


def test_no_hidden_token_gives_the_loss_zero_and_gradients_of_zeros(plain_encoder, hidden, labels):
    head = SpanBoundaryHead(plain_encoder)

    loss = head(hidden, torch.zeros_like(MASK_LABELS), labels=labels)
    loss.backward()

    assert loss == 0.0
    assert all(not parameter.grad.any() for parameter in head.parameters()) and not hidden.grad.any()
    assert head(hidden, torch.zeros_like(MASK_LABELS)).shape == (0, V)


def test_a_long_span_shares_the_last_row_or_is_left_out(plain_encoder):
    """Eighty tokens in one span."""
    hidden, marks = torch.randn(1, 82, D), torch.ones(1, 82, dtype=torch.int64)
    marks[0, [0, 81]] = 0

    assert SpanBoundaryHead(plain_encoder)(hidden, marks).shape == (80, V)
    assert SpanBoundaryHead(plain_encoder, num_positions=15, beyond="skip")(hidden, marks).shape == (15, V)


@pytest.mark.parametrize("head_class", [SpanBoundaryHead, TiedMaskedLMHead])
def test_the_decoder_is_the_models_table_and_no_tensor_of_the_head(head_class):
    """After moves, copies and a new table, too; the file has no second copy."""
    from transformers import BertConfig, BertModel

    sizes = {"hidden_size": D, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8}
    model = BertModel(BertConfig(vocab_size=V, **sizes))
    both = torch.nn.ModuleDict({"model": model, "head": head_class(model)})

    assert both["head"].weight is model.get_input_embeddings().weight
    twin = copy.deepcopy(both)
    assert twin["head"].weight is twin["model"].get_input_embeddings().weight
    assert twin["head"].weight is not both["head"].weight
    both.to(torch.float64).to(torch.float32).to("meta")
    assert both["head"].weight is model.get_input_embeddings().weight and both["head"].weight.is_meta
    assert not [name for name in twin["head"].state_dict() if name in ("weight", "decoder.weight", "decoder.bias")]

    twin["model"].resize_token_embeddings(V + 6)
    assert twin["head"].weight is twin["model"].get_input_embeddings().weight
    with pytest.raises(ConfigError, match=r"56 rows and the head's bias 50; resize"):
        twin["head"].logits(torch.zeros(1, D))
    twin["head"].resize(V + 6)
    assert twin["head"].logits(torch.zeros(1, D)).shape == (1, V + 6)


def test_a_factorised_table_is_met_in_its_own_width():
    encoder = PlainEncoder(hidden_size=8)  # a table of 8 columns below hidden states of 16
    pair, own = SpanBoundaryHead(encoder, hidden_size=D), TiedMaskedLMHead(encoder, hidden_size=D)
    hidden = torch.randn(B, L, D)

    assert pair(hidden, MASK_LABELS).shape == (7, V)
    assert own.logits(own.rows_at(hidden, torch.tensor([0, 5]))).shape == (2, V)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_heads_of_half_precision_and_hidden_states_of_half_precision_work(plain_encoder, hidden, labels, dtype):
    head = SpanBoundaryHead(plain_encoder)
    expected = head(hidden, MASK_LABELS, labels=labels)

    mixed = head(hidden.to(dtype), MASK_LABELS, labels=labels)
    plain_encoder.to(dtype)
    half = head.to(dtype)(hidden.to(dtype), MASK_LABELS, labels=labels)

    assert mixed.dtype == half.dtype == torch.float32
    torch.testing.assert_close(mixed, expected, atol=0.02, rtol=0.01)
    torch.testing.assert_close(half, expected, atol=0.05, rtol=0.02)


def test_heads_of_one_seed_are_alike_on_every_machine(plain_encoder):
    first, again, other = (SpanBoundaryHead(plain_encoder, seed=seed) for seed in (3, 3, 4))

    assert torch.equal(first.linear1.weight, again.linear1.weight)
    assert not torch.equal(first.linear1.weight, other.linear1.weight)
    assert abs(first.linear1.weight.std() - 0.02) < 0.002


@pytest.mark.parametrize(
    "options, message",
    [
        ({"combine": "mean"}, "combine is 'concat' or 'sum'"),
        ({"beyond": "wrap"}, "beyond 'last' or 'skip'"),
        ({"combine": "sum", "position_size": 200}, "position_size=200 can't be"),
        ({"num_positions": 0}, "num_positions and position_size must be at least 1"),
        ({"position_size": 0}, "num_positions and position_size must be at least 1"),
    ],
)
def test_options_that_cannot_work_are_refused(plain_encoder, options, message):
    """No option is silently without effect."""
    with pytest.raises(ConfigError, match=message):
        SpanBoundaryHead(plain_encoder, **options)


def test_shapes_that_do_not_fit_are_refused(plain_encoder, hidden):
    with pytest.raises(DataError, match=r"hidden must be \[B, L, D\] and mask_labels \[B, L\]"):
        SpanBoundaryHead(plain_encoder)(hidden, MASK_LABELS[:, :5])


def test_what_has_no_word_table_is_refused():
    with pytest.raises(ConfigError, match="LayerNorm shows no word table"):
        word_table(torch.nn.LayerNorm(3))


def replica_of(model):
    """A copy as torch's DataParallel makes one for a second device: its tensors are no parameters."""
    copies = {module: module._replicate_for_data_parallel() for module in model.modules()}
    for module, replica in copies.items():
        for name, child in module._modules.items():
            setattr(replica, name, copies.get(child))
        for name, tensor in module._parameters.items():
            if tensor is not None:
                setattr(replica, name, 1.5 * tensor)
    return copies[model]


def test_a_replica_of_data_parallel_scores_with_its_own_word_table(bert, batch_of):
    """The original's lies on another device."""
    model, batch = SpanBoundaryPretraining(bert), batch_of()
    replica, larger = replica_of(model), copy.deepcopy(model)
    with torch.no_grad():
        for parameter in larger.parameters():
            parameter *= 1.5

    output = replica(**batch)

    for name in ("mlm_loss", "sbo_loss"):
        torch.testing.assert_close(output[name], larger(**batch)[name])
    output.loss.backward()
    assert all(parameter.grad is not None for parameter in model.sbo_head.parameters())
    assert model.mlm_head.weight is bert.get_input_embeddings().weight


@pytest.mark.parametrize("record", [{"format_version": 99}, {"format_version": 1, "learned_from": [{"files": 3}]}, []])
def test_an_encoder_whose_record_can_not_be_read_learned_from_weights(bert, record, tmp_path, caplog):
    """Nothing else of the record is needed: the encoder is there already."""
    (tmp_path / "spanwise.json").write_text(json.dumps(record))
    bert.config.name_or_path = str(tmp_path)

    (learned,) = SpanBoundaryPretraining(bert).learned

    assert (learned.file, learned.what) == (tmp_path.name, "weights")
    assert "What the weights learned from is not known" in caplog.text and "spanwise.json" in caplog.text
