"""How to fine-tune on relations: three forms of files, taught by the rule, and the paper's way.

Source: "spanbert": Joshi et al. 2020, appendix B and the released command for TACRED: learning rate 2e-5, batch 32, 10
epochs, length 128, warm-up over a tenth, mentions replaced by their types.
Differs: the last weights are kept, not the best of ten evaluations an epoch.
"""

import functools
from collections.abc import Callable

from spanwise.tasks.recipe import FinetuningRecipe, published_recipe, usual_recipe
from spanwise.tasks.relation.features import Markers
from spanwise.tasks.relation.task import RelationExtraction


def relation(markers: Markers = "ner") -> FinetuningRecipe:
    """Any file of relations; `markers` says how the mentions are shown."""
    return usual_recipe(RelationExtraction(markers=markers))


def spanbert() -> FinetuningRecipe:
    """The paper's values for TACRED."""
    return published_recipe(RelationExtraction(markers="ner"), num_epochs=10)


RECIPES: dict[str, Callable[[], FinetuningRecipe]] = {
    "tacred": relation,
    "semeval": functools.partial(relation, "text"),
    "marked": functools.partial(relation, "text"),
    "spanbert": spanbert,
}
