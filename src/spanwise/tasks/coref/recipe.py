"""The paper's ways to fine-tune on OntoNotes, as tuned on its development data.

Source: Joshi et al. 2019, 2020; released configurations. 20 epochs are 56,040 steps of one
document.
Differs: one AdamW for encoder and head (the released code gives the head plain Adam without weight decay), one
clip over both, warm-up for both; the last weights are kept, not the best of all evaluations.
"""

from collections.abc import Callable
from functools import partial

from spanwise.tasks.coref.task import Coreference
from spanwise.tasks.recipe import FinetuningRecipe
from spanwise.training.plan import TrainingOptions


def small() -> FinetuningRecipe:
    """For encoders and data of one machine: a small head without higher order, segments as the encoder has them."""
    return FinetuningRecipe(
        task=Coreference(ffn_size=256, dropout=0.2, keep_gold=True),
        training=TrainingOptions(
            learning_rate=1e-4, head_learning_rate=5e-4, warmup_steps=0.1, weight_decay=0.01, num_epochs=20
        ),
        batch_size=1,
    )


def _recipe(
    learning_rate: float, head_learning_rate: float, *, segment_length: int, num_segments: int
) -> FinetuningRecipe:
    return FinetuningRecipe(
        task=Coreference(max_segment_length=segment_length, max_training_segments=num_segments, depth=2),
        training=TrainingOptions(
            learning_rate=learning_rate,
            head_learning_rate=head_learning_rate,
            warmup_steps=0.1,
            schedule="linear",
            weight_decay=0.01,
            num_epochs=20,
        ),
        batch_size=1,
    )


# beside each the F1 of the released model on OntoNotes' test set
RECIPES: dict[str, Callable[[], FinetuningRecipe]] = {
    "spanbert-base": partial(_recipe, 2e-5, 1e-4, segment_length=384, num_segments=3),  # 77.7
    "spanbert-large": partial(_recipe, 1e-5, 3e-4, segment_length=512, num_segments=3),  # 79.6
    "bert-base": partial(_recipe, 1e-5, 2e-4, segment_length=128, num_segments=11),  # 73.9; long segments harm it
    "bert-large": partial(_recipe, 1e-5, 2e-4, segment_length=384, num_segments=3),  # 76.9
    "small": small,
}
