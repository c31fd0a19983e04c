"""The published numbers stand in the recipes, and each leaves the paper as it says."""

import pytest
from tests.recipes.counts import parameters_of, theirs
from transformers import SplinterConfig, SplinterForPreTraining

from spanwise import recipes
from spanwise.config import difference
from spanwise.pretraining.masking import GeometricSpans, MaskingMixture, RecurringGroups, TwoMaskings
from spanwise.pretraining.system import check


def changed(one, other) -> set[str]:
    return {path for path, _, _ in difference(one, other)}


def test_the_original_recipe_is_that_of_the_released_code():
    original = recipes.splinter_base_original()
    shape, masking, training = original.encoder, original.masking, original.training
    assert (shape.num_layers, shape.hidden_size, shape.num_heads) == (12, 768, 12)
    assert (original.tokenizer.kind, original.tokenizer.vocab_size, original.tokenizer.cased) == (
        "wordpiece", 28_996, True,
    )  # fmt: skip
    assert (masking.max_pieces, masking.max_spans, masking.ratio) == (10, 30, 0.15)
    assert (masking.stop_words, masking.end, original.num_maskings) == ("english", "spans", 5)
    assert original.replacement.others is None and original.replacement.following == "moves_up"
    assert list(original.objectives) == ["span_selection"]
    assert original.batch.packs_per_step * original.batch.max_tokens == 256 * 512
    assert (training.learning_rate, training.warmup_steps, training.max_steps) == (1e-4, 10_000, 2_400_000)
    assert changed(original, recipes.splinter_base()) == {
        "name", "masking.stop_words", "masking.end", "num_maskings", "differences",
    }  # fmt: skip


def test_parameters_are_those_of_the_published_class():
    found = parameters_of(recipes.splinter_base_original())
    assert found["total"] == theirs(SplinterForPreTraining, SplinterConfig(vocab_size=28_996))


@pytest.mark.parametrize("size", ["small", "mini"])
def test_small_ones_have_the_parts_of_the_base(size):
    small, base = getattr(recipes, f"splinter_{size}")(), recipes.splinter_base()
    assert (small.masking, small.replacement, small.objectives) == (base.masking, base.replacement, base.objectives)
    assert set(base.differences) <= set(small.differences)


@pytest.mark.parametrize("size", ["small", "mini"])
def test_three_losses_come_from_one_pass(size):
    mixed, spanbert = getattr(recipes, f"spanbert_selection_{size}")(), getattr(recipes, f"spanbert_{size}")()
    assert {path.partition(".")[0] for path in changed(mixed, spanbert)} == {
        "name", "masking", "replacement", "objectives", "differences",
    }  # fmt: skip
    assert list(mixed.objectives) == ["mlm", "sbo", "span_selection"]
    assert mixed.masking == TwoMaskings(first=RecurringGroups(), then=spanbert.masking)


def test_or_from_other_sequences_of_the_same_packs():
    mixture = recipes.spanbert_selection_mixture_mini()
    assert mixture.masking == MaskingMixture(schemes={"spans": GeometricSpans(), "questions": RecurringGroups()})
    assert changed(mixture, recipes.spanbert_selection_mini()) >= {"name"}
    check(mixture)
    assert not [line for line in mixture.differences if "from what it leaves" in line]
    assert [line for line in mixture.differences if "in one half of the sequences" in line]


def test_a_second_phase_is_shorter_and_slower_and_takes_any_shape():
    phase, mini = recipes.splinter_second_phase(), recipes.splinter_mini()
    assert changed(phase, mini) == {"name", "training.learning_rate", "training.max_tokens", "differences"}
    assert phase.training.learning_rate < mini.training.learning_rate
    assert phase.training.max_tokens < mini.training.max_tokens


def test_korean_spans_are_made_of_morphemes():
    korean = recipes.splinter_ko_mini()
    assert korean.word_unit == "morpheme" and korean.tokenizer.boundaries == "morphemes"
    assert korean.masking == recipes.splinter_mini().masking and korean.masking.stop_words == "counted"
