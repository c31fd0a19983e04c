"""Relation extraction as a task: how are two mentions of a text related?

Letters: T tokens in the pack, D hidden size, K relations.
Source: Joshi et al. 2020 (SpanBERT), section 4.2.
"""

import dataclasses
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import ClassVar, Literal, Self

import numpy as np
from torch import Tensor, nn

from spanwise.config import part
from spanwise.config.ranges import Room
from spanwise.data.batch import Batch
from spanwise.errors import CheckpointError, ConfigError, DataError
from spanwise.nn.config import EncoderConfig
from spanwise.nn.losses.loss_sum import LossSum
from spanwise.tasks.base import (
    FileScores,
    Scores,
    ScoreTable,
    Task,
    check_known,
    counted_lines,
    missing_note,
    plain_table,
    taught_labels,
)
from spanwise.tasks.classification.features import TARGET, ClassTargets, LabelledRows, class_loss, example_scores
from spanwise.tasks.classification.predictions import ClassPredictions, decide, read_predictions
from spanwise.tasks.classification.score import label_scores
from spanwise.tasks.files.joining import joined_name, told_apart
from spanwise.tasks.files.tables import holds_json
from spanwise.tasks.files.text import OnError, Purpose
from spanwise.tasks.free_pieces import free_pieces
from spanwise.tasks.relation.features import Markers, encode_pairs, marker_names
from spanwise.tasks.relation.pairs import RelationData
from spanwise.tasks.relation.reader import read_key, read_relations, read_sentences_key
from spanwise.tasks.relation.score import NEGATIVE, OTHER, micro_scores, semeval_scores
from spanwise.text.tokenizers import Tokenizer

NEGATIVES = (NEGATIVE, OTHER, "None", "NONE", "false")
Metric = Literal["tacred", "semeval", "labels"]


