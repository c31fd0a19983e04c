"""The same step in fewer and in more packs: the same sequences and masks, losses and gradients equal to rounding."""

from dataclasses import fields, is_dataclass, replace

import numpy as np
import pytest
import torch
from toy_packs import with_parts

from spanwise import recipes
from spanwise.data.store_writer import TokenStoreWriter
from spanwise.data.token_store import TokenStore
from spanwise.pretraining.formats import SentencePair, SingleSegment
from spanwise.pretraining.masking import GeometricSpans, QuestionTokens, RecurringGroups, Replacement
from spanwise.pretraining.mixtures.length_warmup import LengthWarmup
from spanwise.pretraining.mixtures.mixed_source import join_masked
from spanwise.pretraining.objectives import MaskedLM, SpanBoundary, SpanSelection
from spanwise.pretraining.packing.fitting import recompute
from spanwise.pretraining.packing.repacked import RepackedSource, most_tokens
from spanwise.pretraining.source import PretrainingSource
from spanwise.pretraining.system import build_model, training_source
from spanwise.text.extend import with_roles
from spanwise.training.optim import build_optimizer
from spanwise.training.step import Updater
from spanwise.training.timing import SectionTimer

SELECTION = dict(
    masking=RecurringGroups(ratio=0.3, frequent_share=1.0),
    replacement=QuestionTokens(),
    objectives={"span_selection": SpanSelection()},
)
CPU = torch.device("cpu")
PORTIONS = 4


@pytest.fixture(scope="module")
def store(documents, tokenizer, tmp_path_factory):
    """The documents with few different ids, so that spans recur, and a tokenizer that has a question token."""
    folder = tmp_path_factory.mktemp("stores") / "store"
    with TokenStoreWriter(folder, with_roles(tokenizer, ["question"])) as writer:
        for document in documents:
            writer.add_document([5 + sentence % 30 for sentence in document])
    return TokenStore.open(folder)


def source_of(store, **options):
    parts = dict(
        format=SingleSegment(max_length=48),
        masking=GeometricSpans(),
        replacement=Replacement(),
        objectives={"mlm": MaskedLM(), "sbo": SpanBoundary()},
        seed=3,
        max_tokens=200,
        packs_per_step=PORTIONS,
    )
    return with_parts(PretrainingSource, store, **{**parts, **options})


def assert_equal(one, other, path=""):
    assert type(one) is type(other), path
    if is_dataclass(one):
        for field in fields(one):
            assert_equal(getattr(one, field.name), getattr(other, field.name), f"{path}.{field.name}")
    elif isinstance(one, dict):
        assert one.keys() == other.keys(), path
        for name in one:
            assert_equal(one[name], other[name], f"{path}.{name}")
    else:
        assert np.array_equal(one, other), path


@pytest.mark.parametrize("num_packs", [1, 2, 3, 5, 8, 30])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"format": SentencePair(max_length=48)},
        {"max_targets": 12},
        SELECTION,
    ],
    ids=["segments", "pairs", "few targets", "shortened"],
)
def test_packs_end_to_end_are_the_step_whatever_their_number(store, options, num_packs):
    source = source_of(store, **options)
    repacked = RepackedSource(source, source.collator.batch, PORTIONS, num_packs)
    for index in (0, 7):
        packs = repacked.masked_step(index)
        whole, found = join_masked(source.masked_step(index)), join_masked(packs)
        for each in (whole, found):  # groups that are in no pack leave no number behind
            for name in ("spans", "chosen"):
                if getattr(each, name) is not None and getattr(each, name).group is not None:
                    object.__setattr__(each, name, renumbered(getattr(each, name)))
            if each.pack.questions is not None and each.pack.questions.group is not None:
                object.__setattr__(each.pack, "questions", renumbered(each.pack.questions))
        assert_equal(found, whole)
        most = min(num_packs, len(whole.pack.block_ids))  # no pack is without a sequence
        assert min(most, 8) * 3 // 4 <= len(packs) <= most
        sizes = [len(pack.input_ids) for pack in packs]
        assert max(sizes) <= most_tokens(200, 48, PORTIONS, num_packs)
        dealt = [repacked.masked_step(index, rank, 2) for rank in (0, 1)]
        assert sorted(p.pack.block_ids.tolist() for part in dealt for p in part) == sorted(
            p.pack.block_ids.tolist() for p in packs
        )
    assert repacked.position(3) == source.position(3) and repacked.tables == source.tables


def renumbered(spans):
    """The same spans with groups numbered by where they begin, and what was kept of those alone."""
    numbers = list(dict.fromkeys(spans.group[spans.group >= 0].tolist()))
    group = np.array([numbers.index(one) if one >= 0 else -1 for one in spans.group])
    kept = spans.kept[numbers] if spans.kept is not None else None
    return replace(spans, group=group, kept=kept)


