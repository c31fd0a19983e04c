"""What every task answers: read, featurize, build a head, loss, decode, score.

A task is a frozen part: its fields are the options that must travel with a fine-tuned model (lengths, thresholds,
labels), so the record of the part inside a checkpoint is all that prediction needs.

Letters: T tokens in the pack, D hidden size, W examples.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Protocol, Self, runtime_checkable

import numpy as np
from torch import Tensor, nn

from spanwise.data.batch import Batch
from spanwise.errors import ConfigError
from spanwise.nn.config import EncoderConfig
from spanwise.runtime.suggest import did_you_mean
from spanwise.tasks.recipe import FinetuningRecipe
from spanwise.text.tokenizers import Tokenizer


class Features(Protocol):
    """Examples as integers, and how to lay a choice of them into a pack."""

    @property
    def lengths_W(self) -> np.ndarray: ...

    def __len__(self) -> int: ...

    def assemble(self, rows: np.ndarray) -> Batch: ...


@runtime_checkable
class Task(Protocol):
    """One kind of labelled data, from its file to its score.

    `read` gives the task's own data class; `featurize`, `decode` and `score` take it. `output` is what a head says
    about a pack, fp32, one row a token; `decode` gets these rows cut by example. `taught_by` and `tune` return a copy
    of the task with what the training data says (labels) and what is chosen on dev data (thresholds). `score` gives
    numbers from 0 to 100, the best-known first.
    """

    part_name: ClassVar[str]
    head_name: ClassVar[str]  # the head's name in a checkpoint; it decides the Hugging Face class of the folder
    target_name: ClassVar[str]  # the name of its one loss
    main_score: ClassVar[str]

    def read(self, path: Any, *, purpose: str, errors: str = "strict") -> Any: ...

    def check_pair(self, train: Any, dev: Any) -> None: ...

    def taught_by(self, train: Any) -> Self: ...

    def featurize(self, data: Any, tokenizer: Tokenizer, config: EncoderConfig, *, training: bool) -> Features: ...

    def describe(self, data: Any, features: Any) -> list[str]: ...

    def build_head(self, config: EncoderConfig) -> nn.Module: ...

    def loss(self, head: nn.Module, hidden_TD: Tensor, batch: Batch) -> dict[str, Any]: ...

    def output(self, head: nn.Module, hidden_TD: Tensor) -> Tensor: ...

    def decode(self, data: Any, features: Any, outputs: Sequence[np.ndarray]) -> Any: ...

    def tune(self, data: Any, predictions: Any) -> Self: ...

    def score(self, data: Any, predictions: Any) -> dict[str, float]: ...

    def prediction_files(self, predictions: Any) -> Mapping[str, Any]: ...


_RECIPES = {"qa": "spanwise.tasks.qa.recipe:question_answering"}


def task_names() -> list[str]:
    """The names that the commands take."""
    return list(_RECIPES)


def task_recipe(name: str) -> FinetuningRecipe:
    """The recipe of a task by its command-line name, with the paper's values.

    Raises: ConfigError for an unknown name, with the nearest one.
    """
    if name not in _RECIPES:
        raise ConfigError(
            f"there is no task {name!r}; tasks are {', '.join(_RECIPES)}.{did_you_mean(name, task_names())}"
        )
    module, _, function = _RECIPES[name].partition(":")
    return getattr(importlib.import_module(module), function)()
