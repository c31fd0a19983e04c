"""How to fine-tune on coreference: on one machine, and the paper's ways, as tuned on OntoNotes' development data.

The length is given in each: a document is a step, and shows other segments in every epoch.
Source: Joshi et al. 2019, 2020; released configurations. 20 epochs are 56,040 steps of one
document.
Differs: one AdamW for encoder and head (the released code gives the head plain Adam without weight decay), one
clip over both, warm-up for both; the last weights are kept, not the best of all evaluations.
"""

from collections.abc import Callable
from functools import partial
from typing import Literal

from spanwise.tasks.coref.task import Coreference
from spanwise.tasks.recipe import FinetuningRecipe
from spanwise.training.plan import TrainingOptions


def small() -> FinetuningRecipe:
    """Any documents, on one machine: a small head without higher order, which sees every gold mention in training."""
    task = Coreference(ffn_size=256, dropout=0.2, keep_gold=True, tune_threshold=True)
    return _recipe(task, "auto", 5e-4, hidden_dropout="auto")


def documents() -> FinetuningRecipe:
    """The paper's model at the usual rate, with a threshold from dev data: for wide encoders and many documents. The
    head's rate lies among those of the papers (1e-4 to 3e-4)."""
    return _recipe(Coreference(depth=2, tune_threshold=True), "auto", 3e-4, hidden_dropout="auto")


def _recipe(
    task: Coreference,
    learning_rate: float | Literal["auto"],
    head_learning_rate: float,
    hidden_dropout: Literal["auto"] | None = None,
) -> FinetuningRecipe:
    training = TrainingOptions(
        learning_rate=learning_rate,
        head_learning_rate=head_learning_rate,
        warmup_steps=0.1,
        schedule="linear",
        weight_decay=0.01,
        num_epochs=20,
    )
    return FinetuningRecipe(task=task, training=training, batch_size=1, hidden_dropout=hidden_dropout)


def _published(
    learning_rate: float, head_learning_rate: float, *, segment_length: int, num_segments: int
) -> FinetuningRecipe:
    task = Coreference(max_segment_length=segment_length, max_training_segments=num_segments, depth=2)
    return _recipe(task, learning_rate, head_learning_rate)


RECIPES: dict[str, Callable[[], FinetuningRecipe]] = {
    "small": small,
    "documents": documents,
    # beside each the F1 of the released model on OntoNotes' test set
    "spanbert-base": partial(_published, 2e-5, 1e-4, segment_length=384, num_segments=3),  # 77.7
    "spanbert-large": partial(_published, 1e-5, 3e-4, segment_length=512, num_segments=3),  # 79.6
    "bert-base": partial(_published, 1e-5, 2e-4, segment_length=128, num_segments=11),  # 73.9; long segments harm it
    "bert-large": partial(_published, 1e-5, 2e-4, segment_length=384, num_segments=3),  # 76.9
}
