"""The interface of a task: read, featurize, build a head, loss, decode, score.

A task is a frozen part: its fields are the options that must travel with a fine-tuned model (lengths, thresholds,
labels), so the record of the part inside a checkpoint is all that prediction needs. A task of one's own is a class that
extends `Task` and answers its abstract methods; `examples/my_task.py` is one.

Letters: T tokens in the pack, D hidden size, W examples.
"""

import dataclasses
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Generic, Self, TypeVar, cast

import numpy as np
from torch import Tensor, nn

from spanwise.data.batch import Batch
from spanwise.errors import ConfigError, DataError
from spanwise.interop.checkpoint import Checkpoint
from spanwise.nn.config import EncoderConfig
from spanwise.nn.losses.loss_sum import LossSum
from spanwise.tasks.batches import Features, Packing, prediction_packs
from spanwise.tasks.files.text import OnError, Purpose, read_json
from spanwise.tasks.input_layout import Layout, check_layout, layout_pieces
from spanwise.text.tokenizers import Tokenizer

Score = float | Mapping[str, float | str | None] | str | None
Scores = Mapping[str, Score]  # numbers from 0 to 100 by name; one level of names below a name is allowed
D = TypeVar("D")  # what a task reads from a file
F = TypeVar("F", bound=Features)
O = TypeVar("O")  # what a head says about one example
P = TypeVar("P")  # the answers to all examples


