"""Classification and regression as a task: every step from a file of texts to its scores, with the paper's options.

Letters: T tokens in the pack, D hidden size, W examples, K labels.
Source: Joshi et al. 2020 (SpanBERT), section 4.2 and appendix B.
"""

import dataclasses
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, ClassVar, Self

import numpy as np
from pydantic import Field
from torch import Tensor, nn

from spanwise.config import part
from spanwise.config.ranges import Length, Weight
from spanwise.data.batch import Batch
from spanwise.errors import CheckpointError, ConfigError, DataError
from spanwise.interop.model_config import MULTI_LABEL, REGRESSION, SINGLE_LABEL
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
from spanwise.tasks.classification.features import (
    TARGET,
    ClassTargets,
    Fit,
    LabelledRows,
    Overflow,
    class_loss,
    encode_texts,
    example_scores,
)
from spanwise.tasks.classification.layouts import GENERAL, Kind, Layout, find_data_set
from spanwise.tasks.classification.predictions import ClassPredictions, are_numbers, decide, read_predictions
from spanwise.tasks.classification.reader import Label, TextData, join_texts, label_order, read_texts
from spanwise.tasks.classification.score import NOTHING, label_scores, number_scores, set_scores
from spanwise.tasks.files.text import OnError, Purpose
from spanwise.tasks.input_layout import Layout as InputLayout
from spanwise.tasks.input_layout import layout_words
from spanwise.text.tokenizers import Tokenizer


