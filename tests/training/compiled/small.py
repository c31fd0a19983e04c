"""Recipes that ship, small enough for a test: two layers, and packs of one shape; every word may be asked for, as each
makes up a good share of a text so small."""

from __future__ import annotations

from dataclasses import replace

from spanwise import recipes
from spanwise.pretraining.masking import RecurringGroups, TwoMaskings
from spanwise.pretraining.recipe import PretrainingRecipe


def small(name: str, **encoder: float) -> PretrainingRecipe:
    """Return the recipe with two layers of 32, sequences of up to 64 tokens and packs of 256, two a step."""
    recipe = recipes.find(name)
    sizes = {"num_layers": 2, "hidden_size": 32, "num_heads": 2, "intermediate_size": 64, "max_positions": 64}
    masking = recipe.masking
    if isinstance(masking, RecurringGroups):
        masking = replace(masking, frequent_share=1.0)
    elif isinstance(masking, TwoMaskings) and isinstance(masking.first, RecurringGroups):
        masking = replace(masking, first=replace(masking.first, frequent_share=1.0))
    return replace(
        recipe,
        masking=masking,
        encoder=replace(recipe.encoder, **sizes, **encoder),
        format=replace(recipe.format, max_length=64),
        batch=replace(recipe.batch, tokens_per_step=512, max_tokens=256, fixed=True),
    )