@dataclass(frozen=True, kw_only=True)
class ScoreTable:
    """Scores as people read them: a table, and sentences below it."""

    columns: tuple[str, ...]
    rows: tuple[tuple[object, ...], ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class FileScores:
    """The scores of a file of predictions, and what a person should know about it (a sentence each)."""

    scores: Scores
    notes: tuple[str, ...] = ()


class Task(ABC, Generic[D, F, O, P]):
    """One kind of labelled data, from its file to its score.

    D is the data that `read` makes of a file, F its features, O the output of the head for one example, P the
    predictions. Three names must be given: `head_name` (the head's name in a checkpoint; a name of interop/heads.py
    decides the Hugging Face class of the folder), `main_score` (the score that decides between models) and
    `target_name` (the name of the loss). All that is not abstract has an answer that fits simple tasks.
    """

    part_name: ClassVar[str]
    target_name: ClassVar[str]
    score_options: ClassVar[tuple[str, ...]] = ()  # options of the command `score` that `score_files` takes
    pipeline_name: ClassVar[str | None] = None  # the pipeline that the model card shows
    example_name: ClassVar[str] = "examples"  # what the data counts where it has a length
    labels: tuple[str, ...] = ()  # the names of the scores; a stored head with other names belongs to another task
    further_epochs: ClassVar[int | None] = None  # where the head knows the task; None: as many as for a new head
    row_tensors: ClassVar[tuple[str, ...]] = ("out.weight", "out.bias")  # of the head, with a row for each of row_names
    layout: Layout = "template"  # the special tokens of a sequence
    lm_weight: float = 0.0  # of guessing the next token beside the task; features then hold `silent_ids`

    @property
    def head_name(self) -> str:
        raise AttributeError(f"{type(self).__name__} names no head")  # `registry` says what to do

    @property
    @abstractmethod
    def main_score(self) -> str: ...

    @property
    def head_size(self) -> tuple[int, ...]:
        """Return how many scores a usual head gives, one per label; () means one per sequence."""
        return (len(self.labels),) if self.labels else ()

    @property
    def row_names(self) -> tuple[str, ...]:
        """Return what the rows of `row_tensors` stand for; training that goes on adds and removes rows by these."""
        return self.labels

    def with_rows(self, names: tuple[str, ...], before: Self) -> Self:
        """Return the task with these `row_names`, where training goes on from a head that the task `before` made."""
        return dataclasses.replace(cast(Any, self), labels=names)

    @property
    def problem_type(self) -> str | None:
        """Return the name that config.json has for this kind of labels."""
        return None

    @property
    def pieces(self) -> tuple[str, ...]:
        """Return special pieces that the task gives a meaning of its own; a vocabulary that lacks some gets them."""
        return layout_pieces(self.layout)

    @property
    def roles(self) -> tuple[str, ...]:
        """Return the roles of special tokens that the task's sequences hold; a vocabulary that lacks some gets them."""
        return ()

    def started_from(self, checkpoint: Checkpoint) -> Self:
        """Return the task with what the folder that it starts from decides, such as which of two heads answers."""
        return self

    def taught_from(self, checkpoint: Checkpoint, *, is_fresh: bool = False) -> Self:
        """Return the task with what fine-tuning from this folder decides where its options leave it open.

        is_fresh: the folder's own head is left for a new one.
        """
        return self

    def asks_as(self, before: Self) -> bool:
        """Return whether a model that was taught `before` knows this task: it is asked the same, in the same way."""
        return True

    def new_token_types(self, checkpoint: Checkpoint) -> tuple[int, ...]:
        """Return a row for each token type that the task's sequences hold and the folder's encoder lacks: the row that
        it begins as a copy of. They are trained even where embeddings are frozen."""
        return ()

    @property
    def input_programs(self) -> tuple[Path, ...]:
        """Return Python files of numpy alone by which other programs make what the tokenizer can't; an ONNX folder has
        copies of them."""
        return ()

    def saved_tokenizer(self, tokenizer: Tokenizer) -> Tokenizer:
        """Return the tokenizer to save with the model, by which other programs make the same sequences."""
        return tokenizer

    def labelled(self, labels: tuple[str, ...], num_scores: int, problem_type: str | None = None) -> Self:
        """Return the task for a folder that has no record of it, from the labels in its config.json and what it calls
        their kind."""
        return self

    def check_encoder(self, config: EncoderConfig) -> None:
        """Raises: ConfigError saying why this encoder can't do the task as it is set."""
        check_layout(self.layout, self.lm_weight, config)

    def build_head(self, config: EncoderConfig) -> nn.Module | None:
        """Return a head of the task's own, its weights yet to be set.

        None asks for the usual head of the name `head_name`, in the form of the family that the encoder comes from.
        """
        return None

    @abstractmethod
    def read(self, path: Path, *, purpose: Purpose, errors: OnError = "strict") -> D:
        """Read a file; with `errors="repair"` malformed examples are left out and counted. Raises: DataError."""

    def joined(self, parts: Sequence[D]) -> D:
        """Return the data of several training files as that of one, in their order; names stay apart.

        Raises: DataError where two files do not belong together; ConfigError where the task learns from one file.
        """
        raise ConfigError(f"{type(self).__name__} learns from one training file, got {len(parts)}; give one.")

    def without(self, parts: Sequence[D], not_from: Sequence[Path]) -> tuple[list[D], list[str]]:
        """Return the data of each training file without texts that the files `not_from` hold too, and what is left out
        of each as a sentence.

        Raises: DataError where nothing is left; ConfigError where the task has no such texts.
        """
        raise ConfigError(
            f"--not-from leaves out paragraphs of question files (qa); {type(self).__name__} has none. Leave it out."
        )

    def check_pair(self, train: D, dev: D) -> None:
        """Compare dev data with training data: with the new alone, and if that raises, with those of replay too.

        Raises: DataError where they do not belong together.
        """
        return

    def taught_by(self, train: D) -> Self:
        """Return the task with what the training data says, such as its labels."""
        return self

    @abstractmethod
    def featurize(self, data: D, tokenizer: Tokenizer, config: EncoderConfig, *, training: bool) -> F: ...

    def describe(self, data: D, features: F) -> list[str]:
        """Return sentences that a person should know about the data before training on it."""
        return []

    def describe_dev(self, data: D, features: F) -> list[str]:
        """Return sentences about what dev data can give at best."""
        return []

    def facts(self, config: EncoderConfig) -> list[str]:
        """Return sentences about the task for the model card."""
        return []

    @abstractmethod
    def loss(self, head: nn.Module, hidden_TD: Tensor, batch: Batch) -> dict[str, LossSum]:
        """Return the loss sum of each target name, from the hidden states [T, D] of a pack."""

    @abstractmethod
    def output(self, head: nn.Module, hidden_TD: Tensor, batch: Batch) -> Sequence[O]:
        """Return the output of each example of `batch.ids`, in order; filler at the end of the pack has none."""

    def outputs(self, encode: Callable[[Batch], Tensor], head: nn.Module, features: F, packing: Packing) -> Iterator[O]:
        """Return one output per example, in order, in the precision of the run (autocast).

        `encode` gives the hidden states of a pack. A task whose examples may be longer than a pack asks for their
        sequences pack by pack and joins them.
        """
        for batch in prediction_packs(features, packing):
            hidden_TD = encode(batch)
            yield from self.output(head, hidden_TD, batch.to(hidden_TD.device))

    @abstractmethod
    def decode(self, data: D, features: F, outputs: Sequence[O]) -> P: ...

    def tune(self, data: D, predictions: P) -> Self:
        """Return the task with what is chosen on dev data, such as thresholds."""
        return self

    @abstractmethod
    def score(self, data: D, predictions: P) -> Scores:
        """Return numbers from 0 to 100, the best-known first."""

    def score_table(self, scores: Scores) -> ScoreTable:
        """Return the scores as a table of two columns."""
        return plain_table(scores)

    def prediction_files(self, predictions: P) -> Mapping[str, object]:
        """Return the content of the files to write.

        The key "" stands for the file that was asked for, another name for a file beside it, and ".suffix" for the
        file with this suffix. Text is written as it is, everything else as JSON. By default the predictions say it in
        a method `files()`, or are one file.
        """
        return predictions.files() if hasattr(predictions, "files") else {"": predictions}

    def prediction_names(self, input: Path) -> Sequence[str]:
        """Return names that `prediction_files` surely gives for the data of a file, the one of the output first.

        By them `predict` refuses to replace other files before it computes. What is not named is looked at when it is
        written.
        """
        return ()

    def score_files(self, data: Path, predictions: Path, options: Mapping[str, object]) -> FileScores:
        """Score a file of predictions without a model; `options` holds those of `score_options` that were given."""
        return FileScores(scores=self.score(self.read(data, purpose="score"), read_json(predictions)))


def plain_table(scores: Scores, unknown: str = "") -> ScoreTable:
    """Return a row for each number, and the sentence `unknown` with the number of labels that the model lacks."""
    names = [name for name in numbers_of(scores) if name != "num_unknown_labels"]
    rows = tuple((name.replace("_", " "), shown(scores, name)) for name in names)
    return ScoreTable(columns=("metric", "score"), rows=rows, notes=unknown_labels(scores, unknown))


def unknown_labels(scores: Scores, sentence: str) -> tuple[str, ...]:
    """Return the sentence behind the number of examples with an unknown label; nothing where there are none."""
    number = number_in(scores, "num_unknown_labels")
    return (f"{number:,.0f} {sentence}",) if number else ()


def number_in(scores: Scores, name: str) -> float:
    """Return the number of a name; 0 where there is none."""
    value = scores.get(name, 0)
    return value if isinstance(value, int | float) else 0.0


def shown(scores: Scores, name: str, form: str = ".2f") -> str:
    """Return the number of a name as people read it."""
    return f"{number_in(scores, name):{form}}"


def group_in(scores: Scores, name: str) -> Mapping[str, float | str | None]:
    """Return the scores below a name; none where there are none."""
    value = scores.get(name)
    return value if isinstance(value, Mapping) else {}


def counted_lines(*pairs: tuple[int, str]) -> list[str]:
    """Return a line "12 words" for each number that is not 0."""
    return [f"{number:,} {words}" for number, words in pairs if number]


def window_length(given: int | None, usual: int, config: EncoderConfig, name: str) -> int:
    """Return the length asked for, or the usual one as far as the encoder's positions go.

    Raises: ConfigError where more is asked for than the encoder has positions.
    """
    if given is not None and given > config.max_positions:
        raise ConfigError(f"task.{name} {given} is more than the encoder's {config.max_positions} positions; lower it.")
    return given or min(usual, config.max_positions)


def taught_labels(
    given: tuple[str, ...], found: Sequence[str], source: str, what: str, least: int = 2
) -> tuple[str, ...]:
    """Return the labels given, or those found in training data.

    Raises: DataError where the data has others than those given, or fewer than `least`.
    """
    labels = given or tuple(found)
    unknown = sorted(set(found) - set(labels))
    if unknown:
        raise DataError(
            f"{source} has the {what} {unknown[0]!r}, which is not among task.labels ({', '.join(labels)})."
        )
    if len(labels) < least:
        raise DataError(f"{source}: the only {what} is {', '.join(labels)!r}; there is nothing to tell apart.")
    return labels


def missing_note(missing: int, total: int, sentence: str) -> tuple[str, ...]:
    """Return the sentence "3 of 10 ..." about examples without a prediction; nothing where there are none."""
    return (f"{missing:,} of {total:,} {sentence}",) if missing else ()


def check_known(predicted: Collection[str], known: Collection[str], predictions: Path, data: Path) -> None:
    """Raises: DataError where a file of predictions answers examples that the labelled file does not have."""
    foreign = sorted(set(predicted) - set(known))
    if foreign:
        raise DataError(
            f"{predictions}: {len(foreign):,} predictions are for examples that {data} does not have, such as "
            f"{foreign[0]!r}."
        )


def per_sequence(rows: Tensor, batch: Batch) -> list[np.ndarray]:
    """Return the rows of a pack, one per token, as fp32 arrays, one per sequence; without those of the filler."""
    parts = np.split(rows.float().cpu().numpy(), np.cumsum(batch.sequences.lengths)[:-1])
    return parts[: len(batch.ids)]


def numbers_of(scores: Scores) -> dict[str, float]:
    """Return the numbers to log: those of the first level, and the F1 of each name with more below it (`muc_f1`)."""
    found = {}
    for name, value in scores.items():
        if isinstance(value, int | float):
            found[name] = float(value)
        elif isinstance(value, Mapping) and isinstance(f1 := value.get("f1"), int | float):
            found[f"{name}_f1"] = float(f1)
    return found


def as_json(value: object) -> str:
    """Return a value as the text of a JSON file."""
    return json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
