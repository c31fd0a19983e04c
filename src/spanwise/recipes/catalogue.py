"""Recipes by name: ours with dashes, a user's as `file.py:function`."""

from spanwise.config.user_files import functions_of, made_by, opening
from spanwise.pretraining.recipe import PretrainingRecipe
from spanwise.recipes import (
    albert,
    bert,
    crosses,
    electra,
    gpt,
    roberta,
    spanbert,
    spanbert_ablations,
    spanbert_ko,
    spanbert_modern,
    splinter,
)

_FAMILIES = (
    spanbert, spanbert_modern, spanbert_ko, spanbert_ablations, splinter, bert, roberta, albert, electra, gpt, crosses,
)  # fmt: skip


def names() -> list[str]:
    """Every recipe that is shipped, in the order of its file."""
    return [name for family in _FAMILIES for name in functions_of(family)]


def families() -> dict[str, dict[str, str]]:
    """Every recipe by family: the family's name, then recipe name -> what it is in a line."""
    return {
        opening(family).partition(":")[0]: {name: opening(function) for name, function in functions_of(family).items()}
        for family in _FAMILIES
    }


def find(reference: str) -> PretrainingRecipe:
    """Build the recipe of a name (`spanbert-base`) or of a user's function (`my_recipes.py:my_function`).

    A user's file is a program and is run as one.
    Raises: ConfigError with the nearest name, or naming the file and what is wrong with it.
    """
    functions = {name: function for family in _FAMILIES for name, function in functions_of(family).items()}
    return made_by(reference, "recipe", PretrainingRecipe, functions)
