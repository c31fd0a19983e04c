"""How to fine-tune on tagged sentences.

Source: Devlin et al. 2019 (BERT), section 5.3 and appendix A.3: dropout 0.1, batch 16 or 32, learning rate 5e-5, 3e-5
or 2e-5, 2 to 4 epochs; the middle of each is taken. SpanBERT's paper has no tagging task.
"""

from __future__ import annotations

from spanwise.tasks.recipe import FinetuningRecipe
from spanwise.tasks.tagging.task import Tagging
from spanwise.training.plan import TrainingOptions


def tagging() -> FinetuningRecipe:
    """Entities, chunks or word classes, as the file has them."""
    return FinetuningRecipe(
        task=Tagging(),
        training=TrainingOptions(
            learning_rate=3e-5, warmup_steps=0.1, schedule="linear", weight_decay=0.01, num_epochs=3
        ),
        batch_size=32,
    )


RECIPES = {"tags": tagging}
