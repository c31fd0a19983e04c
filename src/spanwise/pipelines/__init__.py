"""Text in, answers out: `spanwise.pipeline("question-answering", model="run/final")`."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from spanwise.errors import ConfigError
from spanwise.runtime.suggest import did_you_mean
from spanwise.weights import shipped_folder

if TYPE_CHECKING:
    from spanwise.pipelines.base import Pipeline
    from spanwise.pipelines.given import Source, TokenizerSource

_PIPELINES = {  # module and class of each, imported when it is asked for
    "question-answering": ("question_answering", "QuestionAnsweringPipeline"),
    "text-classification": ("text_classification", "TextClassificationPipeline"),
    "token-classification": ("token_classification", "TokenClassificationPipeline"),
    "relation-extraction": ("relation_extraction", "RelationExtractionPipeline"),
    "multiple-choice": ("multiple_choice", "MultipleChoicePipeline"),
    "fill-mask": ("fill_mask", "FillMaskPipeline"),
    "coreference": ("coreference", "CoreferencePipeline"),
    "replaced-tokens": ("replaced_tokens", "ReplacedTokensPipeline"),
    "span-embedding": ("span_embedding", "SpanEmbeddingPipeline"),
    "text-generation": ("text_generation", "TextGenerationPipeline"),
}
_DEFAULT = "spanwise-mini"  # ships with the package, in English; nothing is ever downloaded unasked
_BY_DEFAULT = ("question-answering", "token-classification", "coreference", "fill-mask", "span-embedding")


def pipeline(
    task: str, model: Source | None = None, tokenizer: TokenizerSource | None = None, **options: Any
) -> Pipeline[Any, Any, Any]:
    """Return a callable for `task` ("question-answering", "fill-mask", ...) with the model of a folder or hub id.

    Without a model, questions, names, coreference, hidden words and span vectors take the small English one that ships
    with the package ("spanwise-mini").

    `tokenizer` may be another folder (also one that holds a `vocab.txt` alone); None takes the model's own. The
    options are those of the pipeline's class.

    Raises: ConfigError for an unknown task or option, or without a model; CheckpointError for a model that cannot do
    the task.
    """
    if task not in _PIPELINES:
        known = ", ".join(_PIPELINES)
        raise ConfigError(f"there is no pipeline {task!r}; there is {known}.{did_you_mean(task, list(_PIPELINES))}")
    model = shipped_folder(_DEFAULT) if model is None and task in _BY_DEFAULT else model
    if model is None:
        raise ConfigError(f"pipeline {task!r} needs a model: pass model=FOLDER (nothing is downloaded by default).")
    module, name = module_and_class(task)
    return getattr(importlib.import_module(module), name)(model, tokenizer, **options)


def module_and_class(task: str) -> tuple[str, str]:
    """Return where the class of a known task's pipeline is."""
    module, name = _PIPELINES[task]
    return f"spanwise.pipelines.{module}", name
