"""The paper's way to fine-tune on SQuAD.

Source: Joshi et al. 2020 (SpanBERT), appendix B; FAMILY section 5.1 (README command: learning rate 2e-5, batch 32,
4 epochs, length 512).
Differs: the same AdamW with bias correction in every precision (7C-1); the last weights are kept, not the best of ten
evaluations an epoch (7C-12).
"""

from __future__ import annotations

from spanwise.tasks.qa.task import QuestionAnswering
from spanwise.tasks.recipe import FinetuningRecipe
from spanwise.training.plan import TrainingOptions


def question_answering() -> FinetuningRecipe:
    """SQuAD 1.1 and 2.0 with the paper's values."""
    return FinetuningRecipe(
        task=QuestionAnswering(),
        training=TrainingOptions(
            learning_rate=2e-5, warmup_steps=0.1, schedule="linear", weight_decay=0.01, num_epochs=4
        ),
        batch_size=32,
    )


RECIPES = {"squad": question_answering}
