"""Multiple choice as a task: one score per choice, softmax over the choices of a question.

Letters: T tokens in the pack, D hidden size, S sequences, W questions.
Source: Devlin et al. 2019 (BERT), section 4.4 (SWAG: 3 epochs, learning rate 2e-5, batch 16); Liu et al. 2019
(RoBERTa), table 10 (RACE: learning rate 1e-5, batch 16, weight decay 0.1, 4 epochs, length 512); Radford et al. 2018
(GPT-1), section 4.1. SpanBERT's paper has no such task.
"""

import dataclasses
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar, Literal, Self

import numpy as np
from torch import Tensor, nn

from spanwise.config import part
from spanwise.config.ranges import Length, Room, Weight
from spanwise.data.batch import Batch
from spanwise.errors import DataError
from spanwise.nn.config import EncoderConfig
from spanwise.nn.losses.loss_sum import LossSum
from spanwise.tasks.base import FileScores, Task, check_known, counted_lines, missing_note
from spanwise.tasks.files.joining import joined_name, told_apart
from spanwise.tasks.files.text import OnError, Purpose
from spanwise.tasks.input_layout import Layout, layout_words
from spanwise.tasks.multiple_choice.features import TARGET, ChoiceRows, ChoiceTargets, choice_loss, encode_choices
from spanwise.tasks.multiple_choice.predictions import ChoicePredictions, decide, read_predictions
from spanwise.tasks.multiple_choice.reader import ChoiceData, Question, read_choices
from spanwise.tasks.recipe import GPT1_TRAINING, FinetuningRecipe, published_recipe, usual_recipe
from spanwise.text.tokenizers import Tokenizer


@part("multiple_choice")
class MultipleChoice(Task[ChoiceData, ChoiceRows, np.ndarray, ChoicePredictions]):
    """Choose the ending, answer or cause that fits best."""

    max_length: Room = 128  # tokens per sequence
    max_question_tokens: Length = 128  # of question and choice together
    on_overflow: Literal["truncate", "error"] = "truncate"  # the passage is cut at its end and counted, or refused
    layout: Layout = "template"  # the special tokens of a sequence; "extract": GPT-1's, for causal models
    lm_weight: Weight = 0.0  # of guessing the next token beside the choice (GPT-1: 0.5)

    head_name: ClassVar[str] = "multiple_choice"
    target_name: ClassVar[str] = TARGET
    pipeline_name: ClassVar[str] = "multiple-choice"
    main_score: ClassVar[str] = "accuracy"

    def read(self, path: Path, *, purpose: Purpose, errors: OnError = "strict") -> ChoiceData:
        return read_choices(path, purpose=purpose, errors=errors)

    def joined(self, parts: Sequence[ChoiceData]) -> ChoiceData:
        ids = told_apart([question.id for question in part.questions] for part in parts)
        return ChoiceData(
            source=joined_name([part.source for part in parts]),
            questions=tuple(
                dataclasses.replace(question, id=id)
                for part, names in zip(parts, ids, strict=True)
                for question, id in zip(part.questions, names, strict=True)
            ),
            num_dropped=sum(part.num_dropped for part in parts),
        )

    def taught_by(self, train: ChoiceData) -> Self:
        """The same task. Raises: DataError where the right choice always stands in the same place."""
        places = {question.answer for question in train.questions}
        if len(train) > 1 and len(places) == 1:
            raise DataError(
                f"{train.source}: the answer of all {len(train):,} questions is choice {places.pop() + 1}; a model "
                "would learn the place and nothing else. Shuffle the choices."
            )
        return self

    def featurize(self, data: ChoiceData, tokenizer: Tokenizer, config: EncoderConfig, *, training: bool) -> ChoiceRows:
        return encode_choices(
            data,
            tokenizer,
            max_length=min(self.max_length, config.max_positions),
            max_question_tokens=self.max_question_tokens,
            num_token_types=config.num_token_types,
            on_overflow=self.on_overflow,
            with_gold=training,
            layout=self.layout,
            guesses_tokens=training and self.lm_weight > 0,
        )

    def describe(self, data: ChoiceData, features: ChoiceRows) -> list[str]:
        counts = Counter(len(question.choices) for question in data.questions)
        shown = ", ".join(f"{number:,} of {k} choices" for k, number in sorted(counts.items()))
        lines = [f"{len(data):,} questions ({shown}; {int(features.lengths_W.sum()):,} tokens)"]
        cut = f"have a passage that is {features.cut_words(' with question and choice')}"
        return lines + counted_lines((features.num_cut, cut), (data.num_dropped, "rows are left out: malformed"))

    def facts(self, config: EncoderConfig) -> list[str]:
        lines = [
            "Task: chooses among any number of choices by one score each, read as passage and question with choice, at "
            f"most {min(self.max_length, config.max_positions)} tokens; a longer passage is "
            f"{'cut at its end, and what is dropped is counted' if self.on_overflow == 'truncate' else 'refused'}."
        ]
        if self.layout == "extract":
            lines.append(f"Layout: {layout_words(is_pair=True)}.")
        return lines

    def loss(self, head: nn.Module, hidden_TD: Tensor, batch: Batch) -> dict[str, LossSum]:
        return {TARGET: choice_loss(head(hidden_TD, batch.sequences)[:, 0], batch.target(TARGET, ChoiceTargets))}

    def output(self, head: nn.Module, hidden_TD: Tensor, batch: Batch) -> list[np.ndarray]:
        """The scores [k] of each question's choices, fp32."""
        questions = batch.target(TARGET, ChoiceTargets).questions
        scores_S = head(hidden_TD, batch.sequences)[: questions.num_sequences, 0].float().cpu().numpy()
        return np.split(scores_S, questions.borders[1:-1].cpu().numpy())

    def decode(self, data: ChoiceData, features: ChoiceRows, outputs: Sequence[np.ndarray]) -> ChoicePredictions:
        return decide(data, outputs, features.num_dropped_W)

    def score(self, data: ChoiceData, predictions: ChoicePredictions) -> dict[str, float]:
        """`accuracy`, and `chance`: what guessing would give; of RACE also `accuracy_middle` and `accuracy_high`."""
        return _scores(
            data, {question.id: place for question, place in zip(data.questions, predictions.best, strict=True)}
        )

    def prediction_names(self, input: Path) -> Sequence[str]:
        return (".json", ".tsv")

    def score_files(self, data: Path, predictions: Path, options: Mapping[str, object]) -> FileScores:
        """Score a JSON object of id to choice, or a TSV of id and choice; a missing one counts as wrong."""
        gold = self.read(data, purpose="score")
        told = read_predictions(predictions)
        check_known(told, [question.id for question in gold.questions], predictions, data)
        missing = len(gold) - len(told)
        return FileScores(
            scores=_scores(gold, told),
            notes=missing_note(missing, len(gold), "questions have no prediction and count as wrong."),
        )