@part("classification")
class Classification(Task[TextData, LabelledRows, np.ndarray, ClassPredictions]):
    """Tell the label of a text or of a pair of texts, its labels, or a number."""

    dataset: str | None = None  # whose files are read and what is scored, such as "cola"; None: by the columns found
    text: str | None = None  # column of the text; None: as the data set has it, or a usual name
    pair: str | None = None  # column of the second text
    label: str | None = None
    header: bool | None = None  # whether the first line names the columns; None: where it does
    label_separator: str | None = None  # what parts the labels of one example, where it may have several
    kind: Kind | None = None  # None: what the training file shows
    labels: tuple[str, ...] = ()  # in the order of the scores; () : those of the training file
    is_pair: bool | None = None  # what the training file holds
    max_length: Annotated[Length, Field(ge=4)] = 128  # tokens per sequence
    on_overflow: Overflow = "truncate"  # a text that is longer: cut (and counted), read in windows, refused
    stride: Length = 64  # tokens from window to window
    threshold: Annotated[float, Field(gt=0, lt=1)] = 0.5  # probability from which one of several labels is told
    layout: InputLayout = "template"  # the special tokens of a sequence; "extract": GPT-1's, for causal models
    both_orders: bool | None = None  # of a pair, read and added before the head; None: GPT-1's way with such data sets
    lm_weight: Weight = 0.0  # of guessing the next token beside the label (GPT-1: 0.5)

    head_name: ClassVar[str] = "classification"
    target_name: ClassVar[str] = TARGET
    pipeline_name: ClassVar[str] = "text-classification"

    def __post_init__(self) -> None:
        if self.dataset is not None:
            find_data_set(self.dataset)
        if len(set(self.labels)) < len(self.labels):
            raise ConfigError(f"task.labels names a label twice: {', '.join(self.labels)}.")
        if self.text is None and self.pair is not None:
            raise ConfigError("task.pair names a column and task.text does not; name both.")
        if self.both_orders and self.layout != "extract":
            raise ConfigError(
                "task.both_orders adds the vectors of both orders of a pair, which GPT-1's layout has; set "
                "task.layout=extract too."
            )

    @property
    def main_score(self) -> str:
        """The name of the number that decides between models."""
        if self.dataset is not None:
            return find_data_set(self.dataset).metrics[0]
        return {"regression": "pearson_and_spearman", "multi_label": "micro_f1"}.get(self.kind or "", "accuracy")

    @property
    def head_size(self) -> tuple[int, ...]:
        return (1,) if self.kind == "regression" else (len(self.labels),)

    @property
    def problem_type(self) -> str | None:
        kinds = {"single_label": SINGLE_LABEL, "multi_label": MULTI_LABEL, "regression": REGRESSION}
        return kinds.get(self.kind or "")

    def read(self, path: Path, *, purpose: Purpose, errors: OnError = "strict") -> TextData:
        """Raises: DataError naming file and line; also where a model of pairs gets single texts, or the reverse."""
        data = read_texts(
            path,
            self._layouts(),
            purpose=purpose,
            kind=self.kind or (find_data_set(self.dataset).kind if self.dataset else None),
            header=self.header,
            label_separator=self.label_separator,
            errors=errors,
        )
        if self.is_pair is not None and (data.pairs is not None) is not self.is_pair:
            held, wanted = ("pairs", "single texts")[:: 1 if data.pairs else -1]
            raise DataError(f"{data.source} holds {held}, and what the model learns from holds {wanted}.")
        return data

    def _layouts(self) -> Sequence[Layout]:
        usual = find_data_set(self.dataset).layouts if self.dataset else ()
        if self.text is not None:
            numbered = all(name is None or name.isdigit() for name in (self.text, self.pair, self.label))
            columns = [int(name) for name in (self.text, self.pair, self.label) if name and numbered]
            num_columns = max(columns) + 1 if numbered and not self.header else None
            label = self.label or "label"
            may_disagree = label == "gold_label" or any(layout.may_disagree for layout in usual)
            return [Layout(self.text, self.pair, label, num_columns, may_disagree, is_told=True)]
        layouts = usual or GENERAL
        return [layout if self.label is None else dataclasses.replace(layout, label=self.label) for layout in layouts]

    def joined(self, parts: Sequence[TextData]) -> TextData:
        return join_texts(parts)

    def check_pair(self, train: TextData, dev: TextData) -> None:
        """Raises: DataError where the two files hold different things, or dev labels that neither training sees nor the
        head has from before."""
        if train.holds != dev.holds:
            raise DataError(
                f"{train.source} holds {train.holds} and {dev.source} {dev.holds}; take two files of one kind."
            )
        known = _names(train) | set(self.labels)
        for labels, place in zip(_name_sets(dev), dev.places, strict=True):
            unknown = labels - known
            if unknown:
                raise DataError(
                    f"{place}: the label {min(unknown)!r} does not occur in {train.source}, so no model trained on it "
                    f"can tell it; there are {', '.join(label_order(list(known)))}."
                )

    def taught_by(self, train: TextData) -> Self:
        """With kind and labels of the training file. Raises: DataError where there is one label alone to tell."""
        labels = self.labels
        if train.kind == "regression":
            labels = ()
        else:
            found = _names(train)
            least = 1 if train.kind == "multi_label" else 2
            labels = taught_labels(labels, label_order(list(found)), train.source, "label", least)
        is_pair = train.pairs is not None
        if self.both_orders and not is_pair:
            raise DataError(f"{train.source} holds single texts, which have one order; leave task.both_orders out.")
        both_orders = self.both_orders
        if both_orders is None:
            has_no_order = find_data_set(self.dataset).has_no_order if self.dataset else train.kind == "regression"
            both_orders = self.layout == "extract" and is_pair and has_no_order
        return dataclasses.replace(self, kind=train.kind, labels=labels, is_pair=is_pair, both_orders=both_orders)

    def labelled(self, labels: tuple[str, ...], num_scores: int, problem_type: str | None = None) -> Self:
        """For a folder of others: the labels that its config.json names, one of them or several as its `problem_type`
        says; a single score is a number, if that does not say otherwise.

        Raises: CheckpointError for a model of several numbers.
        """
        is_multi_label = problem_type == MULTI_LABEL
        if problem_type == REGRESSION and num_scores > 1:
            raise CheckpointError(
                f"this folder has a classifier of {num_scores} numbers (config.json: problem_type {REGRESSION!r}), and "
                "the task classification tells one number at most; take a folder with one."
            )
        if num_scores == 1 and not is_multi_label:
            return dataclasses.replace(self, kind="regression", labels=())
        names = labels or tuple(f"LABEL_{number}" for number in range(num_scores))
        return dataclasses.replace(self, kind="multi_label" if is_multi_label else "single_label", labels=names)

    def featurize(self, data: TextData, tokenizer: Tokenizer, config: EncoderConfig, *, training: bool) -> LabelledRows:
        max_length = min(self.max_length, config.max_positions)
        return encode_texts(
            data.texts,
            data.pairs,
            tokenizer,
            fit=Fit(max_length=max_length, on_overflow=self.on_overflow, stride=self.stride),
            num_token_types=config.num_token_types,
            places=data.places,
            gold=self._gold(data) if training else None,
            layout=self.layout,
            both_orders=bool(self.both_orders),
            guesses_tokens=training and self.lm_weight > 0,
        )

    def _gold(self, data: TextData) -> np.ndarray:
        if self.kind == "regression":
            return np.array(data.labels, dtype=np.float32)
        number_of = {name: number for number, name in enumerate(self.labels)}
        if self.kind == "multi_label":
            gold_WK = np.zeros((len(data), len(self.labels)), dtype=np.float32)
            for row, names in enumerate(_name_sets(data)):
                gold_WK[row, [number_of[name] for name in names]] = 1
            return gold_WK
        return np.array([number_of[str(label)] for label in data.labels], dtype=np.int64)

    def describe(self, data: TextData, features: LabelledRows) -> list[str]:
        lines = [
            f"{len(data):,} {'texts' if data.pairs is None else 'pairs'} ({int(features.lengths_W.sum()):,} tokens), "
            f"{'a number each' if self.kind == 'regression' else 'labels ' + _counted(data)}"
        ]
        lines += counted_lines(
            (features.num_cut, f"are {features.cut_words()}"),
            (int((features.num_windows_W > 1).sum()), "are read in windows"),
            (data.num_dropped, "rows are left out: without a label, or malformed"),
        )
        return lines

    def facts(self, config: EncoderConfig) -> list[str]:
        told = "a number" if self.kind == "regression" else f"one of {', '.join(self.labels)}"
        if self.kind == "multi_label":
            told = f"any of {', '.join(self.labels)} (from a probability of {self.threshold:g})"
        source = f" (data set: {self.dataset})" if self.dataset else ""
        length = min(self.max_length, config.max_positions)
        read = f"a {'pair of texts' if self.is_pair else 'text'} of at most {length} tokens"
        lines = [f"Task: tells {told} for {read}{source}. A longer one is {_OVERFLOW_WORDS[self.on_overflow]}."]
        if self.layout == "extract":
            orders = "; pairs are read in both orders, whose vectors are added" if self.both_orders else ""
            lines.append(f"Layout: {layout_words(is_pair=bool(self.is_pair))}{orders}.")
        return lines

    def loss(self, head: nn.Module, hidden_TD: Tensor, batch: Batch) -> dict[str, LossSum]:
        assert self.kind is not None  # said by the training file
        gold = batch.target(TARGET, ClassTargets).gold
        return {TARGET: class_loss(example_scores(head, hidden_TD, batch), gold, self.kind)}

    def output(self, head: nn.Module, hidden_TD: Tensor, batch: Batch) -> list[np.ndarray]:
        """The scores [K] of each example."""
        return list(example_scores(head, hidden_TD, batch).cpu().numpy())

    def decode(self, data: TextData, features: LabelledRows, outputs: Sequence[np.ndarray]) -> ClassPredictions:
        return decide(
            outputs,
            ids=data.ids,
            kind=self.kind or "single_label",
            labels=self.labels,
            threshold=self.threshold,
            num_windows=features.num_windows_W,
            num_dropped=features.num_dropped_W,
        )

    def score(self, data: TextData, predictions: ClassPredictions) -> dict[str, float]:
        """The data set's metrics, the one that decides first; a gold label that the model lacks counts as missed."""
        return self._scores(data, predictions.told)

    def _scores(self, data: TextData, told: Sequence[Label]) -> dict[str, float]:
        if data.kind == "regression":
            found = number_scores(_numbers(data.labels), _numbers(told))
        elif data.kind == "multi_label":
            found = set_scores(_name_sets(data), [_name_set(label) for label in told])
        else:
            found = label_scores([str(label) for label in data.labels], [str(label) for label in told])
        first = find_data_set(self.dataset).metrics if self.dataset else (self.main_score,)
        names = [name for name in first if name in found]
        scores = {name: found[name] for name in [*names, *(name for name in found if name not in names)]}
        unknown = _names(data) - set(self.labels) if self.labels else set()
        if unknown:
            scores["num_unknown_labels"] = sum(bool(names & unknown) for names in _name_sets(data))
        return scores

    def score_table(self, scores: Scores) -> ScoreTable:
        return plain_table(scores, "examples have a label that the model does not know; they count as wrong.")

    def prediction_names(self, input: Path) -> Sequence[str]:
        return (".json", ".tsv")

    def score_files(self, data: Path, predictions: Path, options: Mapping[str, object]) -> FileScores:
        """Score a JSON object of id to label, or a TSV of index and prediction; a missing one counts as wrong."""
        is_told = self.kind is not None or self.dataset is not None
        # whole numbers alone look like classes
        kind = "regression" if not is_told and are_numbers(predictions) else self.kind
        gold = dataclasses.replace(self, kind=kind).read(data, purpose="score")
        told = read_predictions(predictions, gold.kind)
        told = {id: label for id, label in told.items() if id not in gold.unlabelled_ids}
        check_known(told, gold.ids, predictions, data)
        missing = sum(id not in told for id in gold.ids)
        if missing and gold.kind == "regression":
            raise DataError(
                f"{predictions}: {missing:,} of {len(gold):,} examples have no prediction; a correlation needs all."
            )
        nothing: Label = () if gold.kind == "multi_label" else NOTHING
        scores = self._scores(gold, [told.get(id, nothing) for id in gold.ids])
        return FileScores(
            scores=scores, notes=missing_note(missing, len(gold), "examples have no prediction and count as wrong.")
        )


_OVERFLOW_WORDS = {
    "truncate": "cut, and what is dropped is counted",
    "windows": "read in windows whose scores are averaged",
    "error": "refused",
}


def _numbers(labels: Sequence[Label]) -> list[float]:
    return [label for label in labels if isinstance(label, float)]


def _name_set(label: Label) -> set[str]:
    return set(label) if isinstance(label, tuple) else {str(label)}


def _name_sets(data: TextData) -> list[set[str]]:
    return [set() if data.kind == "regression" else _name_set(label) for label in data.labels]


def _names(data: TextData) -> set[str]:
    return set().union(*_name_sets(data)) if data.labels else set()


def _counted(data: TextData) -> str:
    counts = Counter(name for names in _name_sets(data) for name in names)
    shown = [f"{name} ({counts[name]:,})" for name in label_order(list(counts))]
    return ", ".join(shown[:8]) + (f" and {len(shown) - 8} more" if len(shown) > 8 else "")
