"""Recipes that ship, small enough for a test: two layers, and packs of one shape."""

from __future__ import annotations

from dataclasses import replace

from spanwise import recipes
from spanwise.pretraining.recipe import PretrainingRecipe


def small(name: str, **encoder: float) -> PretrainingRecipe:
    """Return the recipe with two layers of 32, sequences of up to 64 tokens and packs of 256, two a step."""
    recipe = recipes.find(name)
    sizes = {"num_layers": 2, "hidden_size": 32, "num_heads": 2, "intermediate_size": 64, "max_positions": 64}
    return replace(
        recipe,
        encoder=replace(recipe.encoder, **sizes, **encoder),
        format=replace(recipe.format, max_length=64),
        batch=replace(recipe.batch, tokens_per_step=512, max_tokens=256, fixed=True),
    )
