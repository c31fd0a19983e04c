"""The recipes of the shipped weights: English from random weights on a GPU, and the Korean second phase."""

from __future__ import annotations

from dataclasses import replace

from spanwise.pretraining.masking import QuestionTokens, RecurringGroups, Replacement, TwoMaskings
from spanwise.pretraining.objectives import SpanSelection
from spanwise.pretraining.recipe import PackedBatch, PretrainingRecipe
from spanwise.recipes import spanbert_nano
from spanwise.recipes.one_machine import on_modern_encoder
from spanwise.recipes.splinter import spanbert_selection_mini


def english() -> PretrainingRecipe:
    """Three objectives in every sequence, from random weights, on ModernBERT's encoder 256 wide.

    Spans that recur become questions (Ram et al. 2021); of what stays, spans or single pieces are hidden as in
    `spanbert_nano`. Every layer sees the whole sequence, so that a question meets its passage in all of them; sequences
    are as long as the windows of questions, and rotary positions have a base of 10,000, as they are short.
    """
    nano = spanbert_nano()
    recipe = on_modern_encoder(nano, "english-mini", replace(nano.encoder, num_layers=6, intermediate_size=672))
    return replace(
        recipe,
        encoder=replace(recipe.encoder, rotary_base=10_000.0, local_window=None, local_rotary_base=None),
        format=replace(recipe.format, max_length=384),
        masking=TwoMaskings(first=RecurringGroups(), then=recipe.masking),
        replacement=QuestionTokens(others=Replacement()),
        objectives={**recipe.objectives, "span_selection": SpanSelection()},
        batch=PackedBatch(tokens_per_step=32_768, max_tokens=32_768),
        training=replace(
            nano.training, learning_rate=4e-3, budget=200.0, eval_every=1_500, log_every=100, save_minutes=5.0
        ),
    )


def korean_selection() -> PretrainingRecipe:
    """`spanbert-selection-mini` whose words are morphemes, with the tokenizer's form of Hangul."""
    recipe = spanbert_selection_mini()
    tokenizer = replace(recipe.tokenizer, unicode_form="NFC")
    return replace(recipe, name="korean-selection", tokenizer=tokenizer, word_unit="morpheme")
