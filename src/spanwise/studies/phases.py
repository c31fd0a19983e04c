"""Arms of two phases: another recipe first, for a share of the budget, and then the arm's own from its weights.

A *leg* is one training run of an arm: its own recipe, and before it the recipe of its first phase where there is one.
What a study settles per run (rates, tokens, operations) is kept by the names of legs: ARM, and ARM.first.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from spanwise.config import part
from spanwise.pretraining.recipe import PretrainingRecipe

FIRST = ".first"  # behind the name of an arm


@part("first_phase")
class FirstPhase:
    """The recipe that an arm is trained by before its own, and the share of the arm's budget that it has."""

    recipe: PretrainingRecipe
    share: Annotated[float, Field(strict=True, gt=0, lt=1)] = 0.5


@dataclass(frozen=True, kw_only=True)
class Leg:
    """One training run of an arm, and its share of the arm's budget."""

    arm: str
    recipe: PretrainingRecipe
    share: float = 1.0


def first_of(arm: str) -> str:
    """Return the name of the first leg of an arm that has two."""
    return arm + FIRST


def legs_of(arms: Mapping[str, PretrainingRecipe], first: Mapping[str, FirstPhase]) -> dict[str, Leg]:
    """Return the legs of all arms by name, in the order in which an arm runs them."""
    found = {}
    for arm, recipe in arms.items():
        before = first.get(arm)
        if before is not None:
            found[first_of(arm)] = Leg(arm=arm, recipe=before.recipe, share=before.share)
        found[arm] = Leg(arm=arm, recipe=recipe, share=1.0 if before is None else 1.0 - before.share)
    return found
