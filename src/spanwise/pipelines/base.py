"""The common beginning and end of tasks' pipelines: a model is opened with its task, its predictions come out."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar

from spanwise.pipelines.several import chosen_overflow, open_task
from spanwise.runtime.device import Precision


class TaskPipeline:
    """A fine-tuned model that answers. A task's own pipeline says how an input is parsed and an answer looks."""

    task_name: ClassVar[str]  # of tasks/registry.py
    overflow_choices: ClassVar[tuple[str, ...]]  # the values of the task's `on_overflow`

    def __init__(
        self,
        model: Any,
        tokenizer: Any = None,
        *,
        device: str | int | None = None,
        precision: Precision = "fp32",
        on_overflow: str | None = None,
    ) -> None:
        loaded = open_task(self.task_name, model, tokenizer, device, precision)
        task: Any = loaded.task
        choice = chosen_overflow(on_overflow, task.on_overflow, self.overflow_choices)
        self.task = dataclasses.replace(task, on_overflow=choice)
        self.model, self.tokenizer, self.precision = loaded.model, loaded.tokenizer, precision

    def _predict(self, data: Any) -> Any:
        """The task's predictions of its data, all windows in packs of as many tokens as one forward takes."""
        features = self.task.featurize(data, self.tokenizer, self.model.encoder.config, training=False)
        return self.task.decode(data, features, self.model.outputs(features, precision=self.precision))
