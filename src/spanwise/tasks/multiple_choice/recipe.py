"""How to fine-tune on multiple choice.

Source: Devlin et al. 2019 (BERT), section 4.4 (SWAG: 3 epochs, learning rate 2e-5, batch 16); Liu et al. 2019
(RoBERTa), table 10 (RACE: learning rate 1e-5, batch 16, weight decay 0.1, 4 epochs, length 512); Radford et al. 2018
(GPT-1), section 4.1. SpanBERT's paper has no such task.
"""

from __future__ import annotations

from spanwise.tasks.multiple_choice.task import MultipleChoice
from spanwise.tasks.recipe import GPT1_TRAINING, FinetuningRecipe
from spanwise.training.plan import TrainingOptions


def swag() -> FinetuningRecipe:
    """Short contexts: SWAG, CODAH, HellaSwag, COPA."""
    return FinetuningRecipe(
        task=MultipleChoice(),
        training=TrainingOptions(
            learning_rate=2e-5, warmup_steps=0.1, schedule="linear", weight_decay=0.01, num_epochs=3
        ),
        batch_size=16,
    )


def race() -> FinetuningRecipe:
    """Passages and dialogues: RACE, DREAM."""
    return FinetuningRecipe(
        task=MultipleChoice(max_length=512),
        training=TrainingOptions(
            learning_rate=1e-5, warmup_steps=0.06, schedule="linear", weight_decay=0.1, num_epochs=4
        ),
        batch_size=16,
    )


def gpt1() -> FinetuningRecipe:
    """For a causal model: GPT-1's layout and values, the next token guessed beside the choice."""
    return FinetuningRecipe(
        task=MultipleChoice(max_length=512, layout="extract", lm_weight=0.5), training=GPT1_TRAINING, batch_size=32
    )


RECIPES = {"swag": swag, "race": race, "gpt-1": gpt1}
