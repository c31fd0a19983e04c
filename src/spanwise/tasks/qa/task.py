"""Extractive question answering as a task: every step from a SQuAD file to its scores, with the paper's options.

Letters: T tokens in the pack, D hidden size.
Source: Joshi et al. 2020 (SpanBERT), appendix B; FAMILY section 5.1.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from torch import Tensor, nn

from spanwise.config import part
from spanwise.data.batch import Batch
from spanwise.errors import ConfigError, DataError
from spanwise.nn.config import EncoderConfig
from spanwise.nn.qa_head import QuestionAnsweringHead
from spanwise.tasks.base import FileScores, ScoreTable, per_sequence
from spanwise.tasks.qa.decode import Predictions, decode
from spanwise.tasks.qa.features import TARGET, QuestionWindows, make_windows
from spanwise.tasks.qa.files import official_table, score_files
from spanwise.tasks.qa.loss import SpanLoss, span_loss
from spanwise.tasks.qa.reader import OnError, Purpose, SquadData, read_squad
from spanwise.tasks.qa.score import best_threshold, raw_scores, score
from spanwise.text.tokenizers import Tokenizer

PAPER_MAX_LENGTH = 512


@part("question_answering")
class QuestionAnswering:
    """Find the answer to a question as a span of its passage, or say that it has none."""

    max_length: int | None = None  # tokens a window; None: 512, or all positions of a smaller encoder
    doc_stride: int = 128  # tokens from the start of one window to the start of the next
    max_question_tokens: int = 64
    max_answer_tokens: int = 30
    num_best: int = 20
    null_threshold: float | None = None  # abstain above it; tuned on dev data; None: every question has an answer

    part_name: ClassVar[str]
    head_name: ClassVar[str] = "qa"
    target_name: ClassVar[str] = TARGET
    main_score: ClassVar[str] = "f1"
    score_options: ClassVar[tuple[str, ...]] = ("null_odds", "null_threshold")

    def __post_init__(self) -> None:
        for name in ("doc_stride", "max_question_tokens", "max_answer_tokens", "num_best"):
            if getattr(self, name) < 1:
                raise ConfigError(f"task.{name} must be at least 1, got {getattr(self, name)}.")

    def read(self, path: Any, *, purpose: Purpose, errors: OnError = "strict") -> SquadData:
        return read_squad(path, purpose=purpose, errors=errors)

    def check_pair(self, train: SquadData, dev: SquadData) -> None:
        """Raises: DataError where one file has unanswerable questions and the other has none (7C-5)."""
        if train.has_unanswerable is not dev.has_unanswerable:
            with_null, without = (train, dev) if train.has_unanswerable else (dev, train)
            raise DataError(
                f"{with_null.source} holds questions without an answer and {without.source} does not; a score over "
                "this pair would mislead. Use two files of the same kind (both SQuAD 1.1 or both 2.0)."
            )

    def taught_by(self, train: SquadData) -> QuestionAnswering:
        """Abstains at the middle (null odds above 0) where it learns from unanswerable questions, else never."""
        if not train.has_unanswerable:
            return dataclasses.replace(self, null_threshold=None)
        return self if self.null_threshold is not None else dataclasses.replace(self, null_threshold=0.0)

    def featurize(
        self, data: SquadData, tokenizer: Tokenizer, config: EncoderConfig, *, training: bool
    ) -> QuestionWindows:
        """Windows for `config`'s encoder; in training, questions whose answer the tokenizer erases are left out."""
        max_length = self.max_length or min(PAPER_MAX_LENGTH, config.max_positions)
        if max_length > config.max_positions:
            raise ConfigError(
                f"task.max_length {max_length} is more than the encoder's {config.max_positions} positions; lower it."
            )
        return make_windows(
            data,
            tokenizer,
            max_length=max_length,
            doc_stride=self.doc_stride,
            max_question_tokens=self.max_question_tokens,
            num_token_types=config.num_token_types,
            skip_unreachable=training,
        )

    def describe(self, data: SquadData, features: QuestionWindows) -> list[str]:
        """What a person should know about the data before training on it."""
        lines = [
            f"{len(data.questions):,} questions on {len(data.contexts):,} paragraphs in {len(features):,} windows "
            f"({int(features.lengths_W.sum()):,} tokens)"
        ]
        for number, words in (
            (features.num_cut_questions, f"questions are cut to {self.max_question_tokens} tokens"),
            (features.num_unreachable_answers, "questions are left out: the tokenizer keeps nothing of their answer"),
            (data.num_moved_answers, "answers were moved to where their text stands"),
            (data.num_dropped_answers, "answers were dropped: their text does not stand in the paragraph"),
        ):
            if number:
                lines.append(f"{number:,} {words}")
        return lines

    def build_head(self, config: EncoderConfig) -> nn.Module:
        return QuestionAnsweringHead(config)

    def loss(self, head: nn.Module, hidden_TD: Tensor, batch: Batch) -> dict[str, SpanLoss]:
        return {TARGET: span_loss(head(hidden_TD), batch.targets[TARGET], batch.sequences)}

    def output(self, head: nn.Module, hidden_TD: Tensor, batch: Batch) -> list[np.ndarray]:
        """Start and end logits of each window, fp32 [tokens of the window, 2]."""
        return per_sequence(head(hidden_TD), batch)

    def decode(self, data: SquadData, features: QuestionWindows, outputs: Sequence[np.ndarray]) -> Predictions:
        return decode(data, features, outputs, max_answer_tokens=self.max_answer_tokens, num_best=self.num_best)

    def tune(self, data: SquadData, predictions: Predictions) -> QuestionAnswering:
        """The same task with the null threshold of best F1 on `data`; none where all of it is answerable."""
        if not data.has_unanswerable:
            return dataclasses.replace(self, null_threshold=None)
        best = predictions.best()
        answerable = {question.id: bool(question.answers) for question in data.questions}
        _, threshold = best_threshold(raw_scores(data, best).f1, best, predictions.null_odds, answerable)
        return dataclasses.replace(self, null_threshold=threshold)

    def score(self, data: SquadData, predictions: Predictions) -> dict[str, float]:
        """The official keys for the answers reported at this task's threshold; with `best_*` on 2.0 data.

        On data without unanswerable questions the model never abstains, as the 1.1 rules have it.
        Raises: DataError where the data has unanswerable questions and the model was never taught them.
        """
        if not data.has_unanswerable:
            return score(data, predictions.best())
        if self.null_threshold is None:
            raise DataError(
                f"{data.source} holds questions without an answer, and this model was fine-tuned without any: it "
                "always answers. Fine-tune on SQuAD 2.0 data, or evaluate on 1.1 data."
            )
        return score(data, predictions.best(), null_odds=predictions.null_odds, null_threshold=self.null_threshold)

    def score_table(self, scores: Mapping[str, float]) -> ScoreTable:
        """A row for all, answerable and unanswerable questions."""
        return official_table(scores)

    def prediction_files(self, predictions: Predictions) -> Mapping[str, Any]:
        """What to write: `""` the answers (question id to text), `nbest` and `null_odds` beside it."""
        return {
            "": predictions.answers(self.null_threshold),
            "nbest": predictions.records(),
            "null_odds": predictions.null_odds,
        }

    def score_files(self, data: Path, predictions: Path, options: Mapping[str, Any]) -> FileScores:
        """The official script's keys for a JSON object of question id to answer text."""
        return score_files(data, predictions, **options)
