"""Tagging as a task: entities, chunks and word classes, from a file of tags to its scores.

Letters: T tokens in the pack, D hidden size, K tags.
Source: Devlin et al. 2019 (BERT), section 5.3.
"""

import dataclasses
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, ClassVar, Literal, Self

import numpy as np
from pydantic import Field
from torch import Tensor, nn

from spanwise.config import part
from spanwise.config.ranges import Length
from spanwise.data.batch import Batch
from spanwise.errors import DataError
from spanwise.nn.config import EncoderConfig
from spanwise.nn.losses.loss_sum import LossSum
from spanwise.tasks.base import (
    FileScores,
    Score,
    Scores,
    ScoreTable,
    Task,
    counted_lines,
    group_in,
    plain_table,
    shown,
    taught_labels,
    unknown_labels,
    window_length,
)
from spanwise.tasks.files.joining import joined_name
from spanwise.tasks.files.text import OnError, Purpose
from spanwise.tasks.recipe import FinetuningRecipe, published_recipe, usual_recipe
from spanwise.tasks.tagging.features import TARGET, TaggedRows, TagTargets, encode_sentences, tag_loss
from spanwise.tasks.tagging.predictions import TagPredictions, decide, read_tags
from spanwise.tasks.tagging.reader import read_tagged
from spanwise.tasks.tagging.score import entity_scores, unit_scores
from spanwise.tasks.tagging.sentences import Kind, Level, TaggedData
from spanwise.tasks.tagging.spans import Scheme, Span, spans_of, tag_names
from spanwise.text.tokenizers import Tokenizer

PAPER_MAX_LENGTH = 512


