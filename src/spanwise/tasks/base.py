"""What every task answers: read, featurize, build a head, loss, decode, score.

A task is a frozen part: its fields are the options that must travel with a fine-tuned model (lengths, thresholds,
labels), so the record of the part inside a checkpoint is all that prediction needs.

Letters: T tokens in the pack, D hidden size, W examples.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Protocol, Self, runtime_checkable

import numpy as np
from torch import Tensor, nn

from spanwise.data.batch import Batch
from spanwise.errors import DataError
from spanwise.nn.config import EncoderConfig
from spanwise.text.tokenizers import Tokenizer


class Features(Protocol):
    """Examples as integers, and how to lay a choice of them into a pack."""

    @property
    def lengths_W(self) -> np.ndarray: ...

    def __len__(self) -> int: ...

    def assemble(self, rows: np.ndarray) -> Batch: ...


@runtime_checkable
class ChangesWithEpoch(Protocol):
    """Features that show another part of an example in every epoch (a window of a long document)."""

    def at_epoch(self, epoch: int, seed: int) -> Features:
        """As many examples in the same order: a pure function of both numbers."""
        ...


@dataclass(frozen=True, kw_only=True)
class ScoreTable:
    """Scores as people read them: a table, and sentences below it."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class FileScores:
    """The scores of a file of predictions, and what a person should know about it (a sentence each)."""

    scores: dict[str, Any]
    notes: tuple[str, ...] = ()


@runtime_checkable
class Task(Protocol):
    """One kind of labelled data, from its file to its score.

    `read` gives the task's own data class; `featurize`, `decode` and `score` take it. `output` is what a head says
    about a pack: one fp32 array an example of `batch.ids`, in order (filler at the end of the pack is not asked for);
    `decode` gets those of all examples. `taught_by` and `tune` return a copy of the task with what the training data
    says (labels) and what is chosen on dev data (thresholds). `score` gives numbers from 0 to 100, the best-known
    first; one level of names below a name is allowed (`muc`: recall, precision, f1).

    `prediction_files` says what to write: under "" what goes into the file that was asked for, under another name what
    lies beside it, and under ".suffix" what a file of this suffix holds. Text is written as it is, all else as JSON.
    `score_files` scores such a file without a model; of the options of the command it takes `score_options`.
    """

    part_name: ClassVar[str]
    head_name: ClassVar[str]  # the head's name in a checkpoint; it decides the Hugging Face class of the folder
    target_name: ClassVar[str]  # the name of its one loss
    main_score: ClassVar[str]
    score_options: ClassVar[tuple[str, ...]]

    def read(self, path: Any, *, purpose: str, errors: str = "strict") -> Any: ...

    def check_pair(self, train: Any, dev: Any) -> None: ...

    def taught_by(self, train: Any) -> Self: ...

    def featurize(self, data: Any, tokenizer: Tokenizer, config: EncoderConfig, *, training: bool) -> Features: ...

    def describe(self, data: Any, features: Any) -> list[str]: ...

    def loss(self, head: nn.Module, hidden_TD: Tensor, batch: Batch) -> dict[str, Any]: ...

    def output(self, head: nn.Module, hidden_TD: Tensor, batch: Batch) -> Sequence[Any]: ...

    def decode(self, data: Any, features: Any, outputs: Sequence[Any]) -> Any: ...

    def tune(self, data: Any, predictions: Any) -> Self: ...

    def score(self, data: Any, predictions: Any) -> dict[str, Any]: ...

    def score_table(self, scores: Mapping[str, Any]) -> ScoreTable: ...

    def prediction_files(self, predictions: Any) -> Mapping[str, Any]: ...

    def score_files(self, data: Path, predictions: Path, options: Mapping[str, Any]) -> FileScores: ...


@runtime_checkable
class OwnHead(Protocol):
    """A task that builds its head itself."""

    def build_head(self, config: EncoderConfig) -> nn.Module: ...


@runtime_checkable
class LabelHead(Protocol):
    """A task whose head is a usual one of interop/heads.py, in the form of the family that the encoder comes from."""

    @property
    def head_size(self) -> tuple[int, ...]:
        """How many scores it gives; () for one a sequence."""
        ...

    @property
    def label_names(self) -> tuple[str, ...]:
        """What the scores are called; a stored head of other names is another task's."""
        ...

    def labelled(self, labels: tuple[str, ...], num_scores: int) -> Self:
        """The task for a folder that has no record of it, from what its config.json says."""
        ...


@runtime_checkable
class NeedsPieces(Protocol):
    """A task that gives a meaning of its own to special pieces of the vocabulary; those it lacks are added."""

    @property
    def pieces(self) -> tuple[str, ...]: ...


@runtime_checkable
class ChecksEncoder(Protocol):
    """A task that not every encoder can do."""

    def check_encoder(self, config: EncoderConfig) -> None:
        """Raises: ConfigError saying why this encoder can't do the task as it is set."""
        ...


@runtime_checkable
class AlsoLanguage(Protocol):
    """A task of causal models that may learn to guess the next token beside its own target.

    Its features then hold the targets (`SequenceRows.silent_ids`).
    """

    @property
    def lm_weight(self) -> float:
        """Of that loss; 0 for none."""
        ...


@runtime_checkable
class HasFacts(Protocol):
    """A task whose model card says more: sentences for a person, and perhaps `pipeline_name`, the pipeline to call."""

    def facts(self, config: EncoderConfig) -> list[str]: ...


@runtime_checkable
class DescribesDev(Protocol):
    """A task that says before training what dev data can give at best: sentences for a person."""

    def describe_dev(self, data: Any, features: Any) -> list[str]: ...


@runtime_checkable
class LongExamples(Protocol):
    """A task whose examples may be longer than a pack: it asks for their sequences pack by pack and joins them."""

    def outputs(
        self, encode: Callable[[Batch], Tensor], head: nn.Module, features: Any, pack_tokens: int
    ) -> Iterator[Any]:
        """One output an example, in order. `encode` gives the hidden states of a pack, filler included. Called in the
        run's precision (autocast)."""
        ...


def check_known(told: Collection[str], known: Collection[str], predictions: Path, data: Path) -> None:
    """Raises: DataError where a file of predictions answers examples that the labelled file does not have."""
    foreign = sorted(set(told) - set(known))
    if foreign:
        raise DataError(
            f"{predictions}: {len(foreign):,} predictions are for examples that {data} does not have, such as "
            f"{foreign[0]!r}."
        )


def per_sequence(rows: Tensor, batch: Batch) -> list[np.ndarray]:
    """Rows of a pack, one a token, as fp32 arrays, one a sequence; without those of the filler."""
    parts = np.split(rows.float().cpu().numpy(), np.cumsum(batch.sequences.lengths)[:-1])
    return parts[: len(batch.ids)]


def numbers_of(scores: Mapping[str, Any]) -> dict[str, float]:
    """The numbers to log: those of the first level, and the F1 of each name that has more below it (`muc_f1`)."""
    found = {}
    for name, value in scores.items():
        if not isinstance(value, Mapping):
            found[name] = float(value)
        elif "f1" in value:
            found[f"{name}_f1"] = float(value["f1"])
    return found
