import math
from dataclasses import fields, replace

import pytest
import torch
from test_system import small
from tests.training.compiled.small import small as in_one_shape

from spanwise import recipes
from spanwise.data.batch import Batch
from spanwise.nn.sequences import Sequences
from spanwise.pretraining.model import PretrainingModel
from spanwise.pretraining.objectives.masked_lm import MaskedLMTargets
from spanwise.pretraining.objectives.span_boundary import SpanBoundaryTargets
from spanwise.pretraining.system import build_model, training_source
from spanwise.training.optim import build_optimizer, decay_groups
from spanwise.training.step import Updater
from spanwise.training.timing import SectionTimer


def test_the_decoder_is_the_word_table_and_counts_once():
    model = build_model(small(), 100)
    for head in model.heads.values():
        assert head.weight is model.encoder.word_embedding
    names = [name for name, _ in model.named_parameters()]
    assert len(names) == len(set(names)) and "encoder.embeddings.word.weight" in names
    assert not any(name.startswith("heads") and name.endswith("word.weight") for name in names)


def test_every_parameter_gets_a_gradient_from_a_real_pack(tiny_store):
    recipe = small()
    model = build_model(recipe, tiny_store.vocabulary.size)
    batch = training_source(recipe, tiny_store).step(0)[0]
    sum(loss.sum for loss in model(batch).values()).backward()
    without = {name for name, p in model.named_parameters() if p.grad is None or not p.grad.any()}
    assert without == set()


def test_a_pack_without_targets_gives_zero_and_zero_gradients(tiny_store):
    recipe = small()
    model = build_model(recipe, tiny_store.vocabulary.size)
    batch = training_source(recipe, tiny_store).step(0)[0]
    empty = {
        name: type(target)(**{one.name: getattr(target, one.name)[:0] for one in fields(target)})
        for name, target in batch.targets.items()
    }
    losses = model(
        Batch(input_ids=batch.input_ids, token_type_ids=batch.token_type_ids, sequences=batch.sequences, targets=empty)
    )
    total = sum(loss.sum for loss in losses.values())
    assert float(total.detach()) == 0.0
    total.backward()
    assert all(torch.isfinite(p.grad).all() for p in model.parameters() if p.grad is not None)


@pytest.mark.parametrize(
    "name", ["spanbert-base", "bert-base", "gpt1-mini", "electra-mini", "spanbert-selection-mini", "splinter-mini"]
)
def test_a_pack_of_fixed_shape_has_the_losses_and_gradients_of_its_content(name, question_store):
    recipe = in_one_shape(name)
    recipe = replace(recipe, batch=replace(recipe.batch, max_tokens=640, tokens_per_step=640))
    model = build_model(recipe, question_store.vocabulary.size).eval()
    source = training_source(recipe, question_store)
    masked = source.masked(source.num_packs(0) - 1)  # the last of an epoch has what is left
    fixed = source.collator.batch(masked)
    source.collator.parts = replace(source.collator.parts, shape=None)
    plain = source.collator.batch(masked)
    assert fixed.num_padding > plain.num_padding and fixed.counts == plain.counts

    (losses, gradients), (plain_losses, plain_gradients) = _measured(model, fixed), _measured(model, plain)

    assert losses == pytest.approx(plain_losses, rel=1e-6)
    for one, other in zip(gradients, plain_gradients, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)


def _measured(model, batch):
    """Loss sums and correct guesses, and all gradients."""
    model.zero_grad()
    losses = model(batch)
    sum(loss.sum for loss in losses.values()).backward()
    numbers = [float(value) for loss in losses.values() for value in (loss.sum.detach(), loss.num_correct)]
    return numbers, [p.grad.clone() for p in model.parameters() if p.grad is not None]