@part("tagging")
class Tagging(Task[TaggedData, TaggedRows, np.ndarray, TagPredictions]):
    """Find spans of given types in a text, or tell the class of each word."""

    column: str | None = None  # of the tags: a number from 0, or "upos", "xpos"; None: the one of entity tags
    word_column: Annotated[int, Field(ge=-1000, le=1000)] | None = None
    level: Level | None = None  # what a tag stands at; None: as the training file has it
    kind: Kind | None = None  # None: entities where all tags have the form of entity tags
    scheme: Scheme = "IOB2"  # in which the model learns entities, whatever the file's
    labels: tuple[str, ...] = ()  # the tags by id; () : those of the training file
    max_length: Annotated[Length, Field(ge=4)] | None = None  # tokens per window; None: 512, or all positions
    stride: Length | None = None  # tokens from window to window; None: half a window
    on_overflow: Literal["windows", "error"] = "windows"  # a sentence that is longer

    head_name: ClassVar[str] = "tagging"
    target_name: ClassVar[str] = TARGET
    pipeline_name: ClassVar[str] = "token-classification"

    @property
    def main_score(self) -> str:
        return "accuracy" if self.kind == "classes" else "f1"

    def labelled(self, labels: tuple[str, ...], num_scores: int, problem_type: str | None = None) -> Self:
        """For a folder of others: the tags that its config.json names, read at words."""
        names = labels or tuple(f"LABEL_{number}" for number in range(num_scores))
        kind: Kind = "entities" if all(name == "O" or name[1:2] == "-" for name in names) else "classes"
        return dataclasses.replace(self, labels=names, kind=kind, level=self.level or "words")

    def read(self, path: Path, *, purpose: Purpose, errors: OnError = "strict") -> TaggedData:
        """Raises: DataError naming file and line; also where a model of entities gets word classes, or the reverse."""
        return read_tagged(
            path,
            purpose=purpose,
            column=self.column,
            word_column=self.word_column,
            level=self.level,
            kind=self.kind,
            errors=errors,
        )

    def joined(self, parts: Sequence[TaggedData]) -> TaggedData:
        """Return all sentences. Raises: DataError where two files hold different things."""
        for other in parts[1:]:
            self.check_pair(parts[0], other)
        return TaggedData(
            source=joined_name([part.source for part in parts]),
            sentences=tuple(sentence for part in parts for sentence in part.sentences),
            level=parts[0].level,
            kind=parts[0].kind,
            num_dropped=sum(part.num_dropped for part in parts),
        )

    def check_pair(self, train: TaggedData, dev: TaggedData) -> None:
        """Raises: DataError where the two files hold different things."""
        if (train.kind, train.level) != (dev.kind, dev.level):
            held = [f"{data.kind} of {data.level}" for data in (train, dev)]
            raise DataError(f"{train.source} holds {held[0]} and {dev.source} {held[1]}; take two files of one kind.")

    def taught_by(self, train: TaggedData) -> Self:
        """With the tags of the training file. Raises: DataError where there is nothing to tell."""
        tags = {tag for sentence in train.sentences for tag in sentence.tags}
        found = tag_names(_types(train), self.scheme) if train.kind == "entities" else tuple(sorted(tags))
        labels = taught_labels(self.labels, found, train.source, "tag")
        return dataclasses.replace(self, kind=train.kind, level=train.level, labels=labels)

    def featurize(self, data: TaggedData, tokenizer: Tokenizer, config: EncoderConfig, *, training: bool) -> TaggedRows:
        max_length = window_length(self.max_length, PAPER_MAX_LENGTH, config, "max_length")
        return encode_sentences(
            data,
            tokenizer,
            max_length=max_length,
            stride=self.stride,
            num_token_types=config.num_token_types,
            labels=self.labels if training else (),
            scheme=self.scheme,
            on_overflow=self.on_overflow,
        )

    def describe(self, data: TaggedData, features: TaggedRows) -> list[str]:
        counts = _types(data) if data.kind == "entities" else Counter(t for s in data.sentences for t in s.tags)
        shown = ", ".join(f"{name} ({number:,})" for name, number in counts.most_common(8))
        more = f" and {len(counts) - 8} more" if len(counts) > 8 else ""
        lines = [
            f"{len(data):,} sentences ({int(features.lengths_W.sum()):,} tokens), read at "
            f"{'words' if data.level == 'words' else 'pieces'}, {shown}{more}"
        ]
        share = 100 * features.num_unreached / max(1, counts.total())
        inside = f"spans ({share:.1f} %) begin or end inside a piece: no model of these pieces can find their borders"
        return lines + counted_lines(
            (int((features.num_sequences_W > 1).sum()), "sentences are read in windows"),
            (features.num_unreached, inside),
            (data.num_dropped, "sentences are left out: malformed"),
        )

    def facts(self, config: EncoderConfig) -> list[str]:
        names = sorted({name[2:] for name in self.labels if name != "O"}) if self.kind == "entities" else self.labels
        told = "spans of the types" if self.kind == "entities" else "the class of each word:"
        unit = "at the first piece of each word" if self.level == "words" else "at every piece of the text"
        long = "read in windows; nothing is dropped" if self.on_overflow == "windows" else "refused"
        return [f"Task: tells {told} {', '.join(names)}, {unit}. Long texts are {long}."]

    def loss(self, head: nn.Module, hidden_TD: Tensor, batch: Batch) -> dict[str, LossSum]:
        return {TARGET: tag_loss(head(hidden_TD), batch.target(TARGET, TagTargets))}

    def output(self, head: nn.Module, hidden_TD: Tensor, batch: Batch) -> list[np.ndarray]:
        """The scores [units, K] of each sentence, fp32."""
        targets = batch.target(TARGET, TagTargets)
        scores_NK = head(hidden_TD).float().index_select(0, targets.rows).cpu().numpy()
        return np.split(scores_NK, np.cumsum(targets.num_units)[:-1])

    def decode(self, data: TaggedData, features: TaggedRows, outputs: Sequence[np.ndarray]) -> TagPredictions:
        shown = data if self.kind is None else dataclasses.replace(data, kind=self.kind)
        return decide(shown, outputs, features.unit_spans, self.labels, features.num_sequences_W)

    def score(self, data: TaggedData, predictions: TagPredictions) -> Scores:
        """Return F1, precision, recall and macro F1 of entities with those of each type, or accuracy and macro F1 of
        classes. Files of characters also give `char_accuracy` and `char_macro_f1`."""
        scores = _scores(data, predictions.tags)
        number = self._num_unknown(data)
        return {**scores, "num_unknown_labels": number} if number else scores

    def _num_unknown(self, data: TaggedData) -> int:
        """Gold entities or words of a type that the model does not have."""
        if data.kind == "classes":
            return sum(tag not in self.labels for sentence in data.sentences for tag in sentence.tags)
        known = {name[2:] for name in self.labels}
        return sum(number for name, number in _types(data).items() if name not in known)

    def score_table(self, scores: Scores) -> ScoreTable:
        unknown = "gold tags are of a type that the model does not know; they count as missed."
        if "f1" not in scores:
            return plain_table(scores, unknown)
        keys = ("precision", "recall", "f1")
        types = [(name, group_in(scores, name)) for name, value in scores.items() if isinstance(value, Mapping)]
        rows = [(name, *(shown(group, key) for key in keys)) for name, group in [("all", scores), *types]]
        rest = [name for name in scores if name not in (*keys, "num_unknown_labels", *(name for name, _ in types))]
        notes = [f"{name.replace('_', ' ')} {shown(scores, name)}" for name in rest]
        return ScoreTable(
            columns=("type", "precision", "recall", "F1"),
            rows=tuple(rows),
            notes=(*notes, *unknown_labels(scores, unknown)),
        )

    def prediction_names(self, input: Path) -> Sequence[str]:
        return (".json", ".conll")

    def score_files(self, data: Path, predictions: Path, options: Mapping[str, object]) -> FileScores:
        """Score a file of units and tags (the last column) or a JSON list of texts and spans, sentence by sentence."""
        gold = self.read(data, purpose="score")
        try:
            told = read_tags(predictions, gold)
        except DataError as error:  # a model of the other level may have written them
            if self.level is not None or gold.kind == "classes":
                raise
            gold, told = self._at_other_level(data, gold, predictions, error)
        return FileScores(scores=_scores(gold, told))

    def _at_other_level(
        self, data: Path, gold: TaggedData, predictions: Path, error: DataError
    ) -> tuple[TaggedData, list[tuple[str, ...]]]:
        """Return gold and predictions at the level that the gold file does not have. Raises: `error` if that fails."""
        other: Level = "words" if gold.level == "characters" else "characters"
        try:
            gold = dataclasses.replace(self, level=other).read(data, purpose="score")
            return gold, read_tags(predictions, gold)
        except DataError:
            raise error from None


