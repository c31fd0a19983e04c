"""Extractive question answering as a task: every step from a SQuAD file to its scores, with the paper's options.

Letters: T tokens in the pack, D hidden size.
Source: Joshi et al. 2020 (SpanBERT), appendix B.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar, Literal, Self, cast

import numpy as np
from torch import Tensor, nn

from spanwise.config import part
from spanwise.config.ranges import Factor, Length, Margin, Weight
from spanwise.config.records import class_name
from spanwise.data.batch import Batch
from spanwise.errors import ConfigError, DataError
from spanwise.interop.checkpoint import Checkpoint
from spanwise.interop.tables import BY_MODEL_TYPE
from spanwise.nn.config import EncoderConfig
from spanwise.nn.heads.qa import QuestionAnsweringHead
from spanwise.nn.heads.span_selection import SpanSelectionHead
from spanwise.nn.losses.loss_sum import LossSum
from spanwise.tasks.base import (
    FileScores,
    Score,
    Scores,
    ScoreTable,
    Task,
    counted_lines,
    window_length,
)
from spanwise.tasks.files.text import OnError, Purpose
from spanwise.tasks.frames import Frame, pair_frame
from spanwise.tasks.qa import shared_words as marks
from spanwise.tasks.qa.asking import Separators, asking_frame, with_asking_template
from spanwise.tasks.qa.calibration import Reported, calibration_error, fit_temperature, reported_margins, shares
from spanwise.tasks.qa.data import SquadData, join_questions
from spanwise.tasks.qa.features import TARGET, Gold, QuestionWindows, make_windows, measure_reach
from spanwise.tasks.qa.forbidden import leave_out_shared
from spanwise.tasks.qa.loss import AnswerHead, SpanTargets, WindowOutput, head_loss, window_scores
from spanwise.tasks.qa.ranking import Predictions, SpanAnswer, decode
from spanwise.tasks.qa.reader import read_questions
from spanwise.tasks.qa.score import (
    MetricName,
    metric_for,
    metric_record,
    official_table,
    raw_scores,
    score,
    score_files,
    threshold_to_keep,
)
from spanwise.tasks.qa.span_rule import SpanRule
from spanwise.text.tokenizers import Tokenizer
from spanwise.weights.learned_from import learned_by

PAPER_MAX_LENGTH = 512
NARROW = 384  # hidden units up to which "auto" marks shared words
POINTER = "span_selection"  # the head's name in folders
HeadName = Literal["boundary", "span_selection"]


@part("question_answering")
class QuestionAnswering(Task[SquadData, QuestionWindows, WindowOutput, Predictions]):
    """Find the answer to a question as a span of its passage, or say that it has none."""

    max_length: Length | None = None  # tokens per window; None: 512, or all positions of a smaller encoder
    doc_stride: Length = 128  # tokens from the start of one window to the start of the next
    max_question_tokens: Length = 64
    max_answer_tokens: Length = 30
    length_penalty: Weight = 0.0  # of each token of an answer, in logits
    by_overlap: bool = False  # take the span of the highest expected F1, not the likeliest
    num_best: Length = 20
    null_threshold: Margin | None = None  # abstain above it; tuned on dev data; None: every question has an answer
    gold: Gold = "first"  # which answers are learnt: the first of each question, or all of them together
    metric: MetricName | None = None  # None: KorQuAD's by characters where the file calls itself so, else SQuAD's
    spans: Literal["independent", "joint"] = "independent"  # start and end apart, or the end given the start (ELECTRA)
    answerability: Literal["null_score", "classifier"] = "null_score"  # how "no answer" is told: a span at [CLS] (BERT)
    answerable_weight: Factor = 1.0  # of the classifier's loss
    beam_size: Length = 20  # starts whose ends are looked at, where spans are joint
    head: HeadName | None = None  # what points: a row for start and end, or a [QUESTION] behind the question; None: the
    # one that the model has
    shared_words: Literal["unmarked", "marked", "auto"] = "unmarked"  # words of the question in the passage, and of the
    # passage in the question, as token types of their own; auto: marked where the encoder is narrow and ours
    separators: Separators = "seen"  # of span_selection: tokens like others, or their positions alone (Splinter's code)
    on_overflow: Literal["truncate", "error"] = "truncate"  # a question that is too long: cut (and counted), refused
    temperature: Factor | None = None  # of the probabilities; fitted on dev data; None: not calibrated

    target_name: ClassVar[str] = TARGET
    example_name: ClassVar[str] = "questions"
    pipeline_name: ClassVar[str] = "question-answering"
    main_score: ClassVar[str] = "f1"
    further_epochs: ClassVar[int | None] = 2
    score_options: ClassVar[tuple[str, ...]] = ("null_odds", "null_threshold")

    @property
    def head_name(self) -> str:
        return POINTER if self.points else "qa"

    @property
    def points(self) -> bool:
        """Return whether a question token points at the answer, as pre-training on recurring spans taught it."""
        return self.head == POINTER

    @property
    def marks_shared(self) -> bool:
        """Return whether words that question and passage share have token types of their own."""
        return self.shared_words == "marked"

    @property
    def span_rule(self) -> SpanRule:
        return SpanRule(self.max_answer_tokens, self.length_penalty, self.by_overlap)

    @property
    def roles(self) -> tuple[str, ...]:
        return ("question",) if self.points else ()

    def started_from(self, checkpoint: Checkpoint) -> Self:
        """Takes the head that the folder was fine-tuned with, else the pointer that it was pre-trained with."""
        return self if self.head is not None else dataclasses.replace(self, head=self._head_of(checkpoint))

    def taught_from(self, checkpoint: Checkpoint, *, is_fresh: bool = False) -> Self:
        """Marks shared words as the folder was taught to; a folder that was not yet taught, where it is narrow and was
        pre-trained here: encoders of others have mostly seen enough text to find shared words by themselves."""
        if self.shared_words != "auto":
            return self
        marked = self._has_marks(checkpoint)
        if "qa" not in checkpoint.heads and self._record_of(checkpoint) is None:
            marked = _is_from_nothing(checkpoint) and checkpoint.config.hidden_size <= NARROW
        return dataclasses.replace(self, shared_words="marked" if marked else "unmarked")

    def asks_as(self, before: Self) -> bool:
        """The same head, shared words marked as before, and no unanswerable questions that are new to the model."""
        learns_to_abstain = self.null_threshold is not None and before.null_threshold is None
        same = self.head_name == before.head_name and self.marks_shared == before.marks_shared
        return same and not learns_to_abstain

    def new_token_types(self, checkpoint: Checkpoint) -> tuple[int, ...]:
        """Those of shared words, where the folder was not taught with them."""
        is_new = self.marks_shared and not self._has_marks(checkpoint)
        return marks.parents(checkpoint.config.num_token_types, is_pair=not self.points) if is_new else ()

    def _record_of(self, checkpoint: Checkpoint) -> Mapping[str, object] | None:
        """Return the record of this task that the folder has from fine-tuning."""
        record = checkpoint.record.get("task")
        is_own = isinstance(record, Mapping) and record.get("part") == class_name(type(self))
        return cast(Mapping[str, object], record) if is_own else None

    def _has_marks(self, checkpoint: Checkpoint) -> bool:
        return (self._record_of(checkpoint) or {}).get("shared_words") == "marked"

    def _head_of(self, checkpoint: Checkpoint) -> HeadName:
        if (record := self._record_of(checkpoint)) is not None:
            return "span_selection" if record.get("head") == POINTER else "boundary"
        asks_for_other = self.spans == "joint" or self.answerability == "classifier"
        family = BY_MODEL_TYPE.get(checkpoint.model_type)
        points_only = family is not None and POINTER in family.heads and "qa" not in family.heads
        is_free = "qa" not in checkpoint.heads and not asks_for_other
        return "span_selection" if is_free and (POINTER in checkpoint.heads or points_only) else "boundary"

    def check_encoder(self, config: EncoderConfig) -> None:
        """Raises: ConfigError for options of another head than the one asked for."""
        super().check_encoder(config)
        if self.points and (self.spans == "joint" or self.answerability == "classifier"):
            raise ConfigError(
                'task.head=span_selection chooses start and end apart and tells "no answer" by a span at the first '
                "token; leave task.spans=independent and task.answerability=null_score, or take task.head=boundary."
            )
        if self.separators == "unseen" and not self.points:
            raise ConfigError(
                "task.separators=unseen is of windows with [QUESTION]; take task.head=span_selection, or "
                "task.separators=seen."
            )

    def frame(self, tokenizer: Tokenizer) -> Frame:
        """Return the special tokens around a question and its passage. Raises: ConfigError as `asking_frame`."""
        return asking_frame(tokenizer, self.separators) if self.points else pair_frame(tokenizer)

    @property
    def input_programs(self) -> tuple[Path, ...]:
        return (Path(marks.__file__),) if self.marks_shared else ()

    def saved_tokenizer(self, tokenizer: Tokenizer) -> Tokenizer:
        return with_asking_template(tokenizer) if self.points else tokenizer

    def read(self, path: Path, *, purpose: Purpose, errors: OnError = "strict") -> SquadData:
        return read_questions(path, purpose=purpose, errors=errors)

    def joined(self, parts: Sequence[SquadData]) -> SquadData:
        """Return all questions; where any has no answer, the model learns to abstain."""
        return join_questions(parts)

    def without(self, parts: Sequence[SquadData], not_from: Sequence[Path]) -> tuple[list[SquadData], list[str]]:
        return leave_out_shared(parts, not_from)

    def check_pair(self, train: SquadData, dev: SquadData) -> None:
        """Raises: DataError where one file has unanswerable questions and the other has none."""
        if train.has_unanswerable is not dev.has_unanswerable:
            with_null, without = (train, dev) if train.has_unanswerable else (dev, train)
            raise DataError(
                f"{with_null.source} holds questions without an answer and {without.source} does not; a score over "
                "this pair would mislead. Use two files of the same kind (both SQuAD 1.1 or both 2.0)."
            )

    def taught_by(self, train: SquadData) -> Self:
        """Abstains at the middle (null odds above 0) where it learns from unanswerable questions, else never, and then
        it has no classifier either."""
        if not train.has_unanswerable:
            return dataclasses.replace(self, null_threshold=None, answerability="null_score")
        return self if self.null_threshold is not None else dataclasses.replace(self, null_threshold=0.0)

    def featurize(
        self, data: SquadData, tokenizer: Tokenizer, config: EncoderConfig, *, training: bool
    ) -> QuestionWindows:
        """Windows for `config`'s encoder; in training, questions whose answer the tokenizer erases are left out."""
        windows = make_windows(
            data,
            tokenizer,
            max_length=self._window_length(config),
            doc_stride=self.doc_stride,
            max_question_tokens=self.max_question_tokens,
            num_token_types=config.num_token_types,
            mark_shared=self.marks_shared,
            gold=self.gold,
            skip_unreachable=training,
            frame=self.frame(tokenizer),
        )
        if self.on_overflow == "error" and windows.num_cut_questions:
            number = int(np.argmax(windows.num_dropped_Q > 0))
            question = data.questions[number]
            excess = int(windows.num_dropped_Q[number])
            raise DataError(
                f"{data.source_of(question)}, question {question.id!r}: it is {excess} tokens too long; "
                "shorten it, raise task.max_question_tokens, or leave --on-overflow error out."
            )
        reach = measure_reach(
            data,
            windows.passages,
            windows.paragraph_of,
            metric_for(data.version, self.metric),
            max_answer_tokens=self.max_answer_tokens,
            allow_null=training or self.null_threshold is not None,
        )
        return dataclasses.replace(windows, reach=reach)

    def describe(self, data: SquadData, features: QuestionWindows) -> list[str]:
        lines = [
            f"{data.source}: {len(data.questions):,} questions on {len(data.contexts):,} paragraphs in "
            f"{len(features):,} windows ({int(features.lengths_W.sum()):,} tokens)"
        ]
        lines += counted_lines(
            (features.num_cut_questions, f"questions are cut to {self.max_question_tokens} tokens"),
            (features.num_unreachable_answers, "questions are left out: the tokenizer keeps nothing of their answer"),
            (data.num_moved_answers, "answers were moved to where their text stands"),
            (data.num_dropped, "questions are left out: malformed"),
            (data.num_dropped_answers, "answers were dropped: their text does not stand in the paragraph"),
        )
        if features.reach is not None:
            lines.append(str(features.reach))
        if self.marks_shared:
            lines.append("words that question and passage share have token types of their own (task.shared_words)")
        num_several = sum(len(question.answers) > 1 for question in data.questions)
        if num_several and self.gold == "first":
            lines.append(f'{num_several:,} questions have several answers; the first is learnt (task.gold="all": all)')
        return lines

    def describe_dev(self, data: SquadData, features: QuestionWindows) -> list[str]:
        return [f"{data.source}: {features.reach}"] if features.reach is not None else []

    def build_head(self, config: EncoderConfig) -> nn.Module:
        if self.points:
            return SpanSelectionHead(config)
        has_classifier = self.answerability == "classifier"
        return QuestionAnsweringHead(config, joint=self.spans == "joint", answerable=has_classifier)

    def loss(self, head: nn.Module, hidden_TD: Tensor, batch: Batch) -> dict[str, LossSum]:
        assert isinstance(head, AnswerHead)
        targets = batch.target(TARGET, SpanTargets)
        return {TARGET: head_loss(head, hidden_TD, targets, batch.sequences, self.answerable_weight)}

    def output(self, head: nn.Module, hidden_TD: Tensor, batch: Batch) -> Sequence[WindowOutput]:
        """Return start and end logits of each window, fp32 [tokens of the window, 2], or all that the head says."""
        assert isinstance(head, AnswerHead)
        return window_scores(head, hidden_TD, batch, batch.target(TARGET, SpanTargets), self.beam_size)

    def decode(self, data: SquadData, features: QuestionWindows, outputs: Sequence[WindowOutput]) -> Predictions:
        return decode(data, features, outputs, rule=self.span_rule, num_best=self.num_best)

    def tune(self, data: SquadData, predictions: Predictions) -> Self:
        """The same task with the null threshold of best F1 on `data` (none where all of it is answerable), and the
        temperature that makes its probabilities true there (none where that can't be told)."""
        threshold = None
        if data.has_unanswerable:
            best = predictions.best()
            answerable = {question.id: bool(question.answers) for question in data.questions}
            raw = raw_scores(data, best, metric_for(data.version, self.metric))
            threshold = threshold_to_keep(raw.f1, best, predictions.null_odds, answerable)
        tuned = dataclasses.replace(self, null_threshold=threshold)
        return dataclasses.replace(tuned, temperature=fit_temperature(tuned.reported(data, predictions)))

    def reported(self, data: SquadData, predictions: Predictions) -> Reported:
        """The answers that are reported at this task's threshold, as calibration looks at them."""
        answers = predictions.answers(self.null_threshold)
        right = raw_scores(data, answers, metric_for(data.version, self.metric)).exact
        margins = [
            reported_margins(
                np.array([answer.score for answer in predictions.nbest[id]]),
                predictions.null_odds.get(id, 0.0),
                self.null_threshold,
            )
            for id in right
        ]
        return Reported(margins=margins, is_right_Q=np.array(list(right.values()), dtype=bool))

    def score(self, data: SquadData, predictions: Predictions) -> Scores:
        """The official keys for the answers reported at this task's threshold; with `best_*` on 2.0 data. Beside them
        `calibration` (confidence in the reported answers, and how far from the truth it is) and `reach`.

        On data without unanswerable questions the model never abstains, as the 1.1 rules have it.
        Raises: DataError where the data has unanswerable questions and the model was never taught them.
        """
        if data.has_unanswerable and self.null_threshold is None:
            raise DataError(
                f"{data.source} holds questions without an answer, and this model was fine-tuned without any: it "
                "always answers. Fine-tune on SQuAD 2.0 data, or evaluate on 1.1 data."
            )
        metric = metric_for(data.version, self.metric)
        null_odds = predictions.null_odds if data.has_unanswerable else None
        threshold = self.null_threshold if data.has_unanswerable else None
        asked = dataclasses.replace(self, null_threshold=threshold)
        official = score(data, predictions.best(), metric=metric, null_odds=null_odds, null_threshold=threshold or 0.0)
        scores: dict[str, Score] = {**official}
        scores |= metric_record(metric)
        reported = asked.reported(data, predictions)
        confidence = reported.confidence(self.temperature)
        scores["calibration"] = {
            "confidence": 100.0 * float(confidence.mean()) if len(confidence) else 0.0,
            "error": calibration_error(confidence, reported.is_right_Q),
            "temperature": self.temperature,
        }
        if predictions.reach is not None:
            scores["reach"] = predictions.reach.record()
        return scores

    def score_table(self, scores: Scores) -> ScoreTable:
        """A row for all, answerable and unanswerable questions."""
        return official_table(scores)

    def prediction_names(self, input: Path) -> Sequence[str]:
        return ("", "nbest", "null_odds", "windows")

    def prediction_files(self, predictions: Predictions) -> Mapping[str, object]:
        """Return the answers (question id to text), and beside them `nbest`, `null_odds` and `windows`."""
        return {
            "": predictions.answers(self.null_threshold),
            "nbest": {
                id: list(map(dataclasses.asdict, self.with_probabilities(answers, predictions.null_odds.get(id, 0.0))))
                for id, answers in predictions.nbest.items()
            },
            "null_odds": predictions.null_odds,
            "windows": {id: dataclasses.asdict(read) for id, read in predictions.windows.items()},
        }

    def with_probabilities(self, answers: Sequence[SpanAnswer], null_odds: float) -> list[SpanAnswer]:
        """The n-best answers of a question with their probabilities, which sum to 1. "No answer" (an empty text) is in
        its place among them where the model may abstain; the first is what is reported."""
        scores = np.array([answer.score for answer in answers])
        chances, null = shares(scores, null_odds, self.null_threshold, self.temperature)
        found = [
            SpanAnswer(a.text, a.start, a.end, a.score, float(chance), a.document)  # `replace` takes six times as long
            for a, chance in zip(answers, chances, strict=True)
        ]
        if self.null_threshold is None:
            return found
        place = 0 if null_odds > self.null_threshold else int((chances >= null).sum())
        best = answers[0].score if answers else 0.0
        nothing = SpanAnswer("", 0, 0, best + null_odds - self.null_threshold, null)
        return [*found[:place], nothing, *found[place:]]

    def _window_length(self, config: EncoderConfig) -> int:
        return window_length(self.max_length, PAPER_MAX_LENGTH, config, "max_length")

    def facts(self, config: EncoderConfig) -> list[str]:
        ways = {
            "independent": "Start and end of the answer are chosen apart",
            "joint": "The end of the answer is chosen given its start",
        }
        if self.null_threshold is None:
            null = "every question gets an answer"
        elif self.answerability == "classifier":
            null = f"a classifier's log-odds above {self.null_threshold:.4g} mean that there is no answer"
        else:
            null = f"null odds above {self.null_threshold:.4g} mean that there is no answer"
        way = (
            "[QUESTION] behind each question points at start and end of the answer" if self.points else ways[self.spans]
        )
        lines = [
            f"{way}; {null}. An answer has at most {self.max_answer_tokens} tokens, a question "
            f"{self.max_question_tokens}; passages are read in windows of {self._window_length(config)} tokens, "
            f"{self.doc_stride} apart."
        ]
        if self.marks_shared:
            lines.append("Words that question and passage share are told to the encoder by token types of their own.")
        if self.temperature is not None:
            lines.append(
                f"Probabilities are calibrated: scores are divided by {self.temperature:.3g}, fitted on dev data."
            )
        return lines

    def score_files(self, data: Path, predictions: Path, options: Mapping[str, object]) -> FileScores:
        """The official script's keys for a JSON object of question id to answer text."""
        odds, threshold = options.get("null_odds"), options.get("null_threshold", 1.0)
        return score_files(
            data,
            predictions,
            null_odds=odds if isinstance(odds, Path) else None,
            null_threshold=threshold if isinstance(threshold, int | float) else 1.0,
            metric=self.metric,
        )


def _is_from_nothing(checkpoint: Checkpoint) -> bool:
    """Return whether the encoder was pre-trained here from random weights, and not from an encoder of others."""
    learned = learned_by(checkpoint.record, str(checkpoint.folder))
    is_trained_here = "recipe" in checkpoint.record and checkpoint.their_settings is None
    return is_trained_here and not any(entry.what == "weights" for entry in learned)
