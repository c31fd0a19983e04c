"""Taggers by the name of the side array they fill."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, cast, get_args

from spanwise.errors import ConfigError
from spanwise.runtime.suggest import did_you_mean
from spanwise.text.corpus import CorpusOptions
from spanwise.text.morphemes import MorphemeTagger
from spanwise.text.spacy_tagger import PhraseKind, SpacyTagger
from spanwise.text.span_file_tagger import SpanFileTagger
from spanwise.text.tags import Tagger

PHRASES: tuple[str, ...] = get_args(PhraseKind)
# Those that need nothing but their library.
_TAGGERS: dict[str, Callable[[], Tagger]] = {MorphemeTagger.name: MorphemeTagger}


def find_tagger(
    name: str,
    *,
    pipeline: str | Any = None,
    spans: str | Path | None = None,
    labels: Collection[str] | None = None,
    options: CorpusOptions | None = None,
) -> Tagger:
    """Make the tagger of a name.

    `pipeline` is a spaCy pipeline, by name or loaded; `spans` a file of spans, for any name; other taggers have a
    library of their own. `labels` are the types of entities to keep, of those that the pipeline finds. `options` are
    those of the corpus: paragraphs of the file are split as it is. Warns of a name that looks like a slip.
    Raises: ConfigError where the name is unknown, or the way to tag is missing, not installed or one too many.
    """
    if spans is not None:
        if pipeline is not None or labels is not None:
            raise ConfigError(f"tags of '{name}' come from {spans}: leave the pipeline and its labels out.")
        known = [*PHRASES, *_TAGGERS]
        if name not in known and (meant := did_you_mean(name, known)):
            warnings.warn(
                f"no masking of spanwise reads tags named '{name}', only one of your own.{meant}", stacklevel=2
            )
        return SpanFileTagger(name, spans, options)
    if name in PHRASES:
        if pipeline is None:
            raise ConfigError(
                f"tagging '{name}' needs a spaCy pipeline or a file of spans: spanwise prepare TEXT --tokenizer DIR "
                f"--out STORE --tag {name} --tagger en_core_web_sm (or --tags FILE.jsonl); then train on it with "
                "--data STORE."
            )
        return SpacyTagger(cast(PhraseKind, name), pipeline, labels=labels)
    if name not in _TAGGERS:
        known = [*PHRASES, *_TAGGERS]
        raise ConfigError(
            f"nothing tags '{name}'; there is {', '.join(known)}, and any name with a file of spans "
            f"(--tags FILE.jsonl).{did_you_mean(name, known)}"
        )
    if pipeline is not None or labels is not None:
        raise ConfigError(f"'{name}' is tagged without a pipeline: leave the pipeline and its labels out.")
    return _TAGGERS[name]()