@pytest.mark.parametrize("name", ["spanbert-base", "bert-base", "albert-base"])
def test_a_last_layer_at_declared_rows_changes_neither_losses_nor_gradients(name, tiny_store, monkeypatch):
    recipe = small(recipes.find(name))
    recipe = replace(recipe, encoder=replace(recipe.encoder, hidden_dropout=0.1))
    model = build_model(recipe, tiny_store.vocabulary.size).train()
    batch = training_source(recipe, tiny_store).step(0)[0]
    found, asked, encode = [], [], type(model.encoder).forward
    for whole in (False, True):

        def forward(self, ids, types, sequences, rows=None, whole=whole):
            asked.append(None if rows is None else len(rows))
            return encode(self, ids, types, sequences, None if whole else rows)

        monkeypatch.setattr(type(model.encoder), "forward", forward)
        torch.manual_seed(2)
        losses = model(batch)
        total = torch.stack([loss.sum for loss in losses.values()]).sum()
        found.append((total.detach(), torch.autograd.grad(total, list(model.parameters()))))
    assert asked[0] is not None and asked[0] < 0.6 * len(batch.input_ids)
    torch.testing.assert_close(found[0][0], found[1][0], rtol=1e-5, atol=0)
    for one, other in zip(found[0][1], found[1][1], strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5 * float(other.abs().max()) + 1e-6)


def test_loss_weights_are_the_recipes():
    model = build_model(small(recipes.spanbert_base()), 100)
    assert isinstance(model, PretrainingModel) and model.loss_weights == {"mlm": 1.0, "sbo": 1.0}


def test_fresh_heads_cost_ln_v_at_the_published_vocabulary():
    """Section 9: V = 28,996 gives MLM and SBO about 10.27 each."""
    model = build_model(small(recipes.spanbert_base()), 28_996).eval()
    rows = torch.arange(1, 61)
    targets = {
        "mlm": MaskedLMTargets(positions=rows, ids=rows * 481),
        "sbo": SpanBoundaryTargets(
            left=rows - 1, right=rows + 1, position_index=torch.zeros_like(rows), ids=rows * 481
        ),
    }
    batch = Batch(
        input_ids=torch.arange(62) * 467,
        token_type_ids=torch.zeros(62, dtype=torch.int64),
        sequences=Sequences.from_lengths([62]),
        targets=targets,
    )
    with torch.no_grad():
        means = {name: float(loss.sum) / 60 for name, loss in model(batch).items()}
    assert means == {name: pytest.approx(math.log(28_996), abs=0.05) for name in ("mlm", "sbo")}


def first_gradient_norm(vocab_size, packs):
    recipe = small(recipes.spanbert_base())
    recipe = replace(recipe, encoder=replace(recipe.encoder, hidden_dropout=0.0))
    model, device = build_model(recipe, vocab_size), torch.device("cpu")
    updater = Updater(
        model=model,
        optimizer=build_optimizer(model, recipe.training),
        device=device,
        precision="fp32",
        seed=0,
        max_grad_norm=1.0,
        timer=SectionTimer(device),
    )
    return updater.update(1, packs, 0.0)[1]


def test_the_first_gradient_is_neither_tiny_nor_changed_by_doubling_the_batch(tiny_store):
    """The released code divides twice and gets norms of 0.01, which no clip and no epsilon fit."""
    recipe = small(recipes.spanbert_base())
    size = tiny_store.vocabulary.size
    packs = [batch for index in range(4) for batch in training_source(recipe, tiny_store).step(index)]
    norm = first_gradient_norm(size, packs)
    assert 0.3 < norm < 10
    assert first_gradient_norm(size, packs * 2) == pytest.approx(norm, rel=1e-4)


def test_decay_reaches_the_matrices_and_tables_alone_and_each_parameter_once():
    """The released code decays biases and LayerNorm too."""
    model = build_model(small(recipes.spanbert_base()), 100)
    decayed, plain = decay_groups(model)
    assert not any(name.endswith("bias") or "norm" in name for name in decayed)
    assert all(name.endswith("bias") or "norm" in name for name in plain)
    assert sorted(decayed + plain) == sorted(name for name, _ in model.named_parameters())
    assert sum(name.endswith("word.weight") for name in decayed) == 1


def test_no_number_is_read_back_while_a_pack_is_computed(tiny_store):
    """A device would have to be waited for at each of them."""
    recipe = small()
    model = build_model(recipe, tiny_store.vocabulary.size)
    batch = training_source(recipe, tiny_store).step(0)[0]
    with torch.profiler.profile() as profile:
        sum(loss.sum for loss in model(batch).values()).backward()
    names = {event.name for event in profile.events()}
    assert "aten::mm" in names
    assert not names & {"aten::_local_scalar_dense", "aten::item", "aten::is_nonzero"}
