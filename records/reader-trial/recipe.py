"""Three objectives at once from random weights, on ModernBERT's encoder."""

from __future__ import annotations

from dataclasses import replace

from spanwise.pretraining.masking import QuestionTokens, RecurringGroups, Replacement, TwoMaskings
from spanwise.pretraining.objectives import SpanSelection
from spanwise.pretraining.recipe import PackedBatch, PretrainingRecipe
from spanwise.recipes import spanbert_nano
from spanwise.recipes.one_machine import on_modern_encoder


def english_reader() -> PretrainingRecipe:
    """Three objectives in every sequence, on ModernBERT's encoder of 4 layers x 256: an hour of two cores.

    Spans that recur become questions (Ram et al. 2021); of what stays, spans or single pieces are hidden as in
    `spanbert_nano`. Every layer sees the whole sequence: with four of them, local ones would leave one or two in which
    a question meets its passage. Rotary base of 10,000, as sequences are short.
    """
    nano = spanbert_nano()
    shape = replace(nano.encoder, num_layers=4, intermediate_size=672)
    recipe = on_modern_encoder(nano, "english-reader", shape)
    return replace(
        recipe,
        encoder=replace(recipe.encoder, rotary_base=10_000.0, local_window=None, local_rotary_base=None),
        masking=TwoMaskings(first=RecurringGroups(), then=recipe.masking),
        replacement=QuestionTokens(others=Replacement()),
        objectives={**recipe.objectives, "span_selection": SpanSelection()},
        batch=PackedBatch(tokens_per_step=8_192, max_tokens=2_048),
        training=replace(nano.training, budget=3_900.0, eval_every=500, log_every=50),
    )