def _scores(data: ChoiceData, told: Mapping[str, int]) -> dict[str, float]:
    def accuracy(questions: Sequence[Question]) -> float:
        return 100 * sum(told.get(question.id) == question.answer for question in questions) / len(questions)

    scores = {"accuracy": accuracy(data.questions)}
    groups = sorted({question.group for question in data.questions}, reverse=True)  # middle before high
    if len(groups) > 1:
        for name in groups:
            scores[f"accuracy_{name}"] = accuracy([question for question in data.questions if question.group == name])
    chance = sum(1 / len(question.choices) for question in data.questions)
    return {**scores, "chance": 100 * chance / len(data)}


def swag() -> FinetuningRecipe:
    """Short contexts: SWAG, CODAH, HellaSwag, COPA."""
    return usual_recipe(MultipleChoice(), batch_size=16)


def race() -> FinetuningRecipe:
    """Passages and dialogues: RACE, DREAM."""
    return usual_recipe(MultipleChoice(max_length=512), batch_size=16)


def bert() -> FinetuningRecipe:
    """BERT's values for SWAG (Devlin et al. 2019, section 4.4)."""
    return published_recipe(MultipleChoice(), num_epochs=3, batch_size=16)


def roberta() -> FinetuningRecipe:
    """RoBERTa's values for RACE (Liu et al. 2019, table 10)."""
    return published_recipe(MultipleChoice(max_length=512), 1e-5, batch_size=16, warmup_steps=0.06, weight_decay=0.1)


def gpt1() -> FinetuningRecipe:
    """For a causal model: GPT-1's layout and values, the next token guessed beside the choice."""
    return FinetuningRecipe(
        task=MultipleChoice(max_length=512, layout="extract", lm_weight=0.5), training=GPT1_TRAINING, batch_size=32
    )


RECIPES = {"swag": swag, "race": race, "bert": bert, "roberta": roberta, "gpt-1": gpt1}
