"""How to fine-tune on relations.

Source: Joshi et al. 2020 (SpanBERT), appendix B and the released command for TACRED: learning rate 2e-5, batch 32, 10
epochs, length 128, warm-up over a tenth, mentions replaced by their types.
Differs: the last weights are kept, not the best of ten evaluations an epoch.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

from spanwise.tasks.recipe import FinetuningRecipe
from spanwise.tasks.relation.features import Markers
from spanwise.tasks.relation.task import RelationExtraction
from spanwise.training.plan import TrainingOptions


def relation(markers: Markers = "ner") -> FinetuningRecipe:
    """TACRED's values; `markers` says how the mentions are shown."""
    return FinetuningRecipe(
        task=RelationExtraction(markers=markers),
        training=TrainingOptions(
            learning_rate=2e-5, warmup_steps=0.1, schedule="linear", weight_decay=0.01, num_epochs=10
        ),
        batch_size=32,
    )


RECIPES: dict[str, Callable[[], FinetuningRecipe]] = {
    "tacred": relation,
    "semeval": functools.partial(relation, "text"),
    "marked": functools.partial(relation, "text"),
}