def _types(data: TaggedData) -> Counter[str]:
    return Counter(span.label for sentence in data.sentences for span in spans_of(sentence.tags))


def _scores(data: TaggedData, told: Sequence[Sequence[str]]) -> dict[str, Score]:
    gold_tags = [tag for sentence in data.sentences for tag in sentence.tags]
    told_tags = [tag for tags in told for tag in tags]
    if data.kind == "classes":
        return {**unit_scores(gold_tags, told_tags)}
    gold: list[list[Span]] = [spans_of(sentence.tags) for sentence in data.sentences]
    scores = entity_scores(gold, [spans_of(tags) for tags in told])
    if data.level == "characters":
        scores |= {f"char_{name}": value for name, value in unit_scores(gold_tags, told_tags).items()}
    return scores


def tagging() -> FinetuningRecipe:
    """Entities, chunks or word classes, as the file has them."""
    return usual_recipe(Tagging())


def bert() -> FinetuningRecipe:
    """BERT's values.

    Source: Devlin et al. 2019 (BERT), section 5.3 and appendix A.3: dropout 0.1, batch 16 or 32, learning rate 5e-5,
    3e-5 or 2e-5, 2 to 4 epochs; the middle of each is taken. SpanBERT's paper has no tagging task.
    """
    return published_recipe(Tagging(), 3e-5, num_epochs=3)


RECIPES = {"tags": tagging, "bert": bert}
