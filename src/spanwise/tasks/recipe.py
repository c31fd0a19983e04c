"""Fine-tuning as one readable value: the task's options and the training loop's."""

from typing import Annotated, Literal

from pydantic import Field

from spanwise.config import part
from spanwise.config.ranges import MOST_LAYERS, Count, Dropout, PackTokens
from spanwise.tasks.base import Task
from spanwise.training.plan import TrainingOptions

# GPT-1's values for every task (Radford et al. 2018, section 4.1, and the released code).
# Differs: attention dropout is the encoder's own.
GPT1_TRAINING = TrainingOptions(
    learning_rate=6.25e-5,
    warmup_steps=0.002,
    schedule="linear",
    weight_decay=0.01,
    adam_epsilon=1e-8,
    max_grad_norm=1.0,
    num_epochs=3,
)


@part("finetuning_recipe")
class FinetuningRecipe:
    """One fine-tuning run."""

    task: Task  # such as QuestionAnswering, or a part of one's own
    training: TrainingOptions
    batch_size: Count = 32  # examples per step
    pack_tokens: PackTokens = 8_192  # T, of one forward; changes speed and memory only
    hidden_dropout: Dropout | Literal["auto"] | None = None  # None: the encoder's own; auto: by its width
    attention_dropout: Dropout | None = None
    frozen_layers: Annotated[int, Field(ge=0, le=MOST_LAYERS)] | None = None  # n: embeddings and n lowest layers stay
    fresh_head: bool = False  # leave the head that the model has for the task, and begin a new one
    drop_labels: tuple[str, ...] = ()  # of the head that training goes on from: rows that are removed
    replay_share: Annotated[float, Field(gt=0, lt=1)] = 0.2  # of the examples, where there are files of replay
    select: Literal["last", "best"] = "last"  # which weights are kept: at the end, or of the best dev evaluation
    patience: Count | None = None  # stop after so many dev evaluations without a better one
    second_token_type: Literal["as_is", "first", "zeros"] = "as_is"  # after single segments: a copy of row 0, or zeros


def usual_recipe(task: Task, *, batch_size: int = 32) -> FinetuningRecipe:
    """Return a recipe that leaves peak rate, epochs and dropout to the rule (`tasks/teaching/`)."""
    training = TrainingOptions(
        learning_rate="auto", warmup_steps=0.1, schedule="linear", weight_decay=0.01, num_epochs="auto"
    )
    return FinetuningRecipe(task=task, training=training, batch_size=batch_size, hidden_dropout="auto")


def published_recipe(
    task: Task,
    learning_rate: float = 2e-5,
    *,
    num_epochs: float = 4,
    batch_size: int = 32,
    warmup_steps: float = 0.1,
    weight_decay: float = 0.01,
    layer_decay: float = 1.0,
) -> FinetuningRecipe:
    """Return the values that papers fine-tune with (Devlin et al. 2019, section A.3), but those given."""
    training = TrainingOptions(
        learning_rate=learning_rate,
        warmup_steps=warmup_steps,
        schedule="linear",
        weight_decay=weight_decay,
        num_epochs=num_epochs,
        layer_decay=layer_decay,
    )
    return FinetuningRecipe(task=task, training=training, batch_size=batch_size)
