"""The Korean second phase: recurring spans of morphemes, so that a name with another particle recurs."""

from __future__ import annotations

from dataclasses import replace

from spanwise.pretraining.recipe import PretrainingRecipe
from spanwise.recipes.splinter import spanbert_selection_mini


def korean_selection() -> PretrainingRecipe:
    """`spanbert-selection-mini` whose words are morphemes, with the tokenizer's form of Hangul."""
    recipe = spanbert_selection_mini()
    tokenizer = replace(recipe.tokenizer, unicode_form="NFC")
    return replace(recipe, name="korean-selection", tokenizer=tokenizer, word_unit="morpheme")
