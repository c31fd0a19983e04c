"""How to fine-tune on texts: the paper's values, and the files of known data sets by name.

Source: Joshi et al. 2020 (SpanBERT), appendix B and the released command: learning rate 2e-5, batch 32, 10 epochs
(CoLA 4), length 128, warm-up over a tenth. "gpt-1": Radford et al. 2018, sections 3.3 and
4.1.
Differs: the last weights are kept, not the best of ten evaluations an epoch; AdamW with bias correction in
every precision.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

from spanwise.tasks.classification.layouts import DATA_SETS
from spanwise.tasks.classification.task import Classification
from spanwise.tasks.recipe import GPT1_TRAINING, FinetuningRecipe
from spanwise.training.plan import TrainingOptions

FEWER_EPOCHS = {"cola": 4.0}


def classification(dataset: str | None = None) -> FinetuningRecipe:
    """Any file of labelled texts, or the files of a data set by name."""
    return FinetuningRecipe(
        task=Classification(dataset=dataset),
        training=TrainingOptions(
            learning_rate=2e-5,
            warmup_steps=0.1,
            schedule="linear",
            weight_decay=0.01,
            num_epochs=FEWER_EPOCHS.get(dataset or "", 10.0),
        ),
        batch_size=32,
    )


def gpt1() -> FinetuningRecipe:
    """For a causal model: GPT-1's layout and values, the next token guessed beside the label; the files of a data set
    with task.dataset=NAME."""
    return FinetuningRecipe(
        task=Classification(max_length=512, layout="extract", lm_weight=0.5), training=GPT1_TRAINING, batch_size=32
    )


RECIPES: dict[str, Callable[[], FinetuningRecipe]] = {
    "texts": classification,
    **{name: functools.partial(classification, name) for name in DATA_SETS},
    "gpt-1": gpt1,
}
