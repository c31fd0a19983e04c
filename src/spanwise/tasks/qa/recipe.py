"""The papers' ways to fine-tune on questions.

Source: Joshi et al. 2020 (SpanBERT), appendix B (README command: learning rate 2e-5, batch 32,
4 epochs, length 512) and 5.2; Liu et al. 2019 (RoBERTa), section 6.2; ALBERT and ELECTRA as released, 6.3 and 6.4.
Differs: the same AdamW with bias correction in every precision; the last weights are kept, not the best of ten
evaluations an epoch.
"""

from __future__ import annotations

from spanwise.tasks.qa.task import QuestionAnswering
from spanwise.tasks.recipe import FinetuningRecipe
from spanwise.training.plan import TrainingOptions


def question_answering() -> FinetuningRecipe:
    """SQuAD 1.1 and 2.0 with the paper's values."""
    return _recipe(QuestionAnswering())


def mrqa() -> FinetuningRecipe:
    """NewsQA, TriviaQA, SearchQA, HotpotQA and NaturalQuestions as MRQA writes them: the same values."""
    return _recipe(QuestionAnswering())


def korquad() -> FinetuningRecipe:
    """KorQuAD 1.0, scored by characters as its own script does."""
    return _recipe(QuestionAnswering(metric="korquad"))


def roberta() -> FinetuningRecipe:
    """RoBERTa: a classifier of its own tells where there is no answer, its loss added to that of the span."""
    return _recipe(
        QuestionAnswering(answerability="classifier"), 1.5e-5, batch_size=48, num_epochs=2, warmup_steps=0.06
    )


def albert() -> FinetuningRecipe:
    """ALBERT: windows of 384."""
    return _recipe(QuestionAnswering(max_length=384), 5e-5, batch_size=48, num_epochs=2)


def electra() -> FinetuningRecipe:
    """ELECTRA small and base: the end is chosen given the start, and a classifier reads both."""
    return _recipe(_joint(), 1e-4, num_epochs=2, layer_decay=0.8)


def electra_large() -> FinetuningRecipe:
    """ELECTRA large."""
    return _recipe(_joint(), 5e-5, num_epochs=2, layer_decay=0.9)


def _joint() -> QuestionAnswering:
    return QuestionAnswering(spans="joint", answerability="classifier", answerable_weight=0.5)


def _recipe(
    task: QuestionAnswering,
    learning_rate: float = 2e-5,
    *,
    batch_size: int = 32,
    num_epochs: float = 4,
    warmup_steps: float = 0.1,
    layer_decay: float = 1.0,
) -> FinetuningRecipe:
    return FinetuningRecipe(
        task=task,
        training=TrainingOptions(
            learning_rate=learning_rate,
            warmup_steps=warmup_steps,
            schedule="linear",
            weight_decay=0.01,
            num_epochs=num_epochs,
            layer_decay=layer_decay,
        ),
        batch_size=batch_size,
    )


RECIPES = {
    "squad": question_answering,
    "mrqa": mrqa,
    "korquad": korquad,
    "roberta": roberta,
    "albert": albert,
    "electra": electra,
    "electra-large": electra_large,
}
