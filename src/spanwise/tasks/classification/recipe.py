"""How to fine-tune on texts: the files of known data sets by name, taught by the rule, and the papers' ways.

Source: "spanbert": Joshi et al. 2020, appendix B and the released command: learning rate 2e-5, batch 32, 10 epochs
(CoLA 4), length 128, warm-up over a tenth. "gpt-1": Radford et al. 2018, sections 3.3 and
4.1.
Differs: the last weights are kept, not the best of ten evaluations an epoch; AdamW with bias correction in
every precision.
"""

import functools
from collections.abc import Callable

from spanwise.tasks.classification.layouts import DATA_SETS
from spanwise.tasks.classification.task import Classification
from spanwise.tasks.recipe import GPT1_TRAINING, FinetuningRecipe, published_recipe, usual_recipe


def classification(dataset: str | None = None) -> FinetuningRecipe:
    """Any file of labelled texts, or the files of a data set by name."""
    return usual_recipe(Classification(dataset=dataset))


def spanbert(dataset: str | None = None) -> FinetuningRecipe:
    """The paper's values; the files of a data set with task.dataset=NAME."""
    return published_recipe(Classification(dataset=dataset), num_epochs=4 if dataset == "cola" else 10)


def gpt1() -> FinetuningRecipe:
    """For a causal model: GPT-1's layout and values, the next token guessed beside the label; the files of a data set
    with task.dataset=NAME."""
    return FinetuningRecipe(
        task=Classification(max_length=512, layout="extract", lm_weight=0.5), training=GPT1_TRAINING, batch_size=32
    )


RECIPES: dict[str, Callable[[], FinetuningRecipe]] = {
    "texts": classification,
    **{name: functools.partial(classification, name) for name in DATA_SETS},
    "spanbert": spanbert,
    "spanbert-cola": functools.partial(spanbert, "cola"),
    "gpt-1": gpt1,
}