def small(recipe, **batch):
    shape = dict(hidden_size=32, num_layers=2, num_heads=2, intermediate_size=64, max_positions=64)
    return replace(
        recipe,
        encoder=replace(recipe.encoder, **shape, hidden_dropout=0.1, attention_dropout=0.1),
        format=replace(recipe.format, max_length=48),
        batch=replace(recipe.batch, tokens_per_step=512, max_tokens=256, **batch),
    )


def step_of(recipe, store, *, recomputes=False, precision="fp32"):
    """The mean losses of one step with dropout, and the gradient of every parameter."""
    model = build_model(recipe, store.vocabulary.size).train()
    recompute(model, recomputes)
    updater = Updater(
        model=model,
        optimizer=build_optimizer(model, recipe.training),
        device=CPU,
        precision=precision,
        seed=5,
        max_grad_norm=0.0,
        timer=SectionTimer(CPU),
    )
    packs = training_source(recipe, store).step(3)
    sums, _ = updater.update(2, packs, 0.0)
    gradients = {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}
    return len(packs), sums.means(), gradients


RECIPES = [recipes.spanbert_tiny, recipes.electra_small, recipes.bert_base, recipes.splinter_base]


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.__name__)
def test_a_step_with_dropout_has_equal_losses_and_gradients_in_one_two_and_four_packs(store, recipe):
    found = [step_of(small(recipe(), packs=number), store) for number in (1, 2, 4)]
    assert [number for number, _, _ in found] == [1, 2, 4]
    _, losses, gradients = found[1]
    for _, other_losses, other in (found[0], found[2]):
        assert other_losses == pytest.approx(losses, abs=1e-6, rel=1e-6)
        assert other.keys() == gradients.keys()
        for name, gradient in gradients.items():
            torch.testing.assert_close(other[name], gradient, atol=1e-6, rtol=1e-4, msg=lambda text, n=name: n + text)


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
@pytest.mark.parametrize("recipe", [recipes.spanbert_tiny, recipes.electra_small], ids=lambda recipe: recipe.__name__)
def test_activations_that_are_computed_again_give_equal_bits(store, recipe, precision):
    plain, again = (step_of(small(recipe()), store, recomputes=one, precision=precision) for one in (False, True))
    assert plain[1] == again[1]
    assert all(torch.equal(plain[2][name], again[2][name]) for name in plain[2])


@pytest.mark.parametrize("num_packs", [1, 2, 8])
def test_packs_of_one_shape_keep_one_shape_and_their_losses_in_any_number(num_packs, tiny_store):
    recipe = recipes.spanbert_tiny()
    batch = replace(recipe.batch, tokens_per_step=PORTIONS * 256, max_tokens=256, packs=num_packs)
    recipe = replace(recipe, batch=batch, format=replace(recipe.format, max_length=64))
    fixed = training_source(replace(recipe, batch=replace(recipe.batch, fixed=True)), tiny_store)
    packs = [pack for index in range(3) for pack in fixed.step(index)]
    shapes = {
        (
            len(pack.input_ids),
            len(pack.sequences.cu_seqlens),
            *(len(getattr(one, fields(one)[0].name)) for one in pack.targets.values()),
        )
        for pack in packs
    }
    assert len(shapes) == 1
    plain = training_source(replace(recipe, batch=replace(recipe.batch, fixed=True, packs="auto")), tiny_store)
    for index in range(3):
        ids = [id for pack in fixed.step(index) for id in pack.ids]
        assert ids == [id for pack in plain.step(index) for id in pack.ids]
        assert sum(pack.counts["mlm"] for pack in fixed.step(index)) == sum(
            pack.counts["mlm"] for pack in plain.step(index)
        )


@pytest.mark.parametrize("num_packs", [1, 2])
def test_packs_of_one_shape_hold_the_short_sequences_of_a_warm_up_too(num_packs, tiny_store):
    recipe = recipes.spanbert_tiny()
    batch = replace(recipe.batch, tokens_per_step=4_096, max_tokens=1_024, fixed=True, packs=num_packs)
    warmup = LengthWarmup(steps=2, max_length=16)
    recipe = replace(recipe, batch=batch, format=replace(recipe.format, max_length=64), length_warmup=warmup)

    source = training_source(recipe, tiny_store)
    packs = [pack for index in range(4) for pack in source.step(index)]
    assert len({(len(pack.input_ids), len(pack.sequences.cu_seqlens)) for pack in packs}) == 1
    assert len(packs) == 4 * num_packs