@part("relation")
class RelationExtraction(Task[RelationData, LabelledRows, np.ndarray, ClassPredictions]):
    """Tell the relation between two mentions, or that there is none."""

    markers: Markers = "ner"  # how the mentions are shown; relation/features.py draws each way
    metric: Metric | None = None  # None: SemEval's for its files, TACRED's with a negative label, else "labels"
    labels: tuple[str, ...] = ()  # in the order of the scores: the negative one first, then by number in training
    marker_names: tuple[str, ...] = ()  # the k-th one is the k-th piece [unusedN] of the vocabulary
    max_length: Room = 128  # tokens per sequence
    on_overflow: Literal["truncate", "error"] = "truncate"  # words far from both mentions are dropped and counted

    head_name: ClassVar[str] = "classification"
    target_name: ClassVar[str] = TARGET
    pipeline_name: ClassVar[str] = "relation-extraction"

    @property
    def main_score(self) -> str:
        return {"semeval": "macro_f1", "labels": "micro_f1"}.get(self.metric or "", "f1")

    @property
    def pieces(self) -> tuple[str, ...]:
        return free_pieces(len(self.marker_names))

    def with_rows(self, names: tuple[str, ...], before: Self) -> Self:
        """Markers keep their pieces; new ones get the next."""
        new = tuple(name for name in self.marker_names if name not in before.marker_names)
        return dataclasses.replace(self, labels=names, marker_names=(*before.marker_names, *new))

    def labelled(self, labels: tuple[str, ...], num_scores: int, problem_type: str | None = None) -> Self:
        """Raises: CheckpointError: a folder without a record says nothing of its markers."""
        raise CheckpointError(
            "this folder has a classifier and no record of a relation task: how mentions were marked is not known. "
            "Fine-tune it: spanwise finetune relation --model FOLDER --train FILE --out RUN"
        )

    def read(self, path: Path, *, purpose: Purpose, errors: OnError = "strict") -> RelationData:
        return read_relations(path, purpose=purpose, errors=errors)

    def joined(self, parts: Sequence[RelationData]) -> RelationData:
        """Return all pairs. Raises: DataError where the files are scored in different ways."""
        for other in parts[1:]:
            self.check_pair(parts[0], other)
        ids = told_apart([pair.id for pair in part.pairs] for part in parts)
        return RelationData(
            source=joined_name([part.source for part in parts]),
            pairs=tuple(
                dataclasses.replace(pair, id=id)
                for part, names in zip(parts, ids, strict=True)
                for pair, id in zip(part.pairs, names, strict=True)
            ),
            format=parts[0].format,
            num_dropped=sum(part.num_dropped for part in parts),
        )

    def check_pair(self, train: RelationData, dev: RelationData) -> None:
        """Raises: DataError where the two files are scored in different ways."""
        if (train.format == "semeval") is not (dev.format == "semeval"):
            raise DataError(
                f"{train.source} is a {train.format} file and {dev.source} a {dev.format} one; take two of one kind."
            )

    def taught_by(self, train: RelationData) -> Self:
        """With labels, markers and metric of the training file.

        Raises: DataError where there is one relation alone; ConfigError for a way of marking by types that the file
        does not have.
        """
        counts = Counter(pair.label for pair in train.pairs)
        negative = _negative_of(counts)
        found = sorted(counts, key=lambda name: (name != negative, -counts[name], name))
        labels = taught_labels(self.labels, found, train.source, "relation")
        has_types = any(pair.subject.type or pair.object.type for pair in train.pairs)
        if not has_types and self.markers in ("ner", "text_ner", "ner_text", "typed"):
            raise ConfigError(
                f"task.markers={self.markers} shows the types of mentions, and {train.source} has none; take "
                "task.markers=text."
            )
        metric = self._metric_of(train, negative)
        names = marker_names(self.markers, train.pairs)
        return dataclasses.replace(self, labels=labels, marker_names=names, metric=metric)

    def featurize(
        self, data: RelationData, tokenizer: Tokenizer, config: EncoderConfig, *, training: bool
    ) -> LabelledRows:
        gold = None
        if training:
            number_of = {name: number for number, name in enumerate(self.labels)}
            gold = np.array([number_of[pair.label] for pair in data.pairs], dtype=np.int64)
        return encode_pairs(
            data,
            tokenizer,
            markers=self.markers,
            names=self.marker_names,
            max_length=min(self.max_length, config.max_positions),
            num_token_types=config.num_token_types,
            on_overflow=self.on_overflow,
            gold=gold,
        )

    def describe(self, data: RelationData, features: LabelledRows) -> list[str]:
        counts = Counter(pair.label for pair in data.pairs)
        shown = ", ".join(f"{name} ({number:,})" for name, number in counts.most_common(6))
        more = f" and {len(counts) - 6} more" if len(counts) > 6 else ""
        lines = [f"{len(data):,} pairs of mentions ({int(features.lengths_W.sum()):,} tokens), {shown}{more}"]
        if self.marker_names:
            lines.append(
                f"mentions are shown as {self.markers!r} with {len(self.marker_names)} markers ([unusedN] pieces)"
            )
        overlaps = sum(p.subject.start < p.object.end and p.object.start < p.subject.end for p in data.pairs)
        lines += counted_lines(
            (features.num_cut, f"are {features.cut_words(' around their mentions')}"),
            (overlaps, "have mentions that overlap"),
            (data.num_dropped, "examples are left out: malformed"),
        )
        if self.metric in ("semeval", "tacred"):
            negative = _negative_of(self.labels)
            counted = f"all relations but {negative!r}" if negative else "all relations; none says that there is none"
            lines.append(f"scores count {counted}")
        return lines

    def facts(self, config: EncoderConfig) -> list[str]:
        shown = ", ".join(self.labels[:12]) + (f" and {len(self.labels) - 12} more" if len(self.labels) > 12 else "")
        return [
            f"Task: tells the relation between two mentions, one of {shown}. Mentions are shown as {self.markers!r}; "
            "the map of markers is in spanwise.json, and other code has to lay out its input in the same way."
        ]

    def loss(self, head: nn.Module, hidden_TD: Tensor, batch: Batch) -> dict[str, LossSum]:
        gold = batch.target(TARGET, ClassTargets).gold
        return {TARGET: class_loss(example_scores(head, hidden_TD, batch), gold, "single_label")}

    def output(self, head: nn.Module, hidden_TD: Tensor, batch: Batch) -> list[np.ndarray]:
        """The scores [K] of each example."""
        return list(example_scores(head, hidden_TD, batch).cpu().numpy())

    def decode(self, data: RelationData, features: LabelledRows, outputs: Sequence[np.ndarray]) -> ClassPredictions:
        return decide(
            outputs,
            ids=tuple(pair.id for pair in data.pairs),
            kind="single_label",
            labels=self.labels,
            threshold=0.5,
            num_windows=features.num_sequences_W,
            num_dropped=features.num_dropped_W,
        )

    def score(self, data: RelationData, predictions: ClassPredictions) -> dict[str, float]:
        """The official metric: TACRED's micro F1 without the negative label, SemEval's macro F1 with direction, or
        micro and macro F1 over all labels (ChemProt and SciERC)."""
        scores = self._scores(data, dict(zip(predictions.ids, map(str, predictions.told), strict=True)))
        number = sum(pair.label not in self.labels for pair in data.pairs)
        return {**scores, "num_unknown_labels": number} if number else scores

    def _scores(self, data: RelationData, told: Mapping[str, str]) -> dict[str, float]:
        gold = {pair.id: pair.label for pair in data.pairs}
        negative = _negative_of({*gold.values(), *self.labels[:1]})
        metric = self._metric_of(data, negative)
        if metric == "semeval":
            return semeval_scores(gold, told, negative=negative or _negative_of(told.values()) or OTHER)
        named = [told.get(id, negative or "") for id in gold]
        if metric == "tacred":
            return micro_scores(list(gold.values()), named, negative=negative)
        found = micro_scores(list(gold.values()), named, negative=None)
        return {"micro_f1": found["f1"], "macro_f1": label_scores(list(gold.values()), named)["macro_f1"]}

    def _metric_of(self, data: RelationData, negative: str | None) -> Metric:
        """Return the metric that was chosen, or the usual one of such a file and its negative label."""
        return self.metric or ("semeval" if data.format == "semeval" else "tacred" if negative else "labels")

    def score_table(self, scores: Scores) -> ScoreTable:
        return plain_table(scores, "examples have a relation that the model does not know; they count as wrong.")

    def prediction_names(self, input: Path) -> Sequence[str]:
        return (".json", ".txt")

    def prediction_files(self, predictions: ClassPredictions) -> Mapping[str, object]:
        """`.json`: all that is known of each example, by id; `.txt`: id and relation, as SemEval's scorer wants it."""
        lines = [f"{id}\t{told}\n" for id, told in zip(predictions.ids, predictions.told, strict=True)]
        return {".json": predictions.files()[".json"], ".txt": "".join(lines)}

    def score_files(self, data: Path, predictions: Path, options: Mapping[str, object]) -> FileScores:
        """Score a JSON object of id to relation, or lines of id and relation, or of one relation each; `data` may be
        the key of an official scorer, which has relations and no texts. Content decides, not how names end."""
        gold = read_key(data) or read_sentences_key(data) or self.read(data, purpose="score")
        told = _read_told(predictions, gold)
        check_known(told, [pair.id for pair in gold.pairs], predictions, data)
        missing = len(gold) - len(told)
        return FileScores(
            scores=self._scores(gold, told),
            notes=missing_note(missing, len(gold), "examples have no prediction; nothing counts as found for them."),
        )


def _negative_of(labels: Collection[str]) -> str | None:
    """Return the label that says that there is no relation, by its name; None where no label does."""
    return next((name for name in NEGATIVES if name in labels), None)


def _read_told(path: Path, gold: RelationData) -> dict[str, str]:
    """Relations by example; lines of one relation each are those of the examples of `gold`, in their order.

    Raises: DataError for a file of another form, or of another number of such lines than `gold` has examples.
    """
    listed = read_key(path)
    if listed is not None and listed.format == "tacred":
        if len(listed) != len(gold):
            raise DataError(
                f"{path} has {len(listed):,} relations, one per line, and {gold.source} has {len(gold):,} examples; "
                "without ids, each example needs its line."
            )
        return {pair.id: line.label for pair, line in zip(gold.pairs, listed.pairs, strict=True)}
    if listed is not None:
        return {pair.id: pair.label for pair in listed.pairs}
    if not holds_json(path):
        raise DataError(
            f"{path}: no predictions in it that can be read; a JSON object of id to relation, lines of an id, a tab "
            "and a relation, or lines of one relation each were expected."
        )
    return {id: str(label) for id, label in read_predictions(path, "single_label").items()}
