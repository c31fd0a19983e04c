"""Text in, answers out: `spanwise.pipeline("question-answering", model="run/final")`."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterable
from typing import Any

from spanwise.errors import ConfigError
from spanwise.runtime.suggest import did_you_mean
from spanwise.weights import shipped_folder

__all__ = ["pipeline"]

_PIPELINES = {
    "question-answering": "spanwise.pipelines.question_answering:QuestionAnsweringPipeline",
    "text-classification": "spanwise.pipelines.text_classification:TextClassificationPipeline",
    "token-classification": "spanwise.pipelines.token_classification:TokenClassificationPipeline",
    "relation-extraction": "spanwise.pipelines.relation_extraction:RelationExtractionPipeline",
    "multiple-choice": "spanwise.pipelines.multiple_choice:MultipleChoicePipeline",
    "fill-mask": "spanwise.pipelines.fill_mask:FillMaskPipeline",
    "coreference": "spanwise.pipelines.coreference:CoreferencePipeline",
    "replaced-tokens": "spanwise.pipelines.replaced_tokens:ReplacedTokensPipeline",
    "span-embedding": "spanwise.pipelines.span_embedding:SpanEmbeddingPipeline",
    "text-generation": "spanwise.pipelines.text_generation:TextGenerationPipeline",
}


_DEFAULTS = {"question-answering": "spanwise-nano-qa"}  # shipped with the package; nothing is ever downloaded unasked


def pipeline(task: str, model: Any = None, tokenizer: Any = None, **options: Any) -> Any:
    """A callable for `task` ("question-answering", "fill-mask", ...) with the model of a folder or hub id.

    Without a model, question answering takes the small English one that ships with the package ("spanwise-nano-qa").

    `tokenizer` may be another folder (also one that holds a `vocab.txt` alone); None takes the model's own. The
    options are those of the pipeline's class.

    Raises: ConfigError for an unknown task or option, or without a model; CheckpointError for a model that cannot do
    the task.
    """
    if task not in _PIPELINES:
        known = ", ".join(_PIPELINES)
        raise ConfigError(f"there is no pipeline {task!r}; there is {known}.{did_you_mean(task, list(_PIPELINES))}")
    model = shipped_folder(_DEFAULTS.get(task)) if model is None else model
    if model is None:
        raise ConfigError(f"pipeline {task!r} needs a model: pass model=FOLDER (nothing is downloaded by default).")
    module, _, cls = _PIPELINES[task].partition(":")
    found = getattr(importlib.import_module(module), cls)
    taken = inspect.signature(found).parameters
    if not any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in taken.values()):
        _refuse_unknown(task, options, [name for name in taken if name not in ("model", "tokenizer")])
    return found(model=model, tokenizer=tokenizer, **options)


def _refuse_unknown(task: str, options: Iterable[str], names: list[str]) -> None:
    for name in options:
        if name not in names:
            raise ConfigError(f"{task} has no option {name!r}; it has {', '.join(names)}.{did_you_mean(name, names)}")
